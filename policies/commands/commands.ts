// Commands (spec 1.4): the one table of what a person may write, and the typed command it becomes.
// Help, documentation and error texts read this table; it never decides whether a mandate fits.

import type { Level } from "../authority.ts";
import type { Deadline } from "./deadline.ts";
import type { WaitArgs } from "./wait.ts";

/** What every command carries. Ids in `args` are lower case (`m-7k3f`, `F-3ab9`), durations ms. */
interface CommandOf<Name extends string, Args> {
  readonly name: Name;
  readonly args: Args;
  /** Line of the comment it stands in, from 1. */
  readonly line: number;
  /** `do`, `reply`, `rebut`: the words that follow, over several lines; others: the line itself. */
  readonly text: string;
  /** Level the default policy asks for; the policy file and the task may only ask for more. */
  readonly needs: Level;
}

/** One member of the union per name, so that a name alone narrows a command. */
type EachOf<Names extends string, Args> = Names extends string ? CommandOf<Names, Args> : never;

interface OneId {
  readonly id: string;
}
interface MayNameId {
  readonly id: string | null;
}
type Nothing = Record<string, never>;

export interface RequestArgs {
  /** Whether `do` was written; without it the words may be an answer (spec 1.3). */
  readonly explicit: boolean;
  readonly grant: string | null;
  readonly deadline: Deadline | null;
}

export interface RunArgs {
  readonly task: string;
  /** ASCII keys that begin with a letter, each once; look up with `Object.hasOwn`. */
  readonly inputs: Readonly<Record<string, string>>;
  readonly deadline: Deadline | null;
}

export type ExtendArgs = OneId &
  (
    | { readonly byMs: number }
    | { readonly ceilings: Readonly<Partial<Record<"turns" | "tokens" | "cost", number>>> }
  );

export type Command =
  | CommandOf<"do", RequestArgs>
  | CommandOf<"run", RunArgs>
  | EachOf<"reply" | "retry" | "continue" | "check" | "recover", OneId>
  | EachOf<"status" | "stop" | "pause" | "resume", MayNameId>
  | CommandOf<"extend", ExtendArgs>
  | CommandOf<"wait", WaitArgs>
  | CommandOf<"review", { readonly extend: { rounds: number; reason: string } | null }>
  | CommandOf<"rebut", { readonly finding: string }>
  | CommandOf<"strategy", { readonly choice: { kind: string; name: string } | null }>
  | EachOf<"restart" | "help", Nothing>;

export type Keyword = Command["name"];

export interface CommandError {
  readonly line: number;
  readonly problem: string;
  /** What to write instead, commands in it as inline code. */
  readonly suggestion: string;
}

export interface ParsedComment {
  /** In order of writing; empty when `errors` is not. */
  readonly commands: readonly Command[];
  readonly errors: readonly CommandError[];
  /** The whole text where the bot is mentioned inside a line only (maybe an answer, 1.3), else null. */
  readonly mention: string | null;
  /** What the person should be told beside: text left out, a command too far down. */
  readonly notes: readonly string[];
}

export interface CommandRow {
  readonly keyword: Keyword;
  readonly form: string;
  readonly needs: Level;
  /** Who may use it, where the level alone does not say it. */
  readonly who?: string;
  readonly effect: string;
  readonly example: string;
  /** False: the grammar knows it, the answer is that a later version will do it. */
  readonly inVersion: boolean;
}

type RowTuple = readonly [form: string, needs: Level, effect: string, example: string];

