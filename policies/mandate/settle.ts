// Settle: from one ended turn to the next checkpoint and what follows from it (spec 2.1, 2.2, 2.4, 3.1-3.3).
// Pure: same input, same settlement. The shell commits all of it in one transaction (I3) and acts only afterwards.

import { formatInstant, minuteMs } from "../durations.ts";
import { credit, isStalled } from "../evidence/stall.ts";
import type { Ceilings, Counters, MandateState, TurnEnd, WaitRequest } from "./mandate.ts";
import { again, ask, complete, end, queue, stopped, unchanged } from "./settlement.ts";
import type { Block, Decision, SettleInput, Settlement, WaitChange } from "./settlement.ts";
import { count, countsByReport, type TurnOutcome } from "./turn-outcome.ts";
import { registerWait, type BindingWait, type Wait } from "./waits.ts";

/** Pauses after failures in a row, in parts of the first; the third in a row blocks. */
const failurePauses = [1, 5] as const;
export const failureLimit = 3;

/** How long is waited after so many failures in a row, where the first pause takes `firstMs`. */
export function failurePauseMs(failures: number, firstMs: number): number {
  return firstMs * (failurePauses[failures - 1] ?? failurePauses[1]);
}

const transientFirstMs = minuteMs;
const transientMaxMs = 30 * minuteMs;

export function settle(input: SettleInput): Settlement {
  const { mandate, turn } = input;
  const baseline = turn.baseline === null ? [] : [turn.baseline];
  const known = [...input.history, ...credit(input.history, baseline).entered];
  const { entered, credited } = credit(known, turn.found);
  const counters = count(mandate.counters, turn, {
    credited: credited.length,
    ceilings: mandate.ceilings,
  });
  const bound = bindingOf(input, credited.length);
  const decision = decide({ ...input, binding: bound }, counters);
  return {
    ...decision,
    counters,
    entered: [...known.slice(input.history.length), ...entered],
    credited,
    binding: bindingAfter({ ...input, binding: bound }, decision.wait, credited.length),
  };
}

/** A wait registered in the turn of its recheck, or before any new evidence, stays inside the old deadline (3.1). */
function bindingOf(input: SettleInput, credited: number): BindingWait | null {
  const isRecheck = input.wait?.isClaimed === true;
  return isRecheck || credited === 0 ? input.binding : null;
}

/** A wait that the host arms by itself (2.1) binds nobody and frees nobody: only one that was asked for does. */
function bindingAfter(input: SettleInput, wait: WaitChange, credited: number): BindingWait | null {
  const isHostsOwn = input.turn.end.kind === "transient";
  if (wait.change === "register" && !isHostsOwn) {
    return { subject: wait.wait.subject, deadlineAt: wait.wait.deadlineAt };
  }
  return credited > 0 ? null : input.binding;
}

function decide(input: SettleInput, counters: Counters): Decision {
  const { turn } = input;
  if (turn.end.kind === "cancelled" && turn.end.by === "stop") return stopped(input);
  if (countsByReport(turn) && turn.report !== null && turn.report.kind === "completed") {
    return complete(input, turn.report.summary);
  }
  const ended = turn.end.kind === "step-failed" || turn.end.kind === "uncertain";
  if (!ended && !isExplicitBlock(turn)) {
    const limit = limitReached(input, counters);
    if (limit !== null) return limit;
  }
  return countsByReport(turn) ? byReport(input) : byEnd(input, counters);
}

function isExplicitBlock(turn: TurnOutcome): boolean {
  return countsByReport(turn) && turn.report?.kind === "blocked";
}

function byReport(input: SettleInput): Decision {
  const { report } = input.turn;
  if (report === null) return withoutReport(input);
  switch (report.kind) {
    case "completed":
      return complete(input, report.summary);
    case "continue":
      return queue(input, { nextStep: report.nextStep, availableAt: input.now, note: null });
    case "blocked":
      return block(input, { reason: "agent-blocked", what: report.reason });
    case "waiting":
      return report.wait === null
        ? ask(input, report.reason)
        : registered(input, { ...report.wait, reason: report.reason });
  }
}

/** No report never means "waiting" by itself: an armed wait stands, everything else needs a person (2.2, 3.2). */
function withoutReport(input: SettleInput): Decision {
  if (input.wait !== null && !input.wait.isClaimed) {
    return { ...unchanged(input), status: "waiting", reason: null };
  }
  return block(input, { reason: "agent-blocked", what: "it ended without saying how to go on" });
}

