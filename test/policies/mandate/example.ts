// A mandate and its turn as `settle` sees them, to be varied by each test (spec 2.1).
// Holds no expectation.
import { hourMs, minuteMs } from "../../../policies/durations.ts";
import type { Evidence } from "../../../policies/evidence/stall.ts";
import {
  noCounters,
  type MandateId,
  type MandateState,
  type Report,
  type WaitRequest,
} from "../../../policies/mandate/mandate.ts";
import type { SettleInput } from "../../../policies/mandate/settlement.ts";
import type { TurnOutcome } from "../../../policies/mandate/turn-outcome.ts";
import { waitBounds, type Wait } from "../../../policies/mandate/waits.ts";

export const now = Date.UTC(2026, 11, 1, 10, 0);

export const mandate: MandateState = {
  id: "m-7k3f" as MandateId,
  status: "running",
  reason: null,
  nextStep: "read the changelog",
  nextStepBy: "host",
  deadlineAt: now + 24 * hourMs,
  counters: noCounters,
  ceilings: {
    turns: null,
    tokens: null,
    cost: null,
    stallLimit: 20,
    thinkLimit: null,
    turnWallMs: hourMs,
  },
};

export const turn: TurnOutcome = {
  cause: "request",
  end: { kind: "completed" },
  report: null,
  isTask: false,
  usedWorkTools: true,
  baseline: null,
  found: [],
  tokens: 0,
  cost: 0,
};

export const waitRequest: WaitRequest = {
  reason: "the build runs",
  nextStep: "look at the build",
  everyMs: 5 * minuteMs,
  deadlineAt: now + hourMs,
  signals: [],
  subject: "",
};

/** A wait that is due now, with half an hour left. */
export const wait: Wait = { ...waitRequest, dueAt: now, deadlineAt: now + 30 * minuteMs };

export const goesOn: Report = { kind: "continue", nextStep: "write the entry" };
export const waits: Report = { kind: "waiting", reason: "the build runs", wait: waitRequest };
export const asks: Report = { kind: "waiting", reason: "which colour?", wait: null };
export const gaveUp: Report = { kind: "blocked", reason: "there is no changelog" };
export const isDone: Report = { kind: "completed", summary: "wrote the entry" };

export interface Change extends Partial<Omit<SettleInput, "mandate" | "turn">> {
  readonly mandate?: Partial<MandateState>;
  readonly turn?: Partial<TurnOutcome>;
}

export function inputWith(change: Change): SettleInput {
  return {
    wait: null,
    binding: null,
    history: [],
    hasPersonInput: false,
    publishes: false,
    bounds: waitBounds,
    failureFirstMs: minuteMs,
    now,
    ...change,
    mandate: { ...mandate, ...change.mandate },
    turn: { ...turn, ...change.turn },
  };
}

export function fingerprint(hash: string): Evidence {
  return { kind: "fingerprint", hash };
}

export function receipt(hash: string): Evidence {
  return { kind: "receipt", hash };
}
