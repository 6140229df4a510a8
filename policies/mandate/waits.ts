// Waits: their bounds, due time and what a due one may do (spec 3.1-3.3).
// A deadline is never moved out here, by anybody (I6); a violation registers nothing.

import { dayMs, formatDuration, formatInstant, hourMs, minuteMs } from "../durations.ts";
import type { Signal, WaitRequest } from "./mandate.ts";

export interface WaitBounds {
  readonly everyMinMs: number;
  readonly everyMaxMs: number;
  readonly aheadMaxMs: number;
  readonly textLimit: number;
  /** The last look of a wait whose interval no longer fits lies this long before the deadline. */
  readonly lastLookMs: number;
}

export const waitBounds: WaitBounds = {
  everyMinMs: minuteMs,
  everyMaxMs: 24 * hourMs,
  aheadMaxMs: 7 * dayMs,
  textLimit: 2_000,
  lastLookMs: minuteMs,
};

/** A wait as registered; `dueAt` is absolute, the interval was only an input. */
export interface Wait {
  readonly reason: string;
  readonly nextStep: string;
  readonly everyMs: number;
  readonly dueAt: number;
  readonly deadlineAt: number;
  readonly signals: readonly Signal[];
  readonly subject: string;
}

/** An earlier wait on the same subject whose deadline still binds: no new evidence has come since. */
export interface BindingWait {
  readonly subject: string;
  readonly deadlineAt: number;
}

export interface WaitContext {
  readonly now: number;
  readonly mandateDeadlineAt: number;
  readonly binding: BindingWait | null;
  /** A task cannot correct itself: its deadline is cut to the mandate's, and it gets a last look. */
  readonly byTask: boolean;
  readonly bounds: WaitBounds;
}

export type WaitDecision =
  | { readonly ok: true; readonly wait: Wait }
  | { readonly ok: false; readonly problem: string };

/** Checks a wait against every bound and gives it its due time. */
export function registerWait(request: WaitRequest, context: WaitContext): WaitDecision {
  const deadlineAt = effectiveDeadline(request, context);
  const problem = textProblem(request, context.bounds) ?? timeProblem(request, deadlineAt, context);
  if (problem !== null) return { ok: false, problem };
  const dueAt = dueTime(request, deadlineAt, context);
  if (dueAt === null) return { ok: false, problem: tooShort(request, deadlineAt) };
  return { ok: true, wait: { ...request, dueAt, deadlineAt } };
}

function effectiveDeadline(request: WaitRequest, context: WaitContext): number {
  if (!context.byTask) return request.deadlineAt;
  const bound = isRebound(request, context) ? context.binding.deadlineAt : request.deadlineAt;
  return Math.min(bound, request.deadlineAt, context.mandateDeadlineAt);
}

function isRebound(
  request: WaitRequest,
  context: WaitContext,
): context is WaitContext & { readonly binding: BindingWait } {
  return context.binding !== null && context.binding.subject === request.subject;
}

function textProblem(request: WaitRequest, bounds: WaitBounds): string | null {
  for (const [name, text] of [
    ["reason", request.reason],
    ["nextStep", request.nextStep],
  ] as const) {
    if (text.trim() === "") return `${name} is empty`;
    if (text.length > bounds.textLimit) {
      return `${name} has ${text.length} characters, at most ${bounds.textLimit} are allowed`;
    }
  }
  return null;
}

function timeProblem(
  request: WaitRequest,
  deadlineAt: number,
  context: WaitContext,
): string | null {
  const { bounds, now } = context;
  if (request.everyMs < bounds.everyMinMs || request.everyMs > bounds.everyMaxMs) {
    const range = `${formatDuration(bounds.everyMinMs)} to ${formatDuration(bounds.everyMaxMs)}`;
    return `every is ${formatDuration(request.everyMs)}, it must be ${range}`;
  }
  if (deadlineAt > now + bounds.aheadMaxMs) {
    const latest = formatInstant(now + bounds.aheadMaxMs);
    return `deadline ${formatInstant(deadlineAt)} is more than ${formatDuration(bounds.aheadMaxMs)} ahead (latest ${latest})`;
  }
  if (deadlineAt > context.mandateDeadlineAt) {
    return `deadline ${formatInstant(deadlineAt)} is after the mandate's own, ${formatInstant(context.mandateDeadlineAt)}`;
  }
  if (isRebound(request, context) && deadlineAt > context.binding.deadlineAt) {
    return `this wait is registered again without new evidence, so its deadline cannot be later than ${formatInstant(context.binding.deadlineAt)}`;
  }
  if (deadlineAt <= now) return `deadline ${formatInstant(deadlineAt)} has already passed`;
  return null;
}

/** Null where a first registration leaves no room for one whole interval before its deadline. */
function dueTime(request: WaitRequest, deadlineAt: number, context: WaitContext): number | null {
  const { now, bounds } = context;
  if (deadlineAt > now + request.everyMs) return now + request.everyMs;
  if (!context.byTask && !isRebound(request, context)) return null;
  const lastLookAt = deadlineAt - bounds.lastLookMs;
  // The last look has been had: nothing is left but the deadline itself.
  return lastLookAt > now ? lastLookAt : deadlineAt;
}

function tooShort(request: WaitRequest, deadlineAt: number): string {
  return `deadline ${formatInstant(deadlineAt)} must be more than one interval (${formatDuration(request.everyMs)}) ahead`;
}