function byEnd(input: SettleInput, counters: Counters): Decision {
  const { end } = input.turn;
  switch (end.kind) {
    case "completed":
      return withoutReport(input);
    case "cancelled":
      return again(input, input.now, "the turn before was cancelled and its work was saved");
    case "step-failed":
      return block(input, { reason: "agent-failed", what: end.what });
    case "uncertain":
      return block(input, { reason: "recovery-uncertain", what: end.what });
    case "transient":
      return transient(input, end, counters);
    case "limit":
    case "refused":
    case "died":
      return retry(input, end.what, counters);
    case "failed":
      return retry(input, end.what, counters);
  }
}

function retry(input: SettleInput, what: string, counters: Counters): Decision {
  const { end } = input.turn;
  if (counters.failures >= failureLimit) {
    const inPreparing = end.kind === "failed" && end.phase === "preparing";
    return block(input, { reason: inPreparing ? "checkout-failed" : "agent-failed", what });
  }
  const pauseMs = failurePauseMs(counters.failures, input.failureFirstMs);
  return again(input, input.now + pauseMs, `the turn before failed: ${what}`);
}

/** The other side is down, not the mandate: a wait that the host arms, no attempt, until the deadline (2.1). */
function transient(
  input: SettleInput,
  end: Extract<TurnEnd, { kind: "transient" }>,
  counters: Counters,
): Decision {
  const backoffMs = Math.min(
    transientMaxMs,
    transientFirstMs * 2 ** (counters.transientFailures - 1),
  );
  const { mandate, now } = input;
  const deadlineAt = input.wait?.wait.deadlineAt ?? mandate.deadlineAt;
  const dueAt = Math.min(Math.max(end.retryAt ?? now + backoffMs, now), deadlineAt);
  const wait: Wait = {
    reason: end.what,
    nextStep: mandate.nextStep,
    everyMs: backoffMs,
    dueAt,
    deadlineAt,
    signals: [],
    subject: input.wait?.wait.subject ?? "",
  };
  return {
    ...unchanged(input),
    status: "waiting",
    reason: null,
    wait: { change: "register", wait },
  };
}

/** Deadline, stall and ceilings end a mandate without another turn (3.3, 2.4); null = none is reached. */
function limitReached(input: SettleInput, counters: Counters): Decision | null {
  const { mandate, wait, now } = input;
  if (mandate.deadlineAt <= now) {
    return end(input, mandateExpired(mandate));
  }
  const staysWaiting = input.turn.report?.kind === "waiting" || input.turn.report === null;
  if (wait !== null && wait.wait.deadlineAt <= now && staysWaiting) {
    return end(input, waitExpired(wait.wait));
  }
  if (isStalled(counters, mandate.ceilings.stallLimit)) {
    return end(input, {
      reason: "stalled",
      what: `${counters.attempts} attempts in a row brought nothing new`,
      wayOut: "continue",
    });
  }
  const ceiling = ceilingReached(counters, mandate.ceilings);
  if (ceiling === null) return null;
  return end(input, { reason: "budget-exhausted", what: ceiling, wayOut: "extend" });
}

/** How a mandate's own passed deadline is told; only a person's `extend` moves it. */
export function mandateExpired(mandate: Pick<MandateState, "deadlineAt">): Block {
  const what = `it was to be done by ${formatInstant(mandate.deadlineAt)}`;
  return { reason: "deadline-passed", what, wayOut: "extend" };
}

/** How a passed deadline of a wait is told; a person's `continue` allows a new wait. */
export function waitExpired(wait: Wait): Block {
  return {
    reason: "deadline-passed",
    what: `it waited for this until its deadline: ${wait.reason}`,
    wayOut: "continue",
  };
}

/** The first ceiling that is used up, in words; null when none is. */
function ceilingReached(counters: Counters, ceilings: Ceilings): string | null {
  for (const name of ["turns", "tokens", "cost"] as const) {
    const limit = ceilings[name];
    if (limit !== null && counters[name] >= limit)
      return `${name} used: ${counters[name]} of ${limit}`;
  }
  return null;
}

/** A block by report or failure gives way to a person's queued word; ends by limits do not (1.3). */
function block(input: SettleInput, cause: Block): Decision {
  if (input.hasPersonInput) {
    return { ...unchanged(input), status: "queued", reason: null, wait: { change: "end" } };
  }
  return end(input, cause);
}

function registered(input: SettleInput, request: WaitRequest): Decision {
  const decided = registerWait(request, {
    now: input.now,
    mandateDeadlineAt: input.mandate.deadlineAt,
    binding: input.binding,
    byTask: input.turn.isTask,
    bounds: input.bounds,
  });
  if (!decided.ok)
    return again(input, input.now, `the wait was not registered: ${decided.problem}`);
  return {
    ...unchanged(input),
    status: "waiting",
    reason: null,
    nextStep: request.nextStep,
    nextStepBy: input.turn.isTask ? "host" : "agent",
    wait: { change: "register", wait: decided.wait },
  };
}
