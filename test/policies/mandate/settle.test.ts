// The decision tables of a turn's end (spec 2.1, 2.2, 2.4, 3.2, 3.3), one row per cell.
import { describe, expect, test } from "vitest";
import { hourMs, minuteMs } from "../../../policies/durations.ts";
import { historyLimit, type Evidence } from "../../../policies/evidence/stall.ts";
import { noCounters, type Report, type TurnEnd } from "../../../policies/mandate/mandate.ts";
import { settle } from "../../../policies/mandate/settle.ts";
import type { Settlement } from "../../../policies/mandate/settlement.ts";
import {
  asks,
  fingerprint,
  gaveUp,
  goesOn,
  inputWith,
  isDone,
  mandate,
  now,
  receipt,
  wait,
  waits,
  type Change,
} from "./example.ts";

const broken = { kind: "failed", phase: "running", what: "it broke" } as const;
const unprepared = { kind: "failed", phase: "preparing", what: "no checkout" } as const;
const limit = { kind: "limit", what: "an hour was up" } as const;
const refused = { kind: "refused", what: "the model refused" } as const;
const died = { kind: "died", what: "its process died" } as const;
const byStop = { kind: "cancelled", by: "stop" } as const;
const byDrain = { kind: "cancelled", by: "drain" } as const;
const byDeadline = { kind: "cancelled", by: "deadline" } as const;
const busy = { kind: "transient", what: "rate limit", retryAt: null } as const;

/** What follows in a few words: the state, its reason, and in how many minutes it goes on. */
function nextOf(settled: Settlement): string {
  const at = settled.wait.change === "register" ? settled.wait.wait.dueAt : null;
  const goesOnAt = settled.entry?.availableAt ?? at;
  const minutes = goesOnAt === null ? "" : ` in ${(goesOnAt - now) / minuteMs} min`;
  const reason = settled.reason === null ? "" : ` ${settled.reason}`;
  return `${settled.status}${reason}${minutes}`;
}

const ends: readonly [string, TurnEnd, Report | null, string, "attempt" | "no attempt"][] = [
  ["completed", { kind: "completed" }, goesOn, "queued in 0 min", "attempt"],
  ["completed, waiting", { kind: "completed" }, waits, "waiting in 5 min", "attempt"],
  ["completed without report", { kind: "completed" }, null, "blocked agent-blocked", "attempt"],
  ["limit after a report", limit, goesOn, "queued in 0 min", "attempt"],
  ["died after a report", died, waits, "waiting in 5 min", "attempt"],
  ["drained after a report", byDrain, goesOn, "queued in 0 min", "attempt"],
  ["drained after its last report", byDrain, isDone, "completed", "attempt"],
  ["stopped", byStop, null, "stopped", "no attempt"],
  ["stopped after a report", byStop, isDone, "stopped", "no attempt"],
  ["drained", byDrain, null, "queued in 0 min", "no attempt"],
  ["limit", limit, null, "queued in 1 min", "attempt"],
  ["refused", refused, null, "queued in 1 min", "attempt"],
  ["refused after a report", refused, isDone, "queued in 1 min", "attempt"],
  ["failed", broken, null, "queued in 1 min", "attempt"],
  ["failed after a report", broken, isDone, "queued in 1 min", "attempt"],
  ["failed in preparing", unprepared, null, "queued in 1 min", "attempt"],
  ["died, or lease lost", died, null, "queued in 1 min", "attempt"],
  ["transient", busy, null, "waiting in 1 min", "no attempt"],
  ["transient after a report", busy, goesOn, "waiting in 1 min", "no attempt"],
];

