// The closed list of reason codes (spec 1.6): complete, each with a sentence and its way out.
import { expect, test } from "vitest";
import { reasonCodes, reasons, type ReasonCode, type WayOut } from "../../policies/reasons.ts";

const wanted: Readonly<Record<WayOut, readonly ReasonCode[]>> = {
  reply: ["agent-blocked"],
  extend: ["deadline-passed", "budget-exhausted"],
  recover: ["recovery-uncertain"],
  rebut: ["review-required", "review-escalated"],
  "mend-policy": ["policy-invalid"],
  continue: [
    "not-permitted",
    "authority-revoked",
    "stalled",
    "depth-exhausted",
    "agent-failed",
    "checkout-failed",
    "head-moved",
    "publish-refused",
    "hook-denied",
    "conversation-gone",
  ],
  wait: ["paused", "maintenance", "persistence-unavailable", "forge-unreachable"],
};

test("the list is the specification's, and each reason has its way out", () => {
  const found = Map.groupBy(reasonCodes, (code) => reasons[code].wayOut);
  expect(Object.fromEntries(found)).toEqual(wanted);
});

test.each(reasonCodes)("%s is one plain sentence of its own", (code) => {
  const { sentence } = reasons[code];
  expect(sentence).toMatch(/^[a-z][^\n]{10,100}[^.\s]$/);
  expect(reasonCodes.filter((other) => reasons[other].sentence === sentence)).toEqual([code]);
});

test("no sentence counts attempts: a task's failed step and a refused file block at the first", () => {
  const sentences = reasonCodes.map((code) => reasons[code].sentence);
  expect(sentences.filter((sentence) => /\b(?:twice|times)\b/.test(sentence))).toEqual([]);
});
