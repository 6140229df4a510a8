// The grammar of one command line (spec 1.4): its words become a typed command, or an error that shows
// what would fit. Never looks at the Markdown around it, never guesses between two readings.

import { parseDuration } from "../durations.ts";
import type { Command, CommandError, ExtendArgs, Keyword } from "./commands.ts";
import { bothReadings, commandTable, formsOf, keywordOf, nearKeywords } from "./commands.ts";
import { refusedCodePoint, strip, visible } from "./invisible.ts";
import { readRequest, readRun } from "./request.ts";
import { readWait } from "./wait.ts";

/** A line that begins with the mention: the words after it, and the raw lines up to the next one. */
export interface CommandLine {
  readonly line: number;
  readonly rest: string;
  readonly following: string;
}

export type CommandReading =
  | { readonly ok: true; readonly command: Command; readonly note: string | null }
  | { readonly ok: false; readonly error: CommandError };

type NameAndArgs<C> = C extends Command ? Pick<C, "name" | "args"> : never;
type Body = NameAndArgs<Command>;
type Problem = { readonly problem: string };
type Wrong = Problem & { readonly suggestion: string };

/** A line's words, the same as one text, and whether more text follows on the next lines. */
interface Words {
  readonly words: readonly string[];
  readonly rest: string;
  readonly hasFollowing: boolean;
}

const proseCommands: readonly (Keyword | null)[] = [null, "do", "reply", "rebut"];

export function readCommand(written: CommandLine, mention: string): CommandReading {
  const { line, rest, following } = written;
  const hasFollowing = visible(following).trim() !== "";
  const body = readLine(wordsOf(rest, hasFollowing), mention);
  const odd = refusedCodePoint(rest);
  if (odd !== null) {
    const seen = wordsOf(visible(rest), hasFollowing);
    const isProse = proseCommands.includes(keywordOf(seen.words[0] ?? ""));
    // Prose may hold hidden characters as long as what is read is what a person sees.
    if (!isProse || JSON.stringify(readLine(seen, mention)) !== JSON.stringify(body)) {
      const problem = `there is an invisible or misleading character (${odd}) in the command`;
      return { ok: false, error: { line, problem, suggestion: "type the line again by hand" } };
    }
  }
  if ("problem" in body) return { ok: false, error: { line, ...body } };
  const { text, note } = textOf(body, written);
  return { ok: true, command: { ...body, line, text, needs: neededFor(body) }, note };
}

function readLine(given: Words, mention: string): Body | Wrong {
  const [word] = given.words;
  if (word === undefined && !given.hasFollowing) {
    return { problem: "nothing follows the mention", suggestion: formsOf("help", mention) };
  }
  const keyword = keywordOf(word ?? "");
  if (keyword === null) return readWithoutKeyword(given, mention);
  const body = readForm(keyword, withoutFirst(given));
  if (body === null) {
    const suggestion = keyword === "do" ? formsOf("do", mention) : bothReadings(keyword, mention);
    return { problem: `what follows \`${keyword}\` does not fit it`, suggestion };
  }
  return "problem" in body ? { ...body, suggestion: formsOf(keyword, mention) } : body;
}

function readWithoutKeyword(given: Words, mention: string): Body | Wrong {
  const [word = ""] = given.words;
  const near = nearKeywords(word).find((keyword) => fits(keyword, withoutFirst(given)));
  if (near !== undefined) {
    const problem = `the first word is one slip away from \`${near}\``;
    return { problem, suggestion: bothReadings(near, mention) };
  }
  const body = readRequest({ ...given, explicit: false }) ?? { problem: "there is no request" };
  return "problem" in body ? { ...body, suggestion: formsOf("do", mention) } : body;
}

function fits(keyword: Keyword, given: Words): boolean {
  // Any words fit a wait without clauses; `want the tests to pass` is not meant as one.
  if (keyword === "wait" && !/^(?:until|every|for)$/i.test(given.words[0] ?? "")) return false;
  const body = readForm(keyword, given);
  return body !== null && !("problem" in body);
}

