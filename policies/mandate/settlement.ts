// A settlement: the checkpoint after a turn as data (spec 2.1 step 4), and the few shapes it can take.
// Nothing here decides which shape applies; that is settle.ts.

import type { Evidence } from "../evidence/stall.ts";
import type { ReasonCode, WayOut } from "../reasons.ts";
import type { Counters, MandateState, PlannedEntry, Provenance, Status } from "./mandate.ts";
import type { TurnOutcome } from "./turn-outcome.ts";
import type { BindingWait, Wait, WaitBounds } from "./waits.ts";

export interface SettleInput {
  readonly mandate: MandateState;
  readonly turn: TurnOutcome;
  /** The wait that is armed, or was claimed for this turn; null when there is none. */
  readonly wait: { readonly wait: Wait; readonly isClaimed: boolean } | null;
  readonly binding: BindingWait | null;
  readonly history: readonly Evidence[];
  readonly hasPersonInput: boolean;
  readonly publishes: boolean;
  readonly bounds: WaitBounds;
  /** The pause after the first failure in a row. */
  readonly failureFirstMs: number;
  readonly now: number;
}

export type SettleNotice =
  | { readonly kind: "result"; readonly summary: string }
  | { readonly kind: "question"; readonly reason: string }
  | { readonly kind: "blocked"; readonly what: string; readonly wayOut: WayOut | null };

export type WaitChange =
  | { readonly change: "keep" }
  | { readonly change: "end" }
  | { readonly change: "register"; readonly wait: Wait };

/** One checkpoint: what the mandate is from now on, and everything that must happen because of it. */
export interface Settlement {
  readonly status: Status;
  readonly reason: ReasonCode | null;
  readonly nextStep: string;
  readonly nextStepBy: Provenance;
  readonly counters: Counters;
  readonly entered: readonly Evidence[];
  readonly credited: readonly Evidence[];
  readonly binding: BindingWait | null;
  readonly wait: WaitChange;
  readonly entry: PlannedEntry | null;
  readonly notice: SettleNotice | null;
}

/** A settlement before counting: which state follows. */
export type Decision = Omit<Settlement, "counters" | "entered" | "credited" | "binding">;

export interface Block {
  readonly reason: ReasonCode;
  readonly what: string;
  readonly wayOut?: WayOut | null;
}

export function end(input: SettleInput, cause: Block): Decision {
  return {
    ...unchanged(input),
    status: "blocked",
    reason: cause.reason,
    wait: { change: "end" },
    notice: { kind: "blocked", what: cause.what, wayOut: cause.wayOut ?? null },
  };
}

export function complete(input: SettleInput, summary: string): Decision {
  const base = { ...unchanged(input), wait: { change: "end" } as const, reason: null };
  if (input.hasPersonInput) return { ...base, status: "queued" };
  if (input.publishes) {
    const entry = { kind: "publish", availableAt: input.now, note: summary } as const;
    return { ...base, status: "queued", entry, nextStep: "publish the result", nextStepBy: "host" };
  }
  return { ...base, status: "completed", nextStep: "", notice: { kind: "result", summary } };
}

export function ask(input: SettleInput, reason: string): Decision {
  return {
    ...unchanged(input),
    status: "waiting",
    reason: null,
    wait: { change: "end" },
    notice: { kind: "question", reason },
  };
}

/** The same next step once more: a wait that was claimed for this turn keeps its deadline until it is replaced. */
export function again(input: SettleInput, availableAt: number, note: string): Decision {
  const kept = queue(input, { nextStep: input.mandate.nextStep, availableAt, note });
  return { ...kept, nextStepBy: input.mandate.nextStepBy, wait: { change: "keep" } };
}

export function queue(
  input: SettleInput,
  step: { nextStep: string; availableAt: number; note: string | null },
): Decision {
  return {
    ...unchanged(input),
    status: "queued",
    reason: null,
    nextStep: step.nextStep,
    nextStepBy: input.turn.isTask ? "host" : "agent",
    wait: input.wait?.isClaimed === true ? { change: "end" } : { change: "keep" },
    entry: { kind: "continuation", availableAt: step.availableAt, note: step.note },
  };
}

export function stopped(input: SettleInput): Decision {
  return { ...unchanged(input), status: "stopped", wait: { change: "end" } };
}

export function unchanged(input: SettleInput): Decision {
  const { mandate } = input;
  return {
    status: mandate.status,
    reason: mandate.reason,
    nextStep: mandate.nextStep,
    nextStepBy: mandate.nextStepBy,
    wait: { change: "keep" },
    entry: null,
    notice: null,
  };
}
