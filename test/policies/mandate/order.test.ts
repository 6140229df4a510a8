// The order of entries in one conversation (spec 1.3).
import { expect, test } from "vitest";
import { entryKinds, type EntryKind } from "../../../policies/mandate/mandate.ts";
import { isFromPerson, orderKey } from "../../../policies/mandate/order.ts";

interface Queued {
  readonly name: string;
  readonly kind: EntryKind;
  readonly addedAt: number;
  readonly lastRanAt: number;
}

function inOrder(entries: readonly Queued[]): string[] {
  return entries
    .map(({ name, kind, addedAt, lastRanAt }) => ({
      name,
      ...orderKey(kind, { now: addedAt, lastRanAt }),
    }))
    .toSorted((a, b) => a.rank - b.rank || a.orderAt - b.orderAt)
    .map(({ name }) => name);
}

test("people first, oldest first; then results of children, due rechecks, continuations", () => {
  const entries: readonly Queued[] = [
    { name: "continuation", kind: "continuation", addedAt: 1, lastRanAt: 1 },
    { name: "recheck", kind: "recheck", addedAt: 2, lastRanAt: 1 },
    { name: "child result", kind: "child-result", addedAt: 3, lastRanAt: 1 },
    { name: "publish", kind: "publish", addedAt: 4, lastRanAt: 1 },
    { name: "newer reply", kind: "reply", addedAt: 9, lastRanAt: 1 },
    { name: "older request", kind: "request", addedAt: 8, lastRanAt: 1 },
  ];
  expect(inOrder(entries)).toEqual([
    "older request",
    "newer reply",
    "publish",
    "child result",
    "recheck",
    "continuation",
  ]);
});

test("of continuations the mandate that least recently ran comes first, however new it is", () => {
  expect(
    inOrder([
      { name: "ran lately", kind: "continuation", addedAt: 1, lastRanAt: 20 },
      { name: "ran long ago", kind: "continuation", addedAt: 2, lastRanAt: 10 },
    ]),
  ).toEqual(["ran long ago", "ran lately"]);
});

test("what counts as a person's word", () => {
  expect(entryKinds.filter((kind) => isFromPerson(kind))).toEqual([
    "request",
    "reply",
    "continue",
    "recover",
  ]);
});
