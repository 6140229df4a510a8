// When a mandate must be looked at, and what a look finds (spec 1.1, 3.2, 3.3, 3.6).
// One rule for the pump, the sweep and `doctor`: whatever has no mover is a violation of I1.

import { secondMs } from "../durations.ts";
import { isTerminal, type Status } from "./mandate.ts";

/** How late a mover may be before the sweep looks (I1). */
export const lookGraceMs = 30 * secondMs;

export interface LookFacts {
  readonly status: Status;
  readonly deadlineAt: number;
  readonly wait: {
    readonly state: "armed" | "claimed";
    readonly dueAt: number;
    readonly deadlineAt: number;
  } | null;
  /** Earliest unclaimed entry; null where there is none. */
  readonly entryAt: number | null;
  readonly hasClaim: boolean;
  /** A notice that asks a person or tells of the block: in the outbox, or delivered. */
  readonly notice: "none" | "open" | "delivered";
  readonly isHeld: boolean;
  /** Its completed report was made and is being published: a deadline no longer ends it (3.3). */
  readonly isPublishing: boolean;
}

/** The instant by which this state must have been moved on; null when nothing has to move it. */
export function lookAt(facts: LookFacts, now: number): number | null {
  if (isTerminal(facts.status)) return null;
  if (facts.status === "blocked") {
    return facts.notice === "delivered" ? null : now + lookGraceMs;
  }
  const endsAt = Math.min(facts.deadlineAt, facts.wait?.deadlineAt ?? Infinity);
  return Math.min(facts.isPublishing ? Infinity : endsAt, moverDueAt(facts, now));
}

function moverDueAt(facts: LookFacts, now: number): number {
  switch (facts.status) {
    case "waiting":
      if (missingMover(facts) !== null) return now + lookGraceMs;
      // Under a hold only the deadlines go on; whoever lifts it sets the look anew.
      return facts.wait?.state !== "armed" || facts.isHeld ? Infinity : facts.wait.dueAt;
    case "queued":
      return Math.max(facts.entryAt ?? now, now) + lookGraceMs;
    case "running":
    case "assessing":
      return now + lookGraceMs;
    case "blocked":
    case "completed":
    case "stopped":
      return Infinity;
  }
}

export type Look =
  | { readonly found: "nothing" }
  | { readonly found: "expired"; readonly of: "mandate" | "wait" }
  | { readonly found: "due" }
  | { readonly found: "no-mover"; readonly missing: string };

/** What is to be done about a mandate now. A deadline comes before everything else, also under a hold. */
export function look(facts: LookFacts, now: number): Look {
  if (isTerminal(facts.status)) return { found: "nothing" };
  if (facts.status !== "blocked" && !facts.isPublishing) {
    if (facts.deadlineAt <= now) return { found: "expired", of: "mandate" };
    if (facts.wait !== null && facts.wait.deadlineAt <= now)
      return { found: "expired", of: "wait" };
  }
  const missing = missingMover(facts);
  if (missing !== null) return { found: "no-mover", missing };
  const isDue =
    facts.status === "waiting" && facts.wait?.state === "armed" && facts.wait.dueAt <= now;
  return isDue && !facts.isHeld ? { found: "due" } : { found: "nothing" };
}

/** The row of 1.1 that should move this mandate on and is not there; null when it is. */
export function missingMover(facts: LookFacts): string | null {
  switch (facts.status) {
    case "queued":
      return facts.entryAt === null ? "an unclaimed inbox entry" : null;
    case "running":
      return facts.hasClaim ? null : "a claim";
    case "assessing":
      return "an assessment";
    case "waiting":
      if (facts.wait?.state === "armed") return null;
      return facts.notice === "none" ? "an armed wait, or a question to a person" : null;
    case "blocked":
      return facts.notice === "none" ? "a blocked notice" : null;
    case "completed":
    case "stopped":
      return null;
  }
}
