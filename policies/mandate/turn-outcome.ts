// What the host saw of one ended turn, and how it counts (spec 2.1, 2.4): by its report or as a failure.
// The report is what the working side says about going on; it is never evidence.

import { countAttempt, type Evidence } from "../evidence/stall.ts";
import type { Ceilings, Counters, EntryKind, Report, TurnEnd } from "./mandate.ts";

/** What the host saw of a turn, with the report the working side gave. */
export interface TurnOutcome {
  readonly cause: EntryKind;
  readonly end: TurnEnd;
  readonly report: Report | null;
  readonly isTask: boolean;
  readonly usedWorkTools: boolean;
  /** The fingerprint before the first turn: entered as seen, never credited. */
  readonly baseline: Evidence | null;
  readonly found: readonly Evidence[];
  readonly tokens: number;
  readonly cost: number;
}

/** The counters after this turn: a transient or cancelled one is no attempt, unless its report counts. */
export function count(
  counters: Counters,
  turn: TurnOutcome,
  facts: { credited: number; ceilings: Ceilings },
): Counters {
  const isFailure = hasFailed(turn);
  const isCutShort = turn.end.kind === "transient" || turn.end.kind === "cancelled";
  const isAttempt = !isCutShort || countsByReport(turn);
  const counted = countAttempt(counters, {
    isAttempt,
    credited: facts.credited,
    usedWorkTools: turn.usedWorkTools,
    neutral: false,
    thinkLimit: facts.ceilings.thinkLimit,
  });
  return {
    ...counters,
    ...counted,
    failures: isFailure ? counters.failures + 1 : isAttempt ? 0 : counters.failures,
    transientFailures: turn.end.kind === "transient" ? counters.transientFailures + 1 : 0,
    tokens: counters.tokens + turn.tokens,
    cost: counters.cost + turn.cost,
  };
}

/** A turn that was cut short counts by its report when it gave a valid one (2.1). */
export function countsByReport(turn: TurnOutcome): boolean {
  switch (turn.end.kind) {
    case "completed":
      return true;
    case "limit":
    case "died":
      return turn.report !== null;
    case "cancelled":
      if (turn.report === null || turn.end.by === "stop") return false;
      return turn.end.by === "drain" || turn.report.kind === "completed";
    case "refused":
    case "failed":
    case "step-failed":
    case "uncertain":
    case "transient":
      return false;
  }
}

function hasFailed(turn: TurnOutcome): boolean {
  const failing = ["limit", "refused", "failed", "died"].includes(turn.end.kind);
  return failing && !countsByReport(turn);
}
