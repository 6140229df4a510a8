// Mandates, their states and what one turn leaves behind (spec 1.1, 1.2, 2.1, 2.2).
// Pure data; nothing here reads a clock or decides what happens next (that is settle.ts).

import type { ReasonCode } from "../reasons.ts";
import type { Task, TaskProgress } from "../tasks.ts";

export type MandateId = string & { readonly brand: "MandateId" };

/** Stored states. `held` is never stored: it is how an unfinished mandate is shown while a hold lies on it. */
export const statuses = [
  "queued",
  "running",
  "assessing",
  "waiting",
  "blocked",
  "completed",
  "stopped",
] as const;
export type Status = (typeof statuses)[number];

export function isTerminal(status: Status): boolean {
  return status === "completed" || status === "stopped";
}

export type MandateKind = "request" | "task";

/** Who gave the next step: it is advice within the anchor, and people are told whose. */
export type Provenance = "agent" | "assessor" | "person" | "host";

/** Counters of one mandate. `attempts` counts consecutive attempts without new evidence (2.4). */
export interface Counters {
  readonly turns: number;
  readonly attempts: number;
  readonly neutralTurns: number;
  /** Failed turns in a row (2.1), and transient failures in a row, which are no attempts. */
  readonly failures: number;
  readonly transientFailures: number;
  readonly tokens: number;
  readonly cost: number;
}

export const noCounters: Counters = {
  turns: 0,
  attempts: 0,
  neutralTurns: 0,
  failures: 0,
  transientFailures: 0,
  tokens: 0,
  cost: 0,
};

/** Ceilings in force; null = none. Reached, they block (`budget-exhausted`). */
export interface Ceilings {
  readonly turns: number | null;
  readonly tokens: number | null;
  readonly cost: number | null;
  readonly stallLimit: number;
  readonly thinkLimit: number | null;
  /** Wall time of one turn. */
  readonly turnWallMs: number;
}

/** What a task mandate keeps of its definition (copied at acceptance) and how far it has come. */
export interface TaskState {
  readonly name: string;
  readonly task: Task;
  readonly inputs: Readonly<Record<string, string>>;
  readonly progress: TaskProgress;
}

/** The part of a mandate that rules decide on; the ledger's row has more. */
export interface MandateState {
  readonly id: MandateId;
  readonly status: Status;
  readonly reason: ReasonCode | null;
  readonly nextStep: string;
  readonly nextStepBy: Provenance;
  readonly deadlineAt: number;
  readonly counters: Counters;
  readonly ceilings: Ceilings;
}

export interface ChecklistItem {
  readonly text: string;
  readonly done: boolean;
}

/** What an agent or task says about how to go on (2.2); never evidence. */
export type Report = { readonly checklist?: readonly ChecklistItem[] } & (
  | { readonly kind: "continue"; readonly nextStep: string }
  | { readonly kind: "waiting"; readonly reason: string; readonly wait: WaitRequest | null }
  | { readonly kind: "blocked"; readonly reason: string }
  | { readonly kind: "completed"; readonly summary: string }
);

/** A wait as asked for (3.1); bounds are checked by waits.ts before anything is registered. */
export interface WaitRequest {
  readonly reason: string;
  readonly nextStep: string;
  readonly everyMs: number;
  readonly deadlineAt: number;
  readonly signals: readonly Signal[];
  /** What is waited for, where one mandate has several (the step of a task); agents have one: "". */
  readonly subject: string;
}

export interface Signal {
  readonly event: string;
  readonly repository?: string | undefined;
  readonly tag?: string | undefined;
}

/** How a turn ended (5.3), as the host saw it. `what` is a short sentence of ours, never an exception's text. */
export type TurnEnd =
  | { readonly kind: "completed" }
  | { readonly kind: "cancelled"; readonly by: "stop" | "drain" | "deadline" }
  | { readonly kind: "limit" | "refused" | "died"; readonly what: string }
  | { readonly kind: "failed"; readonly phase: "preparing" | "running"; readonly what: string }
  /** A declared step failed and may not be repeated by itself (5.6). */
  | { readonly kind: "step-failed"; readonly what: string }
  /** A step was cut off and nobody knows what it did outside (2.5). */
  | { readonly kind: "uncertain"; readonly what: string }
  | { readonly kind: "transient"; readonly what: string; readonly retryAt: number | null };

/** Why a turn runs. Entries from people come first (order.ts). */
export const entryKinds = [
  "request",
  "reply",
  "continue",
  "recover",
  "publish",
  "child-result",
  "recheck",
  "continuation",
] as const;
export type EntryKind = (typeof entryKinds)[number];

/** Durable work waiting to be claimed. */
export interface PlannedEntry {
  readonly kind: EntryKind;
  readonly availableAt: number;
  readonly note: string | null;
}