describe("the end of a turn (2.1)", () => {
  test.each(ends)("%s", (...[, end, report, next, attempt]) => {
    const settled = settle(inputWith({ turn: { end, report } }));
    expect(nextOf(settled)).toBe(next);
    expect(settled.counters.attempts).toBe(attempt === "attempt" ? 1 : 0);
    expect(settled.counters.turns).toBe(1);
  });

  test.each([
    ["limit", limit, "agent-failed"],
    ["refused", refused, "agent-failed"],
    ["failed", broken, "agent-failed"],
    ["failed in preparing", unprepared, "checkout-failed"],
    ["died", died, "agent-failed"],
  ] as const)(
    "%s: again after 1 and 5 minutes, blocked at the third in a row",
    (_, end, reason) => {
      const next = [0, 1, 2].map((failures) =>
        nextOf(
          settle(inputWith({ turn: { end }, mandate: { counters: { ...noCounters, failures } } })),
        ),
      );
      expect(next).toEqual(["queued in 1 min", "queued in 5 min", `blocked ${reason}`]);
    },
  );

  test.each([limit, refused, broken, unprepared, died, byDrain])(
    "what goes on after $kind keeps its next step and is told why",
    (end) => {
      const settled = settle(inputWith({ turn: { end } }));
      expect(settled.nextStep).toBe(mandate.nextStep);
      expect(settled.nextStepBy).toBe(mandate.nextStepBy);
      expect(settled.entry?.note).toMatch(/^the turn before/);
    },
  );

  test.each([
    ["a report ends the row", { kind: "completed" }, goesOn, 0],
    ["a transient failure neither adds to it nor ends it", busy, null, 2],
    ["a restart neither adds to it nor ends it", byDrain, null, 2],
    ["another failure adds to it", broken, null, 3],
  ] as const)("failures in a row: %s", (...[, end, report, failures]) => {
    const counters = { ...noCounters, failures: 2 };
    const settled = settle(inputWith({ turn: { end, report }, mandate: { counters } }));
    expect(settled.counters.failures).toBe(failures);
  });

  test("a step that failed blocks at once, and so does one of which nobody knows the outcome", () => {
    const failed = settle(inputWith({ turn: { end: { kind: "step-failed", what: "exit 2" } } }));
    const cutOff = settle(inputWith({ turn: { end: { kind: "uncertain", what: "cut off" } } }));
    expect(nextOf(failed)).toBe("blocked agent-failed");
    expect(nextOf(cutOff)).toBe("blocked recovery-uncertain");
  });
});

describe("a transient failure (2.1)", () => {
  test("is tried again after 1 minute, doubled up to 30", () => {
    const waited = Array.from({ length: 7 }, (_, transientFailures) => {
      const counters = { ...noCounters, transientFailures };
      return nextOf(settle(inputWith({ turn: { end: busy }, mandate: { counters } })));
    });
    const minutes = [1, 2, 4, 8, 16, 30, 30];
    expect(waited).toEqual(minutes.map((count) => `waiting in ${count} min`));
  });

  test.each([
    ["when the other side says", now + 7 * minuteMs, now + 7 * minuteMs],
    ["at once where that has passed", now - minuteMs, now],
    ["at the mandate's deadline at the latest", now + 48 * hourMs, mandate.deadlineAt],
  ])("is tried again %s", (_, retryAt, dueAt) => {
    const settled = settle(inputWith({ turn: { end: { ...busy, retryAt } } }));
    expect(settled.wait).toMatchObject({ wait: { dueAt, deadlineAt: mandate.deadlineAt } });
  });

  test.each([true, false])(
    "keeps the deadline of the wait it interrupts, and is due within it (claimed: %s)",
    (isClaimed) => {
      const ends = { ...wait, deadlineAt: now + minuteMs / 2 };
      const settled = settle(inputWith({ turn: { end: busy }, wait: { wait: ends, isClaimed } }));
      expect(settled.wait).toMatchObject({
        wait: { dueAt: ends.deadlineAt, deadlineAt: ends.deadlineAt },
      });
    },
  );

  test("I6: frees no later wait from the deadline that binds it", () => {
    const binding = { subject: "", deadlineAt: now + 20 * minuteMs };
    const settled = settle(inputWith({ turn: { end: busy }, binding }));
    expect(settled.binding).toEqual(binding);
  });

  test.each([true, false])(
    "I6: nor does a second one in a row, over the host's own wait (claimed: %s)",
    (isClaimed) => {
      const binding = { subject: "", deadlineAt: now + 20 * minuteMs };
      const own = { ...wait, deadlineAt: mandate.deadlineAt };
      const settled = settle(
        inputWith({ turn: { end: busy }, binding, wait: { wait: own, isClaimed } }),
      );
      expect(settled.binding).toEqual(binding);
    },
  );

  test("a turn that ends otherwise starts the doubling anew", () => {
    const counters = { ...noCounters, transientFailures: 5 };
    const settled = settle(inputWith({ turn: { report: goesOn }, mandate: { counters } }));
    expect(settled.counters.transientFailures).toBe(0);
  });
});

