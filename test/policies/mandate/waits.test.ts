// Waits (spec 3.1): every bound at its edge, both sides, to the millisecond.
import { describe, expect, test } from "vitest";
import { dayMs, hourMs, minuteMs } from "../../../policies/durations.ts";
import type { WaitRequest } from "../../../policies/mandate/mandate.ts";
import {
  registerWait,
  waitBounds,
  type BindingWait,
  type WaitContext,
  type WaitDecision,
} from "../../../policies/mandate/waits.ts";
import { now, waitRequest } from "./example.ts";

const free: WaitContext = {
  now,
  mandateDeadlineAt: now + 30 * dayMs,
  binding: null,
  byTask: false,
  bounds: waitBounds,
};

function register(request: Partial<WaitRequest>, context: Partial<WaitContext> = {}): WaitDecision {
  return registerWait({ ...waitRequest, ...request }, { ...free, ...context });
}

function problemOf(decision: WaitDecision): string {
  return decision.ok ? "none" : decision.problem;
}

const day: Partial<WaitRequest> = { deadlineAt: now + 3 * dayMs };
const week = 7 * dayMs;
const soon: Partial<WaitContext> = { mandateDeadlineAt: now + hourMs };

const edges: readonly [string, Partial<WaitRequest>, Partial<WaitContext>, RegExp | null][] = [
  ["every of one minute", { everyMs: minuteMs }, {}, null],
  ["every a millisecond shorter", { everyMs: minuteMs - 1 }, {}, /must be 1m to 1d/],
  ["every of 24 hours", { ...day, everyMs: 24 * hourMs }, {}, null],
  ["every a millisecond longer", { ...day, everyMs: 24 * hourMs + 1 }, {}, /must be 1m to 1d/],
  ["more than one interval ahead", { deadlineAt: now + 5 * minuteMs + 1 }, {}, null],
  ["one interval ahead", { deadlineAt: now + 5 * minuteMs }, {}, /more than one interval \(5m\)/],
  ["seven days ahead", { deadlineAt: now + week }, {}, null],
  ["a millisecond more", { deadlineAt: now + week + 1 }, {}, /more than 7d ahead/],
  ["at the mandate's deadline", { deadlineAt: now + hourMs }, soon, null],
  ["a millisecond after it", { deadlineAt: now + hourMs + 1 }, soon, /after the mandate's own/],
  ["now", { deadlineAt: now }, {}, /already passed/],
  ["without a reason", { reason: " \n" }, {}, /^reason is empty/],
  ["without a next step", { nextStep: "" }, {}, /^nextStep is empty/],
  ["a reason of 2,000 characters", { reason: "x".repeat(2_000) }, {}, null],
  ["one character more", { reason: "x".repeat(2_001) }, {}, /^reason has 2001 characters/],
  ["a next step of 2,000 characters", { nextStep: "x".repeat(2_000) }, {}, null],
  ["one more there", { nextStep: "x".repeat(2_001) }, {}, /^nextStep has 2001 characters/],
];

describe("the bounds of a wait (3.1)", () => {
  test.each(edges)("%s", (...[, request, context, problem]) => {
    const decision = register(request, context);
    if (problem === null) expect(decision).toMatchObject({ ok: true });
    else expect(problemOf(decision)).toMatch(problem);
  });

  test("policy may narrow them", () => {
    const bounds = { ...waitBounds, everyMinMs: 10 * minuteMs, aheadMaxMs: 30 * minuteMs };
    expect(problemOf(register({}, { bounds }))).toContain("must be 10m to 1d");
    const request = { everyMs: 10 * minuteMs, deadlineAt: now + 31 * minuteMs };
    expect(problemOf(register(request, { bounds }))).toContain("more than 30m ahead");
  });

  test("it is due one interval from now, and the deadline is what was asked for", () => {
    expect(register({})).toEqual({
      ok: true,
      wait: { ...waitRequest, dueAt: now + 5 * minuteMs, deadlineAt: now + hourMs },
    });
  });
});

const binding: BindingWait = { subject: "", deadlineAt: now + 20 * minuteMs };

const again: readonly [string, Partial<WaitRequest>, BindingWait, number | RegExp][] = [
  ["at the old deadline", { deadlineAt: binding.deadlineAt }, binding, 5],
  ["inside it", { deadlineAt: now + 10 * minuteMs }, binding, 5],
  ["a millisecond beyond it", { deadlineAt: binding.deadlineAt + 1 }, binding, /cannot be later/],
  [
    "with one interval left: the last look is one minute before the deadline",
    { everyMs: 20 * minuteMs, deadlineAt: binding.deadlineAt },
    binding,
    19,
  ],
  [
    "with a millisecond more than an interval left: one whole interval",
    { everyMs: 20 * minuteMs - 1, deadlineAt: binding.deadlineAt },
    binding,
    20 - 1 / minuteMs,
  ],
  [
    "within the last minute: only the deadline is left",
    { deadlineAt: now + minuteMs },
    { subject: "", deadlineAt: now + minuteMs },
    1,
  ],
  [
    "a millisecond before the last minute: looked at once more",
    { deadlineAt: now + minuteMs + 1 },
    { subject: "", deadlineAt: now + minuteMs + 1 },
    1 / minuteMs,
  ],
  [
    "after the old deadline",
    { deadlineAt: now + hourMs },
    { subject: "", deadlineAt: now },
    /later/,
  ],
];

describe("registering again before any new evidence (3.1)", () => {
  test.each(again)("%s", (...[, request, binding, due]) => {
    const decision = register(request, { binding });
    if (due instanceof RegExp) expect(problemOf(decision)).toMatch(due);
    else expect(decision).toMatchObject({ wait: { dueAt: now + due * minuteMs } });
  });

  test("waits of different steps do not bind each other", () => {
    const other = { subject: "step 2", deadlineAt: now + minuteMs };
    expect(register({ subject: "step 3" }, { binding: other })).toMatchObject({ ok: true });
    expect(register({ subject: "step 2" }, { binding: other })).toMatchObject({ ok: false });
  });
});

const byTask: readonly [string, Partial<WaitRequest>, Partial<WaitContext>, number, number][] = [
  ["its own deadline where that comes first", {}, {}, 60, 5],
  ["cut to the mandate's", {}, { mandateDeadlineAt: now + 30 * minuteMs }, 30, 5],
  ["cut to the wait it registers again", {}, { binding }, 20, 5],
  [
    "not to the wait of another step",
    { subject: "step 2" },
    { binding: { ...binding, subject: "step 1" } },
    60,
    5,
  ],
  [
    "a last look also in a first registration",
    { everyMs: 10 * minuteMs },
    { mandateDeadlineAt: now + 10 * minuteMs },
    10,
    9,
  ],
  ["only the deadline within the last minute", {}, { mandateDeadlineAt: now + minuteMs }, 1, 1],
];

describe("a task, which cannot correct itself (3.1)", () => {
  test.each(byTask)("gets %s", (...[, request, context, deadline, due]) => {
    const wait = {
      deadlineAt: now + deadline * minuteMs,
      dueAt: now + due * minuteMs,
    };
    expect(register(request, { ...context, byTask: true })).toMatchObject({ ok: true, wait });
  });

  test("is told when nothing at all is left", () => {
    const decision = register({}, { byTask: true, mandateDeadlineAt: now });
    expect(problemOf(decision)).toContain("already passed");
  });
});