/** One row per form, in the order `help` shows them. */
export const commandTable: readonly CommandRow[] = [
  row("do", ["do <request>", "write", "a new mandate", "do update the changelog by 15:00"]),
  row("run", [
    "run <task> [key=value …]",
    "write",
    "a mandate for a task",
    "run rollout TAG=v1.2.3",
  ]),
  {
    ...row("reply", [
      "reply <id> <text>",
      "write",
      "input to a mandate",
      "reply m-7k3f use port 80",
    ]),
    who: "as the command that made the mandate",
  },
  row("status", ["status [id]", "read", "lists the mandates here and their state", "status"]),
  row("stop", ["stop [id]", "write", "revokes all mandates here, or one", "stop m-7k3f"]),
  row("pause", ["pause [id]", "write", "holds execution, discards nothing", "pause"]),
  row("resume", ["resume [id]", "write", "ends a pause", "resume"]),
  row("retry", ["retry <id>", "write", "a new mandate with the same request", "retry m-7k3f"]),
  row("continue", ["continue <id>", "write", "unblocks with fresh attempts", "continue m-7k3f"]),
  row("extend", ["extend <id> <duration>", "maintain", "a later deadline", "extend m-7k3f 2d"]),
  row("extend", [
    "extend <id> turns=N tokens=N cost=N",
    "maintain",
    "higher ceilings",
    "extend m-7k3f turns=80",
  ]),
  row("check", ["check <id>", "write", "rechecks a waiting mandate now", "check m-7k3f"]),
  row("recover", ["recover <id>", "maintain", "grants one recovery", "recover m-7k3f"]),
  later("wait", [
    "wait [until <check>] [every D] [for D] <then what>",
    "write",
    "a mandate that starts with a wait",
    "wait until release v2.* for 3d then roll it out",
  ]),
  later("review", ["review", "write", "starts a review round", "review"]),
  later("review", [
    "review extend <1..20> <reason>",
    "admin",
    "grants more review rounds",
    "review extend 2 the rewrite is agreed",
  ]),
  {
    ...later("rebut", [
      "rebut <finding> <evidence>",
      "write",
      "answers a finding with evidence",
      "rebut F-3ab9 src/io.ts:40 closes it",
    ]),
    who: "write, or the author of the pull request",
  },
  later("strategy", [
    "strategy [<kind> <name>]",
    "admin",
    "shows or chooses a strategy",
    "strategy completion rules",
  ]),
  {
    ...later("restart", ["restart", "admin", "restarts after the running turns", "restart"]),
    who: "admin of the installation",
  },
  row("help", ["help", "read", "the commands that you may use here", "help"]),
];

const aliases: Readonly<Record<string, Keyword>> = { reload: "restart" };
const spellings: ReadonlyMap<string, Keyword> = new Map([
  ...commandTable.map((row) => [row.keyword, row.keyword] as const),
  ...Object.entries(aliases),
]);

/** The keyword a word spells (ASCII, any case, aliases included), or null. */
export function keywordOf(word: string): Keyword | null {
  return /^[A-Za-z]+$/.test(word) ? (spellings.get(word.toLowerCase()) ?? null) : null;
}

/** Keywords one slip away from a word of at least four letters: `stpo` -> stop. */
export function nearKeywords(word: string): Keyword[] {
  if (word.length < 4) return [];
  const near = [...spellings].filter(([spelling]) => isOneSlip(word.toLowerCase(), spelling));
  return near.map(([, keyword]) => keyword);
}

/** One character too many, missing, changed, or two neighbours exchanged. */
function isOneSlip(word: string, wanted: string): boolean {
  if (word === wanted) return false;
  let at = 0;
  while (at < word.length && word[at] === wanted[at]) at += 1;
  const exchanged = word[at] === wanted[at + 1] && word[at + 1] === wanted[at];
  return (
    word.slice(at + 1) === wanted.slice(at) ||
    word.slice(at) === wanted.slice(at + 1) ||
    word.slice(at + 1) === wanted.slice(at + 1) ||
    (exchanged && word.slice(at + 2) === wanted.slice(at + 2))
  );
}

/** The forms of a keyword as code, to be shown to a person. */
export function formsOf(keyword: Keyword, mention: string): string {
  const rows = commandTable.filter((row) => row.keyword === keyword);
  return rows.map((row) => `\`@${mention} ${row.form}\``).join(" or ");
}

/** Answer to words that are either a command or a request (spec 1.4), `run <no such task>` too. */
export function bothReadings(keyword: Keyword, mention: string): string {
  return `as a command: ${formsOf(keyword, mention)}; as a request in words: \`@${mention} do …\``;
}

function row(keyword: Keyword, [form, needs, effect, example]: RowTuple): CommandRow {
  return { keyword, form, needs, effect, example, inVersion: true };
}

function later(keyword: Keyword, columns: RowTuple): CommandRow {
  return { ...row(keyword, columns), inVersion: false };
}
