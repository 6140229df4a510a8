// What doctor tells of the processes that share a ledger (spec 3.6, 7.1).

import { expect, test } from "vitest";
import type { ProcessRow } from "../../../app/ledger/shared/processes.ts";
import { isServedBy, processChecks } from "../../../app/setup/process-checks.ts";
import { minuteMs, secondMs } from "../../../policies/durations.ts";
import { startAt } from "../../fakes/ledger.ts";

const row: ProcessRow = {
  id: "shed-9-beef",
  kind: "worker",
  version: "0.1.0",
  slots: 2,
  startedAt: startAt - minuteMs,
  seenAt: startAt,
};

test("each is named with its version, its turns and when it was last seen", () => {
  expect(processChecks([row], startAt)).toEqual([
    {
      check: "worker shed-9-beef",
      status: "good",
      seen: "version 0.1.0, 2 turns at a time, last seen 2026-12-01T09:00:00Z",
      help: null,
    },
  ]);
});

test("one that was not seen for more than a minute is missed", () => {
  const [seen] = processChecks([row], startAt + minuteMs);
  expect(seen).toMatchObject({ status: "good" });
  const [missed] = processChecks([row], startAt + minuteMs + secondMs);
  expect(missed).toMatchObject({ status: "warning" });
});

test.each([
  { name: "nobody", rows: [], isServed: false },
  { name: "workers alone", rows: [row], isServed: false },
  { name: "a server", rows: [row, { ...row, kind: "server" } as const], isServed: true },
  {
    name: "a server that is missed",
    rows: [{ ...row, kind: "server", seenAt: startAt - 2 * minuteMs } as const],
    isServed: false,
  },
])("$name: served $isServed", ({ rows, isServed }) => {
  expect(isServedBy(rows, startAt)).toBe(isServed);
});
