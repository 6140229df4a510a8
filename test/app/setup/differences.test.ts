// How an App may differ from app.yml (spec 6.6): one row for each case.

import { expect, test } from "vitest";
import { eventDifferences, permissionDifferences } from "../../../app/setup/differences.ts";

const wish = {
  permissions: [
    { name: "issues", access: "write", reason: "" },
    { name: "statuses", access: "read", reason: "" },
  ],
  events: [
    { name: "issues", reason: "" },
    { name: "push", reason: "" },
  ],
} as const;

test.each([
  ["the same", { issues: "write", statuses: "read" }, [], []],
  ["one is not there", { issues: "write" }, ["statuses: read"], []],
  ["one says none", { issues: "write", statuses: "none" }, ["statuses: read"], []],
  ["one is too low", { issues: "read", statuses: "read" }, ["issues: write (it has read)"], []],
  [
    "one is too high",
    { issues: "write", statuses: "write" },
    [],
    ["statuses: write (read is enough)"],
  ],
  [
    "one is not needed",
    { issues: "write", statuses: "read", administration: "write" },
    [],
    ["administration: write"],
  ],
  [
    "a level that nobody knows",
    { issues: "everything", statuses: "read" },
    [],
    ["issues: everything (write is enough)"],
  ],
  ["none at all", {}, ["issues: write", "statuses: read"], []],
])("permissions: %s", (_case, seen, ...[missing, superfluous]) => {
  expect(permissionDifferences(wish, seen)).toEqual({ missing, superfluous });
});

test.each([
  ["the same in another order", ["push", "issues"], [], []],
  ["one is not there", ["issues"], ["push"], []],
  ["one is not needed", ["issues", "push", "star"], [], ["star"]],
  ["what comes unasked is neither", ["issues", "push", "installation"], [], []],
])("events: %s", (_case, seen, ...[missing, superfluous]) => {
  expect(eventDifferences(wish, seen)).toEqual({ missing, superfluous });
});
