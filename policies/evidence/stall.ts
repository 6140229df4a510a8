// Evidence, its credit and the stall count (spec 2.4): how long a mandate may go on without anything new.
// Evidence earns credit once in a mandate's life (I9), across restarts, resets and `continue`.

export type EvidenceKind = "fingerprint" | "receipt" | "milestone";

/** Something the host saw; equal kind and hash are the same evidence. */
export interface Evidence {
  readonly kind: EvidenceKind;
  readonly hash: string;
}

/** Entries that one mandate's history holds; once it is full nothing earns credit any more. */
export const historyLimit = 256;

/** Which of what was found enters the history, and which of it earns credit: what was never there before. */
export function credit(
  history: readonly Evidence[],
  found: readonly Evidence[],
): { readonly entered: Evidence[]; readonly credited: Evidence[] } {
  const seen = new Set(history.map((evidence) => keyOf(evidence)));
  const room = Math.max(0, historyLimit - history.length);
  const fresh = found.filter((evidence) => {
    const isNew = !seen.has(keyOf(evidence));
    seen.add(keyOf(evidence));
    return isNew;
  });
  const entered = fresh.slice(0, room);
  return { entered, credited: [...entered] };
}

function keyOf(evidence: Evidence): string {
  return `${evidence.kind}:${evidence.hash}`;
}

/** Turns run, consecutive attempts without new evidence, and neutral turns since the last new evidence. */
export interface StallCounters {
  readonly turns: number;
  readonly attempts: number;
  readonly neutralTurns: number;
}

export interface CountedTurn {
  /** False for transient failures and cancelled turns, which use up nothing (2.1). */
  readonly isAttempt: boolean;
  /** Pieces of evidence that earned credit. */
  readonly credited: number;
  readonly usedWorkTools: boolean;
  /** The assessor says to go on, without progress. */
  readonly neutral: boolean;
  /** Neutral turns that are free; null = all. */
  readonly thinkLimit: number | null;
}

/** The counters after a turn. New evidence starts the allowance anew; a neutral turn neither uses nor renews it. */
export function countAttempt(counters: StallCounters, turn: CountedTurn): StallCounters {
  const turns = counters.turns + 1;
  // Also of a turn that was cut short: its evidence is in the history now and will never earn credit again.
  if (turn.credited > 0) return { turns, attempts: 0, neutralTurns: 0 };
  if (!turn.isAttempt) return { ...counters, turns };
  const isNeutral = turn.neutral && !turn.usedWorkTools;
  const neutralTurns = counters.neutralTurns + (isNeutral ? 1 : 0);
  const isFree = isNeutral && (turn.thinkLimit === null || neutralTurns <= turn.thinkLimit);
  return { turns, attempts: counters.attempts + (isFree ? 0 : 1), neutralTurns };
}

/** A poll that never changes ends after its first, credited turn and `limit` more. */
export function isStalled(counters: Pick<StallCounters, "attempts">, limit: number): boolean {
  return counters.attempts >= limit;
}
