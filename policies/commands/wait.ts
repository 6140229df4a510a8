// A checked wait as a person writes it (spec 1.4, 3.7): `wait until release v2.* for 3d then roll it out`.
// Only its words: whether another repository or an address is allowed is decided where it is looked up.

import { dayMs, hourMs, minuteMs, parseDuration } from "../durations.ts";

/** Patterns are globs (`*`, `?`); `ref` is a commit or a branch. */
export type Check =
  | { readonly kind: "release" | "tag"; readonly pattern: string }
  | { readonly kind: "package"; readonly name: string; readonly pattern: string }
  | { readonly kind: "ci"; readonly ref: string }
  | { readonly kind: "pr"; readonly number: number; readonly state: "merged" | "closed" }
  | { readonly kind: "issue"; readonly number: number }
  | { readonly kind: "url"; readonly url: string; readonly pattern: string | null };

export interface WaitArgs {
  /** Null: a plain delay of `forMs`. */
  readonly until: Check | null;
  readonly everyMs: number;
  readonly forMs: number;
  /** What to do then, in words. */
  readonly next: string;
}

const waitMsLimit = 7 * dayMs;

/** `[until <check>] [every D] [for D] <then what>`; null where the words do not fit. */
export function readWait(
  words: readonly string[],
): { readonly name: "wait"; readonly args: WaitArgs } | { readonly problem: string } | null {
  let rest = words;
  const until = isWord(rest[0], "until") ? readCheck(rest.slice(1)) : null;
  if (until !== null) rest = rest.slice(1 + until.count);
  const everyMs = isWord(rest[0], "every") ? durationOf(rest[1]) : null;
  if (everyMs !== null) rest = rest.slice(2);
  const forMs = isWord(rest[0], "for") ? durationOf(rest[1]) : null;
  if (forMs !== null) rest = rest.slice(2);
  const next = isWord(rest[0], "then") ? rest.slice(1) : rest;
  const [odd] = rest;
  const isClause = ["until", "every", "for"].some((clause) => isWord(odd, clause));
  if (next.length === 0 || isClause || durationOf(odd) !== null) return null;
  if (forMs !== null && forMs > waitMsLimit) return { problem: "a wait lasts at most 7d" };
  const times = { everyMs: everyMs ?? 5 * minuteMs, forMs: forMs ?? 24 * hourMs };
  return { name: "wait", args: { until: until?.check ?? null, ...times, next: next.join(" ") } };
}

function isWord(word: string | undefined, wanted: string): boolean {
  return word?.toLowerCase() === wanted;
}

function durationOf(word: string | undefined): number | null {
  return parseDuration((word ?? "").toLowerCase());
}

interface CheckWords {
  readonly check: Check;
  /** How many words it takes. */
  readonly count: number;
}

/** The check that a list of words begins with, or null. */
function readCheck(words: readonly string[]): CheckWords | null {
  const [kind, first, second, third] = words;
  if (first === undefined) return null;
  switch ((kind ?? "").toLowerCase()) {
    case "release":
      return { check: { kind: "release", pattern: first }, count: 2 };
    case "tag":
      return { check: { kind: "tag", pattern: first }, count: 2 };
    case "ci":
      return { check: { kind: "ci", ref: first }, count: 2 };
    case "package":
      if (second === undefined) return null;
      return { check: { kind: "package", name: first, pattern: second }, count: 3 };
    case "pr":
    case "issue":
      return readNumbered(kind?.toLowerCase() === "pr", first, second?.toLowerCase());
    case "url":
      return readUrl(first, second?.toLowerCase() === "matches" ? third : null);
    default:
      return null;
  }
}

function readNumbered(isPr: boolean, word: string, state: string | undefined): CheckWords | null {
  const digits = /^#?([1-9]\d{0,9})$/.exec(word)?.[1];
  if (digits === undefined) return null;
  const number = Number(digits);
  if (isPr && (state === "merged" || state === "closed")) {
    return { check: { kind: "pr", number, state }, count: 3 };
  }
  return !isPr && state === "closed" ? { check: { kind: "issue", number }, count: 3 } : null;
}

/** `pattern` is null without `matches`, undefined when nothing follows that word. */
function readUrl(url: string, pattern: string | null | undefined): CheckWords | null {
  if (pattern === undefined || !/^https:\/\/./i.test(url) || !URL.canParse(url)) return null;
  return { check: { kind: "url", url, pattern }, count: pattern === null ? 2 : 4 };
}
