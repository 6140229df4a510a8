// Evidence and stalls (spec 2.4): credit once (I9), the allowance, neutral turns, the cap of the history.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  countAttempt,
  credit,
  historyLimit,
  isStalled,
  type Evidence,
} from "../../../policies/evidence/stall.ts";

const fresh = { turns: 0, attempts: 0, neutralTurns: 0 };
const work = {
  isAttempt: true,
  credited: 0,
  usedWorkTools: true,
  neutral: false,
  thinkLimit: null,
};
const thought = { ...work, usedWorkTools: false, neutral: true };

const evidence: fc.Arbitrary<Evidence> = fc.record({
  kind: fc.constantFrom("fingerprint", "receipt", "milestone"),
  hash: fc.integer({ min: 0, max: 400 }).map(String),
});

function receipt(hash: string): Evidence {
  return { kind: "receipt", hash };
}

/** Turns of a mandate one after the other, as settle and the ledger do it; the last history and all credit. */
function live(turns: readonly (readonly Evidence[])[]): { history: Evidence[]; paid: Evidence[] } {
  const history: Evidence[] = [];
  const paid: Evidence[] = [];
  for (const found of turns) {
    // A restart in between: nothing but what is stored is known.
    const stored = JSON.parse(JSON.stringify(history)) as Evidence[];
    const { entered, credited } = credit(stored, found);
    history.push(...entered);
    paid.push(...credited);
  }
  return { history, paid };
}

function keys(list: readonly Evidence[]): string[] {
  return list.map(({ kind, hash }) => `${kind} ${hash}`);
}

describe("credit", () => {
  test("is given to what was never there and to nothing else", () => {
    const known = [receipt("a")];
    expect(credit(known, [receipt("a"), receipt("b"), receipt("b")])).toEqual({
      entered: [receipt("b")],
      credited: [receipt("b")],
    });
  });

  test("tells kinds apart", () => {
    const found: Evidence = { kind: "fingerprint", hash: "a" };
    expect(credit([receipt("a")], [found]).credited).toEqual([found]);
  });

  test("ends when the history is full, in the middle of a turn as well", () => {
    const full = Array.from({ length: historyLimit - 1 }, (_, at) => receipt(`${at}`));
    const { entered, credited } = credit(full, [receipt("x"), receipt("y")]);
    expect(entered).toEqual([receipt("x")]);
    expect(credited).toEqual([receipt("x")]);
    expect(credit([...full, ...entered], [receipt("y")])).toEqual({ entered: [], credited: [] });
  });

  test("I9: nothing earns credit twice, in any history, over restarts, never more than 256", () => {
    const turns = fc.array(fc.array(evidence, { maxLength: 3 }), { maxLength: 300 });
    fc.assert(
      fc.property(turns, (found) => {
        const { history, paid } = live(found);
        expect(new Set(keys(paid)).size).toBe(paid.length);
        expect(history.length).toBeLessThanOrEqual(historyLimit);
      }),
    );
  });

  test("I9: the same history gives the same credit", () => {
    const turns = fc.array(fc.array(evidence, { maxLength: 3 }), { maxLength: 50 });
    fc.assert(
      fc.property(turns, (found) => {
        expect(live(found)).toEqual(live(found));
      }),
    );
  });
});

const counted = [
  ["an attempt without credit uses one", work, { turns: 8, attempts: 6, neutralTurns: 2 }],
  ["credit starts anew", { ...work, credited: 1 }, { turns: 8, attempts: 0, neutralTurns: 0 }],
  [
    "a turn that is no attempt leaves the allowance",
    { ...work, isAttempt: false },
    { turns: 8, attempts: 5, neutralTurns: 2 },
  ],
  [
    "a neutral turn neither uses nor renews it",
    thought,
    { turns: 8, attempts: 5, neutralTurns: 3 },
  ],
  [
    "work tools make a turn count, whatever is said of it",
    { ...thought, usedWorkTools: true },
    { turns: 8, attempts: 6, neutralTurns: 2 },
  ],
  [
    "a neutral turn within the limit is free",
    { ...thought, thinkLimit: 3 },
    { turns: 8, attempts: 5, neutralTurns: 3 },
  ],
  [
    "a neutral turn beyond the limit counts",
    { ...thought, thinkLimit: 2 },
    { turns: 8, attempts: 6, neutralTurns: 3 },
  ],
  [
    "without free neutral turns each counts",
    { ...thought, thinkLimit: 0 },
    { turns: 8, attempts: 6, neutralTurns: 3 },
  ],
] as const;

describe("countAttempt", () => {
  test.each(counted)("%s", (_, turn, after) => {
    expect(countAttempt({ turns: 7, attempts: 5, neutralTurns: 2 }, turn)).toEqual(after);
  });

  test("a poll that never changes ends after 21 turns, one with credit and 20 without", () => {
    let history: Evidence[] = [];
    let counters = fresh;
    const credits: number[] = [];
    while (!isStalled(counters, 20) && counters.turns < 100) {
      const { entered, credited } = credit(history, [receipt("still running")]);
      history = [...history, ...entered];
      credits.push(credited.length);
      counters = countAttempt(counters, { ...work, credited: credited.length });
    }
    expect(credits).toEqual([1, ...Array.from({ length: 20 }, () => 0)]);
  });

  test("a poll that always changes ends when its history is full", () => {
    let history: Evidence[] = [];
    let counters = fresh;
    while (!isStalled(counters, 20) && counters.turns < 1_000) {
      const { entered, credited } = credit(history, [receipt(`${counters.turns}`)]);
      history = [...history, ...entered];
      counters = countAttempt(counters, { ...work, credited: credited.length });
    }
    expect(counters.turns).toBe(historyLimit + 20);
  });
});

test.each([
  [19, 20, false],
  [20, 20, true],
  [21, 20, true],
  [0, 1, false],
])("%i attempts of %i: stalled is %s", (attempts, limit, stalled) => {
  expect(isStalled({ attempts }, limit)).toBe(stalled);
});