const reports: readonly [string, Change, Partial<Settlement>][] = [
  [
    "continue: its next step is queued",
    { turn: { report: goesOn } },
    { status: "queued", nextStep: "write the entry", nextStepBy: "agent", notice: null },
  ],
  [
    "waiting with a wait: registered, its next step kept for the recheck",
    { turn: { report: waits } },
    { status: "waiting", nextStep: "look at the build", entry: null, notice: null },
  ],
  [
    "waiting without one: a person is asked and nothing is scheduled",
    { turn: { report: asks } },
    {
      status: "waiting",
      wait: { change: "end" },
      entry: null,
      notice: { kind: "question", reason: "which colour?" },
    },
  ],
  [
    "blocked: with the agent's reason",
    { turn: { report: gaveUp } },
    {
      status: "blocked",
      reason: "agent-blocked",
      notice: { kind: "blocked", what: "there is no changelog", wayOut: null },
    },
  ],
  [
    "completed: the result is told",
    { turn: { report: isDone } },
    { status: "completed", nextStep: "", notice: { kind: "result", summary: "wrote the entry" } },
  ],
  [
    "completed where policy publishes: told only when it is published",
    { turn: { report: isDone }, publishes: true },
    {
      status: "queued",
      entry: { kind: "publish", availableAt: now, note: "wrote the entry" },
      notice: null,
    },
  ],
  [
    "none: a person must say",
    { turn: { report: null } },
    {
      status: "blocked",
      reason: "agent-blocked",
      notice: { kind: "blocked", what: "it ended without saying how to go on", wayOut: null },
    },
  ],
  [
    "none beside an armed wait: the wait stands",
    { turn: { report: null }, wait: { wait, isClaimed: false } },
    { status: "waiting", wait: { change: "keep" }, entry: null, notice: null },
  ],
  [
    "none in a recheck: a person must say, the wait is used up",
    { turn: { report: null }, wait: { wait, isClaimed: true } },
    { status: "blocked", reason: "agent-blocked", wait: { change: "end" } },
  ],
];

describe("the report (2.2), without an assessor", () => {
  test.each(reports)("%s", (_, change, expected) => {
    expect(settle(inputWith(change))).toMatchObject(expected);
  });

  test("a wait out of bounds registers nothing and the next turn is told why", () => {
    const request = { ...wait, everyMs: 1_000, deadlineAt: now + hourMs };
    const report: Report = { kind: "waiting", reason: "soon", wait: request };
    const settled = settle(inputWith({ turn: { report } }));
    expect(settled).toMatchObject({ status: "queued", wait: { change: "keep" } });
    expect(settled.entry?.note).toContain("every is 1s");
  });

  test("a task's next step is the host's, not an agent's", () => {
    expect(settle(inputWith({ turn: { report: goesOn, isTask: true } })).nextStepBy).toBe("host");
    expect(settle(inputWith({ turn: { report: waits, isTask: true } })).nextStepBy).toBe("host");
  });
});

const besideArmed: readonly [string, Report, Settlement["wait"]["change"]][] = [
  ["continue leaves it", goesOn, "keep"],
  ["waiting replaces it", waits, "register"],
  ["a question ends it", asks, "end"],
  ["blocked ends it", gaveUp, "end"],
  ["completed ends it", isDone, "end"],
];

