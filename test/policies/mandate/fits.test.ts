// Which commands fit a mandate as it is, and the way out of every block (spec 1.4, 1.6).
import { describe, expect, test } from "vitest";
import type { Keyword } from "../../../policies/commands/commands.ts";
import { fits, fittingCommands, type FitFacts } from "../../../policies/mandate/fits.ts";
import type { Status } from "../../../policies/mandate/mandate.ts";
import { reasonCodes, reasons, type ReasonCode } from "../../../policies/reasons.ts";

const bare: FitFacts = {
  status: "queued",
  reason: null,
  wayOut: null,
  isTask: false,
  hasArmedWait: false,
  isExpired: false,
};

/** The command that a blocked notice names first; null where none helps: it goes on by itself. */
const ways: Readonly<Record<ReasonCode, Keyword | null>> = {
  "not-permitted": "continue",
  "authority-revoked": "continue",
  "deadline-passed": "extend",
  stalled: "continue",
  "depth-exhausted": "continue",
  "budget-exhausted": "extend",
  "agent-blocked": "reply",
  "agent-failed": "continue",
  "checkout-failed": "continue",
  "recovery-uncertain": "recover",
  "review-required": "rebut",
  "review-escalated": "rebut",
  "head-moved": "continue",
  "policy-invalid": "continue",
  "publish-refused": "continue",
  "hook-denied": "continue",
  "conversation-gone": "continue",
  paused: null,
  maintenance: null,
  "persistence-unavailable": null,
  "forge-unreachable": null,
};

describe("the way out of a block (1.6)", () => {
  test.each(reasonCodes)("%s", (reason) => {
    const fitting = fittingCommands({ ...bare, status: "blocked", reason });
    expect(fitting[0]).toBe(ways[reason] ?? "retry");
    expect(fitting).toEqual(expect.arrayContaining(["retry", "stop", "extend"]));
  });

  test("only `recover` leads out of an uncertain recovery", () => {
    const facts: FitFacts = { ...bare, status: "blocked", reason: "recovery-uncertain" };
    const others: readonly Keyword[] = ["continue", "reply", "check", "resume"];
    expect(others.filter((keyword) => fits(keyword, facts))).toEqual([]);
  });

  test("a wait's own deadline gives way to `continue`, the mandate's only to `extend`", () => {
    const facts: FitFacts = { ...bare, status: "blocked", reason: "deadline-passed" };
    expect(fits("continue", { ...facts, wayOut: "continue" })).toBe(true);
    expect(fits("continue", { ...facts, wayOut: "extend" })).toBe(false);
  });

  test.each(reasonCodes)("once the deadline has passed only `extend` helps: %s", (reason) => {
    const facts: FitFacts = { ...bare, status: "blocked", reason, isExpired: true };
    expect(fittingCommands(facts)).toEqual(["extend", "retry", "stop"]);
  });

  test("a task cannot be answered, it is continued", () => {
    const facts: FitFacts = { ...bare, status: "blocked", reason: "agent-blocked", isTask: true };
    expect(fits("reply", facts)).toBe(false);
    expect(fits("continue", facts)).toBe(true);
  });
});

const live = ["extend", "pause", "resume", "stop"] as const;

const rows: readonly [string, Status, Partial<FitFacts>, readonly Keyword[]][] = [
  ["queued", "queued", {}, ["reply", ...live]],
  ["running", "running", {}, ["reply", ...live]],
  ["being checked", "assessing", {}, ["reply", ...live]],
  ["waiting for a person", "waiting", {}, ["reply", ...live]],
  ["waiting with a wait", "waiting", { hasArmedWait: true }, ["check", "reply", ...live]],
  ["a task that waits", "waiting", { hasArmedWait: true, isTask: true }, ["check", ...live]],
  ["a task that runs", "running", { isTask: true }, [...live]],
  ["completed", "completed", {}, ["retry"]],
  ["stopped", "stopped", {}, ["retry"]],
];

test.each(rows)("what fits a mandate that is %s", (...[, status, facts, fitting]) => {
  expect(fittingCommands({ ...bare, ...facts, status })).toEqual(fitting);
});

test("I8: nothing but a new mandate follows one that has ended", () => {
  for (const reason of reasonCodes) {
    for (const status of ["completed", "stopped"] as const) {
      expect(fittingCommands({ ...bare, status, reason })).toEqual(["retry"]);
    }
  }
});

test("the table of ways out and this one speak of the same reasons", () => {
  const withoutCommand = reasonCodes.filter((reason) => reasons[reason].wayOut === "wait");
  expect(withoutCommand).toEqual(reasonCodes.filter((reason) => ways[reason] === null));
});
