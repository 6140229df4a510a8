// Invariants over random lives of a mandate (spec 8.3, 8.4): I1, I6, I8, I9, and that a decision is a function.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { historyLimit } from "../../policies/evidence/stall.ts";
import { missingMover } from "../../policies/mandate/look.ts";
import { isTerminal } from "../../policies/mandate/mandate.ts";
import { settle } from "../../policies/mandate/settle.ts";
import { factsOf, happenings, live, type Settled, type Told } from "./mandate/lives.ts";

function expectInEveryLife(check: (told: readonly Told[]) => void): void {
  fc.assert(
    fc.property(happenings, fc.boolean(), (all, publishes) => check(live(all, publishes))),
    { numRuns: 500 },
  );
}

function settledIn(told: readonly Told[]): Settled[] {
  return told.filter((one) => one.kind === "settled");
}

const states = ["queued", "waiting", "blocked", "completed", "stopped"];
const reasons = ["agent-blocked", "agent-failed", "deadline-passed", "recovery-uncertain"];
const everything = [...states, ...reasons, "wait keep", "wait end", "wait register", "again"];

test("random lives bring every state and every kind of wait change about", () => {
  const seen = new Set<string>();
  expectInEveryLife((told) => {
    for (const { settlement, input } of settledIn(told)) {
      seen.add(settlement.status).add(`wait ${settlement.wait.change}`);
      if (settlement.reason !== null) seen.add(settlement.reason);
      if (input.binding !== null && settlement.wait.change === "register") seen.add("again");
    }
  });
  expect([...seen]).toEqual(expect.arrayContaining(everything));
});

test("I1: after any settlement a mandate has a mover, or is blocked with a notice, or has ended", () => {
  expectInEveryLife((told) => {
    for (const { after, settlement } of settledIn(told)) {
      expect(missingMover(factsOf(after))).toBeNull();
      if (settlement.status === "blocked") expect(settlement.notice?.kind).toBe("blocked");
    }
  });
});

test("I6: no settlement speaks of the mandate's deadline, and no wait outlives it", () => {
  expectInEveryLife((told) => {
    for (const { after, settlement, before } of settledIn(told)) {
      expect(settlement).not.toHaveProperty("deadlineAt");
      expect(after.mandate.deadlineAt).toBe(before.mandate.deadlineAt);
      if (after.wait === null) continue;
      expect(after.wait.wait.deadlineAt).toBeLessThanOrEqual(after.mandate.deadlineAt);
      expect(after.wait.wait.dueAt).toBeLessThanOrEqual(after.wait.wait.deadlineAt);
    }
  });
});

test("I6: an agent's waits never end later than the first one, until evidence or a person comes", () => {
  expectInEveryLife((told) => {
    let bound = Infinity;
    for (const one of told) {
      if (one.kind === "continued") {
        bound = Infinity;
        continue;
      }
      const { settlement, input, before } = one;
      const hasProgress = settlement.credited.length > 0;
      if (hasProgress && before.wait?.isClaimed !== true) bound = Infinity;
      const isAsked = settlement.wait.change === "register" && input.turn.end.kind !== "transient";
      if (isAsked && settlement.wait.change === "register") {
        expect(settlement.wait.wait.deadlineAt).toBeLessThanOrEqual(bound);
        bound = settlement.wait.wait.deadlineAt;
      } else if (hasProgress) bound = Infinity;
    }
  });
});

test("I8: what has ended has nothing left that could start it again", () => {
  expectInEveryLife((told) => {
    for (const { settlement } of settledIn(told)) {
      if (!isTerminal(settlement.status)) continue;
      expect(settlement).toMatchObject({ entry: null, wait: { change: "end" }, reason: null });
    }
  });
});

test("I9: no evidence earns credit twice in a life, whatever happens in between", () => {
  expectInEveryLife((told) => {
    const settled = settledIn(told);
    const credited = settled.flatMap(({ settlement }) =>
      settlement.credited.map(({ kind, hash }) => `${kind} ${hash}`),
    );
    expect(new Set(credited).size).toBe(credited.length);
    for (const { settlement, input, after } of settled) {
      expect(after.history.length).toBeLessThanOrEqual(historyLimit);
      const brought = settlement.credited.length;
      if (brought > 0) expect(settlement.counters.attempts).toBe(0);
      else {
        const attempts = settlement.counters.attempts - input.mandate.counters.attempts;
        expect([0, 1]).toContain(attempts);
      }
    }
  });
});

test("1.3: no report completes or blocks a mandate while a person's word is queued", () => {
  expectInEveryLife((told) => {
    for (const { settlement, input } of settledIn(told)) {
      if (!input.hasPersonInput) continue;
      expect(settlement.status).not.toBe("completed");
      const byLimit = ["deadline-passed", "stalled", "budget-exhausted"];
      if (settlement.status === "blocked") expect(byLimit).toContain(settlement.reason);
    }
  });
});

test("2.4: no life goes on for more than the stall limit without new evidence", () => {
  expectInEveryLife((told) => {
    for (const { settlement, input } of settledIn(told)) {
      if (settlement.counters.attempts < input.mandate.ceilings.stallLimit) continue;
      expect(["blocked", "completed", "stopped"]).toContain(settlement.status);
    }
  });
});

test("the same turn always settles the same way, and changes nothing that it was given", () => {
  expectInEveryLife((told) => {
    for (const { input, settlement } of settledIn(told)) {
      const given = structuredClone(input);
      expect(settle(input)).toEqual(settlement);
      expect(input).toEqual(given);
    }
  });
});