describe("a turn for another cause beside an armed wait (3.2)", () => {
  test.each(besideArmed)("%s", (_, report, change) => {
    const settled = settle(inputWith({ turn: { report }, wait: { wait, isClaimed: false } }));
    expect(settled.wait.change).toBe(change);
  });

  test("a recheck that goes on has used its registration up", () => {
    const settled = settle(
      inputWith({ turn: { report: goesOn }, wait: { wait, isClaimed: true } }),
    );
    expect(settled.wait.change).toBe("end");
  });

  test("a recheck that failed keeps the deadline for its next try", () => {
    const settled = settle(inputWith({ turn: { end: died }, wait: { wait, isClaimed: true } }));
    expect(settled).toMatchObject({ status: "queued", wait: { change: "keep" } });
  });
});

const withWords: readonly [string, Change][] = [
  ["completed", { turn: { report: isDone } }],
  ["completed, to be published", { turn: { report: isDone }, publishes: true }],
  ["blocked", { turn: { report: gaveUp } }],
  ["no report", { turn: { report: null } }],
  [
    "three failures",
    { turn: { end: died }, mandate: { counters: { ...noCounters, failures: 2 } } },
  ],
];

describe("while a person's input is queued (1.3)", () => {
  test.each(withWords)("%s leaves it to the person's word", (_, change) => {
    const settled = settle(inputWith({ ...change, hasPersonInput: true }));
    expect(settled).toMatchObject({ status: "queued", entry: null, notice: null, reason: null });
  });

  test.each([
    ["the deadline", { mandate: { deadlineAt: now } }, "deadline-passed"],
    ["the allowance", { mandate: { counters: { ...noCounters, attempts: 19 } } }, "stalled"],
  ] as const)("%s ends it all the same", (_, change, reason) => {
    const settled = settle(
      inputWith({ ...change, turn: { report: goesOn }, hasPersonInput: true }),
    );
    expect(settled).toMatchObject({ status: "blocked", reason });
  });
});

const expiredWait = { ...wait, deadlineAt: now };

const expiries: readonly [string, Change, string, string | null][] = [
  [
    "the mandate's deadline, to the millisecond",
    { mandate: { deadlineAt: now }, turn: { report: goesOn } },
    "blocked deadline-passed",
    "extend",
  ],
  [
    "not one millisecond before it",
    { mandate: { deadlineAt: now + 1 }, turn: { report: goesOn } },
    "queued in 0 min",
    null,
  ],
  [
    "a turn cancelled by the deadline",
    { mandate: { deadlineAt: now }, turn: { end: byDeadline, report: goesOn } },
    "blocked deadline-passed",
    "extend",
  ],
  [
    "a completed report already made still counts",
    { mandate: { deadlineAt: now }, turn: { end: byDeadline, report: isDone } },
    "completed",
    null,
  ],
  [
    "a transient failure at the deadline",
    { mandate: { deadlineAt: now }, turn: { end: busy } },
    "blocked deadline-passed",
    "extend",
  ],
  [
    "the wait's deadline, where it would go on waiting",
    { wait: { wait: expiredWait, isClaimed: true }, turn: { report: waits } },
    "blocked deadline-passed",
    "continue",
  ],
  [
    "the wait's deadline in a turn that failed",
    { wait: { wait: expiredWait, isClaimed: true }, turn: { end: died } },
    "blocked deadline-passed",
    "continue",
  ],
  [
    "a recheck that found its condition at the wait's last moment goes on",
    { wait: { wait: expiredWait, isClaimed: true }, turn: { report: goesOn } },
    "queued in 0 min",
    null,
  ],
];

test.each(expiries)("the end of a wait (3.3): %s", (...[, change, next, wayOut]) => {
  const settled = settle(inputWith(change));
  expect(nextOf(settled)).toBe(next);
  if (wayOut !== null) expect(settled.notice).toMatchObject({ kind: "blocked", wayOut });
});

interface Lived {
  readonly turns: number;
  readonly last: Settlement;
  readonly history: readonly Evidence[];
}

/** Turns that go on and find this, until the mandate is blocked. */
function liveOn(found: (turn: number) => readonly Evidence[], from: Change = {}): Lived {
  let history = from.history ?? [];
  let counters = from.mandate?.counters ?? noCounters;
  for (let turns = 1; turns <= 1_000; turns += 1) {
    const last = settle(
      inputWith({
        ...from,
        history,
        mandate: { ...from.mandate, counters },
        turn: { report: goesOn, found: found(turns), ...from.turn },
      }),
    );
    ({ counters } = last);
    history = [...history, ...last.entered];
    if (last.status === "blocked") return { turns, last, history };
  }
  throw new Error("it never ended");
}

