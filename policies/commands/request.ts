// The two commands that ask for work (spec 1.2, 1.4): a request in words and a declared task.
// Their arguments are a fixed list; model, secrets and sandbox cannot be set from a comment.

import type { RequestArgs, RunArgs } from "./commands.ts";
import type { Deadline } from "./deadline.ts";
import { readDeadline } from "./deadline.ts";

type Problem = { readonly problem: string };
interface RequestWords {
  readonly words: readonly string[];
  /** Whether text follows on the next lines. */
  readonly hasFollowing: boolean;
  readonly explicit: boolean;
}

const argument = /^-{0,2}([A-Za-z_][\w.-]{0,63})=(.*)$/;
/** Tasks and grants as the policy file names them. */
const declaredName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const input = /^([A-Za-z][A-Za-z0-9_]{0,63})=(.*)$/;

/**
 * Arguments of a request in words: `grant=<name>` first or last, a deadline last.
 * Null when nothing is left to do. The words themselves stay in the command's text.
 */
export function readRequest(
  given: RequestWords,
): { readonly name: "do"; readonly args: RequestArgs } | Problem | null {
  const { explicit } = given;
  let words = given.words;
  let grant: string | null = null;
  let deadline: Deadline | null = null;
  for (let first = readArgument(words); first !== null; first = readArgument(words)) {
    const { key, value } = first;
    if (key !== "grant") return { problem: `\`${key}=\` is no argument here, only \`grant=\` is` };
    if (grant !== null || !declaredName.test(value)) return notOneGrant;
    grant = value;
    words = words.slice(1);
  }
  for (let ending = readEnding(words); ending !== null; ending = readEnding(words)) {
    if ("problem" in ending) return ending;
    if ("grant" in ending) {
      if (grant !== null) return notOneGrant;
      grant = ending.grant;
      words = words.slice(0, -1);
    } else {
      if (deadline !== null) return { problem: "there is more than one deadline" };
      deadline = ending.deadline;
      words = words.slice(0, -2);
    }
  }
  if (words.length === 0 && !given.hasFollowing) return null;
  return { name: "do", args: { explicit, grant, deadline } };
}

function readArgument([word = ""]: readonly string[]): { key: string; value: string } | null {
  const [, key, value = ""] = argument.exec(word) ?? [];
  return key === undefined ? null : { key, value };
}

const notOneGrant: Problem = { problem: "`grant=` takes one name of the policy file, once" };

function readEnding(
  words: readonly string[],
): { readonly grant: string } | { readonly deadline: Deadline } | Problem | null {
  const last = words.at(-1) ?? "";
  if (last.startsWith("grant=")) {
    const grant = last.slice("grant=".length);
    return declaredName.test(grant) ? { grant } : notOneGrant;
  }
  const found = readDeadline(words.at(-2) ?? "", last);
  if (found === null) return null;
  return found.ok ? { deadline: found.deadline } : { problem: found.problem };
}

/** `run <task> [key=value …]`; values may be quoted. Whether the task exists is asked elsewhere. */
export function readRun(
  rest: string,
): { readonly name: "run"; readonly args: RunArgs } | Problem | null {
  const words = splitQuoted(rest.trim());
  const ending = readDeadline(words.at(-2) ?? "", words.at(-1) ?? "");
  if (ending?.ok === false) return { problem: ending.problem };
  const [task = "", ...pairs] = ending === null ? words : words.slice(0, -2);
  if (!declaredName.test(task)) return null;
  const inputs = new Map<string, string>();
  for (const pair of pairs) {
    const [, key, value = ""] = input.exec(pair) ?? [];
    if (key === undefined) return null;
    if (inputs.has(key)) return { problem: `\`${key}=\` is given twice` };
    inputs.set(key, value);
  }
  const deadline = ending?.deadline ?? null;
  return { name: "run", args: { task, inputs: Object.fromEntries(inputs), deadline } };
}

/** Words, where a quoted stretch belongs to its word without the quotes; none if a quote is open. */
function splitQuoted(text: string): string[] {
  const word = /[ \t]*((?:[^ \t"']|"[^"]*"|'[^']*')+)/y;
  const words: string[] = [];
  for (let match = word.exec(text); match !== null; match = word.exec(text)) {
    words.push((match[1] ?? "").replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
    if (word.lastIndex === text.length) return words;
  }
  return [];
}
