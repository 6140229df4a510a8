// Receipts (spec 2.4, 5.5): one hash over what the work tools of a turn returned, or the reasons why there is none.
// Shows that something was observed, never that it was useful; it permits nothing.

import { notYetExitCode } from "../tasks.ts";
import { normalise } from "./normalise.ts";

/** A tool call as the host recorded it. A later record with the same id is the same call, further on. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** `control`: continuation, dispatch, review, context. They are not work. */
  readonly kind: "work" | "control";
  readonly startedAt: number;
  readonly finishedAt?: number | null;
  /** Null or absent: unknown. */
  readonly exitCode?: number | null;
  readonly error: boolean;
  /** The result as reported, whole; blobs as their hashes. */
  readonly text: string;
  /** Characters of the whole result. */
  readonly length: number;
}

export type Receipt =
  | { readonly given: true; readonly hash: string }
  | { readonly given: false; readonly reasons: readonly string[] };

/** `hash` is applied to the canonical text of all pairs; a missing receipt is explained, never guessed. */
export function receipt(
  calls: readonly ToolCall[],
  turn: { readonly succeeded: boolean; readonly hash: (text: string) => string },
): Receipt {
  const work = fold(calls).filter((call) => call.kind === "work");
  const reasons = [
    ...(turn.succeeded ? [] : ["the turn did not succeed"]),
    ...(work.length > 0 ? [] : ["no work tool was used"]),
    ...work.flatMap((call) => refusal(call)),
  ];
  if (reasons.length > 0) return { given: false, reasons: [...new Set(reasons)] };
  return { given: true, hash: turn.hash(JSON.stringify(orderedPairs(work))) };
}

/** One call per id: first start, last word. */
function fold(calls: readonly ToolCall[]): ToolCall[] {
  const folded = new Map<string, ToolCall>();
  for (const call of calls) {
    const earlier = folded.get(call.id);
    const startedAt = Math.min(call.startedAt, earlier?.startedAt ?? call.startedAt);
    folded.set(call.id, { ...call, startedAt });
  }
  return [...folded.values()];
}

function refusal(call: ToolCall): string[] {
  if (finishOf(call) === null) return [`${call.name} did not finish`];
  if (hasFailed(call)) return [`${call.name} ended with an error`];
  return resultOf(call) === "" ? [`${call.name} returned nothing`] : [];
}

function hasFailed(call: ToolCall): boolean {
  const exitCode = call.exitCode ?? null;
  // "Not yet" is an answer, whatever the tool's protocol calls it (spec 5.6).
  if (exitCode === notYetExitCode) return false;
  return call.error || (exitCode !== null && exitCode !== 0);
}

/** Normalised text and the known exit code: a silent command has the result `exit 0`. */
function resultOf(call: ToolCall): string {
  const text = normalise(call.text).trim();
  const exitCode = call.exitCode ?? null;
  return [text, exitCode === null ? "" : `exit ${exitCode}`].filter(Boolean).join("\n");
}

function finishOf(call: ToolCall): number | null {
  return call.finishedAt ?? null;
}

type Pair = readonly [name: string, result: string];

/** By first start; calls that overlap raced, so their order must not count and is made canonical. */
function orderedPairs(calls: readonly ToolCall[]): Pair[] {
  const byStart = calls.toSorted(
    (a, b) => a.startedAt - b.startedAt || (finishOf(b) ?? 0) - (finishOf(a) ?? 0),
  );
  const groups: ToolCall[][] = [];
  let busyUntil = -Infinity;
  for (const call of byStart) {
    if (call.startedAt < busyUntil) groups.at(-1)?.push(call);
    else groups.push([call]);
    busyUntil = Math.max(busyUntil, finishOf(call) ?? 0);
  }
  return groups.flatMap((group) =>
    group.map((call): Pair => [call.name, resultOf(call)]).toSorted((a, b) => compare(a, b)),
  );
}

/** By code unit: a locale's order differs between machines. */
function compare([nameA, textA]: Pair, [nameB, textB]: Pair): number {
  if (nameA !== nameB) return nameA < nameB ? -1 : 1;
  return textA < textB ? -1 : textA > textB ? 1 : 0;
}