describe("stalls (2.4)", () => {
  test("20 attempts without new evidence block", () => {
    const { turns, last } = liveOn(() => []);
    expect(turns).toBe(20);
    expect(last).toMatchObject({ reason: "stalled", notice: { wayOut: "continue" } });
  });

  test("a poll that never changes ends after 21 turns, one with credit and 20 without", () => {
    expect(liveOn(() => [receipt("still running")]).turns).toBe(21);
  });

  test("polling through a registered wait ends after as many", () => {
    const turn = { report: waits };
    expect(liveOn(() => [receipt("still running")], { turn }).turns).toBe(21);
  });

  test("the fingerprint before the first turn is seen without credit", () => {
    const settled = settle(
      inputWith({
        turn: { report: goesOn, baseline: fingerprint("a"), found: [fingerprint("a")] },
      }),
    );
    expect(settled).toMatchObject({ entered: [fingerprint("a")], credited: [] });
    expect(settled.counters.attempts).toBe(1);
  });

  test("once the history is full nothing earns credit", () => {
    const full = Array.from({ length: historyLimit }, (_, at) => receipt(`${at}`));
    const { turns, history } = liveOn((turn) => [fingerprint(`${turn}`)], { history: full });
    expect([turns, history.length]).toEqual([20, historyLimit]);
  });

  test("after `continue` the allowance is whole again, and what was seen stays seen", () => {
    const first = liveOn(() => [receipt("still running")]);
    const counters = { ...first.last.counters, attempts: 0 };
    const again = liveOn(() => [receipt("still running")], {
      history: first.history,
      mandate: { counters },
    });
    expect(again.turns).toBe(20);
  });

  test("what a cut-off turn found is new evidence as well", () => {
    const counters = { ...noCounters, attempts: 19 };
    const drained = settle(
      inputWith({ turn: { end: byDrain, found: [fingerprint("b")] }, mandate: { counters } }),
    );
    expect(drained.credited).toEqual([fingerprint("b")]);
    expect(drained.counters.attempts).toBe(0);
  });

  test("a block that the agent or a step gives itself keeps its own reason at the limit", () => {
    const counters = { ...noCounters, attempts: 19 };
    const own = settle(inputWith({ turn: { report: gaveUp }, mandate: { counters } }));
    expect(own.reason).toBe("agent-blocked");
  });
});

const ceilings: readonly [string, Change, string][] = [
  ["turns below", { mandate: { ceilings: { ...mandate.ceilings, turns: 2 } } }, "queued in 0 min"],
  [
    "turns reached",
    { mandate: { ceilings: { ...mandate.ceilings, turns: 1 } } },
    "blocked budget-exhausted",
  ],
  [
    "tokens below",
    { mandate: { ceilings: { ...mandate.ceilings, tokens: 11 } } },
    "queued in 0 min",
  ],
  [
    "tokens reached",
    { mandate: { ceilings: { ...mandate.ceilings, tokens: 10 } } },
    "blocked budget-exhausted",
  ],
  ["cost below", { mandate: { ceilings: { ...mandate.ceilings, cost: 0.6 } } }, "queued in 0 min"],
  [
    "cost reached",
    { mandate: { ceilings: { ...mandate.ceilings, cost: 0.5 } } },
    "blocked budget-exhausted",
  ],
];

test.each(ceilings)("a ceiling (2.4): %s", (_, change, next) => {
  const spent = { report: goesOn, tokens: 10, cost: 0.5 };
  expect(nextOf(settle(inputWith({ ...change, turn: spent })))).toBe(next);
});

test("what is done is done, whatever is used up", () => {
  const counters = { ...noCounters, attempts: 19 };
  const change = { counters, ceilings: { ...mandate.ceilings, turns: 1 } };
  expect(settle(inputWith({ turn: { report: isDone }, mandate: change })).status).toBe("completed");
});
