// Who moves a mandate on, when it must be looked at, and what a look finds (spec 1.1, 3.2, 3.3): I1 as a table.
import { describe, expect, test } from "vitest";
import { hourMs, minuteMs, secondMs } from "../../../policies/durations.ts";
import { look, lookAt, missingMover, type LookFacts } from "../../../policies/mandate/look.ts";
import type { Status } from "../../../policies/mandate/mandate.ts";
import { now } from "./example.ts";

const bare: LookFacts = {
  status: "queued",
  deadlineAt: now + hourMs,
  wait: null,
  entryAt: null,
  hasClaim: false,
  notice: "none",
  isHeld: false,
  isPublishing: false,
};

const armed = {
  state: "armed",
  dueAt: now + 5 * minuteMs,
  deadlineAt: now + 30 * minuteMs,
} as const;
const used = { ...armed, state: "claimed" } as const;

const movers: readonly [Status, string, Partial<LookFacts>, string | null][] = [
  ["queued", "with an entry", { entryAt: now + minuteMs }, null],
  ["queued", "with nothing", {}, "an unclaimed inbox entry"],
  ["queued", "with a wait alone", { wait: armed }, "an unclaimed inbox entry"],
  ["running", "with a claim", { hasClaim: true }, null],
  ["running", "with an entry alone", { entryAt: now }, "a claim"],
  ["assessing", "before there is an assessor", {}, "an assessment"],
  ["waiting", "with an armed wait", { wait: armed }, null],
  ["waiting", "with a used-up wait", { wait: used }, "an armed wait, or a question to a person"],
  ["waiting", "with a question on its way", { notice: "open" }, null],
  ["waiting", "with a question delivered", { notice: "delivered" }, null],
  ["waiting", "with nothing", {}, "an armed wait, or a question to a person"],
  ["blocked", "with a notice on its way", { notice: "open" }, null],
  ["blocked", "with a notice delivered", { notice: "delivered" }, null],
  ["blocked", "with an entry alone", { entryAt: now }, "a blocked notice"],
  ["completed", "needs nothing", {}, null],
  ["stopped", "needs nothing", {}, null],
];

describe("I1: what moves a mandate on", () => {
  test.each(movers)("%s %s", (...[status, , facts, missing]) => {
    expect(missingMover({ ...bare, ...facts, status })).toBe(missing);
    const found = look({ ...bare, ...facts, status }, now);
    expect(found).toEqual(missing === null ? { found: "nothing" } : { found: "no-mover", missing });
  });
});

const late = 30 * secondMs;
const held = { isHeld: true };

const times: readonly [string, Partial<LookFacts>, number | null][] = [
  ["queued: 30 s after its entry may run", { entryAt: now + minuteMs }, now + minuteMs + late],
  ["queued, overdue: 30 s from now", { entryAt: now - minuteMs }, now + late],
  ["queued behind its deadline", { entryAt: now + 2 * hourMs }, now + hourMs],
  ["running: 30 s from now", { status: "running", hasClaim: true }, now + late],
  ["waiting: when the wait is due", { status: "waiting", wait: armed }, armed.dueAt],
  ["waiting, held: at its deadline", { status: "waiting", wait: armed, ...held }, armed.deadlineAt],
  ["waiting for a person: at its deadline", { status: "waiting", notice: "open" }, now + hourMs],
  ["waiting for nothing at all: 30 s from now", { status: "waiting" }, now + late],
  [
    "waiting for a person with a used-up wait: at the wait's deadline",
    { status: "waiting", notice: "open", wait: used },
    used.deadlineAt,
  ],
  ["blocked, not yet told: 30 s from now", { status: "blocked", notice: "open" }, now + late],
  ["blocked and told: never", { status: "blocked", notice: "delivered" }, null],
  ["completed: never", { status: "completed" }, null],
  ["stopped: never", { status: "stopped" }, null],
];

test.each(times)("the next look, %s", (_, facts, at) => {
  expect(lookAt({ ...bare, ...facts }, now)).toBe(at);
});

const waiting = { status: "waiting", wait: { ...armed, dueAt: now } } as const;

const found: readonly [string, Partial<LookFacts>, ReturnType<typeof look>][] = [
  ["a wait that is due", waiting, { found: "due" }],
  [
    "a wait a millisecond before it is due",
    { ...waiting, wait: { ...armed, dueAt: now + 1 } },
    { found: "nothing" },
  ],
  ["a due wait under a hold", { ...waiting, ...held }, { found: "nothing" }],
  [
    "a wait at its deadline, also where its recheck is due",
    { ...waiting, wait: { ...armed, dueAt: now, deadlineAt: now } },
    { found: "expired", of: "wait" },
  ],
  [
    "a wait at its deadline under a hold",
    { ...waiting, ...held, wait: { ...armed, deadlineAt: now } },
    { found: "expired", of: "wait" },
  ],
  [
    "the mandate's deadline before the wait's",
    { ...waiting, deadlineAt: now },
    {
      found: "expired",
      of: "mandate",
    },
  ],
  [
    "the deadline under a hold",
    { entryAt: now, ...held, deadlineAt: now },
    {
      found: "expired",
      of: "mandate",
    },
  ],
  [
    "a running turn at the deadline",
    { status: "running", hasClaim: true, deadlineAt: now },
    {
      found: "expired",
      of: "mandate",
    },
  ],
  [
    "a result that is being published at the deadline",
    { entryAt: now, isPublishing: true, deadlineAt: now },
    { found: "nothing" },
  ],
  [
    "a blocked mandate at its deadline",
    { status: "blocked", notice: "delivered", deadlineAt: now },
    { found: "nothing" },
  ],
  ["a completed one", { status: "completed", deadlineAt: now }, { found: "nothing" }],
];

test.each(found)("a look at %s", (_, facts, expected) => {
  expect(look({ ...bare, ...facts }, now)).toEqual(expected);
});