function readForm(name: Keyword, given: Words): Body | Problem | null {
  const { words, hasFollowing } = given;
  const [first, second] = words;
  const id = idOf(first);
  switch (name) {
    case "do":
      return readRequest({ ...given, explicit: true });
    case "run":
      return readRun(given.rest);
    case "reply":
      return id !== null && (second !== undefined || hasFollowing) ? { name, args: { id } } : null;
    case "retry":
    case "continue":
    case "check":
    case "recover":
      return id !== null && words.length === 1 ? { name, args: { id } } : null;
    case "status":
    case "stop":
    case "pause":
    case "resume":
      return words.length === 0 || (id !== null && words.length === 1)
        ? { name, args: { id } }
        : null;
    case "extend":
      return id === null ? null : readExtend(id, words.slice(1));
    case "wait":
      return readWait(words);
    case "review":
      return readReview(words);
    case "rebut":
      return readRebut(given);
    case "strategy":
      return readStrategy(words);
    case "restart":
    case "help":
      return words.length === 0 ? { name, args: {} } : null;
  }
}

function idOf(word: string | undefined): string | null {
  return word !== undefined && /^m-[a-z0-9]{4,16}$/i.test(word) ? word.toLowerCase() : null;
}

function readExtend(id: string, words: readonly string[]): Body | null {
  const byMs = words.length === 1 ? parseDuration((words[0] ?? "").toLowerCase()) : null;
  if (byMs !== null) return { name: "extend", args: { id, byMs } };
  const ceilings: Partial<Record<"turns" | "tokens" | "cost", number>> = {};
  for (const word of words) {
    const match =
      /^(turns|tokens)=([1-9]\d{0,11})$/i.exec(word) ??
      /^(cost)=(\d{1,9}(?:\.\d{1,6})?)$/i.exec(word);
    const key = match?.[1]?.toLowerCase();
    const amount = Number(match?.[2]);
    if ((key !== "turns" && key !== "tokens" && key !== "cost") || !(amount > 0)) return null;
    if (ceilings[key] !== undefined) return null;
    ceilings[key] = amount;
  }
  const args: ExtendArgs = { id, ceilings };
  return words.length === 0 ? null : { name: "extend", args };
}

function readReview(words: readonly string[]): Body | null {
  if (words.length === 0) return { name: "review", args: { extend: null } };
  const [extend, rounds, ...reason] = words;
  if (extend?.toLowerCase() !== "extend" || !/^(?:[1-9]|1\d|20)$/.test(rounds ?? "")) return null;
  if (reason.length === 0) return null;
  const args = { extend: { rounds: Number(rounds), reason: reason.join(" ") } };
  return { name: "review", args };
}

function readRebut({ words: [finding = "", evidence], hasFollowing }: Words): Body | null {
  if (!/^F-[a-z0-9]{2,64}$/i.test(finding) || (evidence === undefined && !hasFollowing))
    return null;
  return { name: "rebut", args: { finding: `F-${finding.slice(2).toLowerCase()}` } };
}

function readStrategy(words: readonly string[]): Body | null {
  if (words.length === 0) return { name: "strategy", args: { choice: null } };
  const [kind = "", name = ""] = words.map((word) => word.toLowerCase());
  const areNames = [kind, name].every((word) => /^[a-z][a-z0-9-]{0,63}$/.test(word));
  return words.length === 2 && areNames
    ? { name: "strategy", args: { choice: { kind, name } } }
    : null;
}

function neededFor(body: Body): Command["needs"] {
  const isReviewGrant = body.name === "review" && body.args.extend !== null;
  const rows = commandTable.filter((row) => row.keyword === body.name);
  return (isReviewGrant ? rows.at(-1) : rows[0])?.needs ?? "admin";
}

function textOf(body: Body, written: CommandLine): { text: string; note: string | null } {
  const { line, rest, following } = written;
  const isReply = body.name === "reply" || body.name === "rebut";
  if (body.name !== "do" && !isReply) return { text: rest.trim(), note: null };
  const ownWords = body.name === "do" ? Number(body.args.explicit) : 2;
  return strip(afterWords(rest, ownWords) + following, line);
}

function wordsOf(rest: string, hasFollowing: boolean): Words {
  return { words: rest.split(/[ \t]+/).filter((word) => word !== ""), rest, hasFollowing };
}

function withoutFirst(given: Words): Words {
  return { ...given, words: given.words.slice(1), rest: afterWords(given.rest, 1) };
}

function afterWords(text: string, count: number): string {
  let rest = text;
  for (let done = 0; done < count; done += 1) rest = rest.replace(/^[ \t]*[^ \t]+/, "");
  return rest;
}
