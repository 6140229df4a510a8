// What doctor reads about forges in the ledger (spec 6.2, 6.3), on a real one.

import { expect, test } from "vitest";
import type { RepositoryRow } from "../../../app/ledger/conversations.ts";
import { changeConnection } from "../../../app/ledger/incoming/connections.ts";
import { openSqlite } from "../../../app/ledger/sqlite/sqlite.ts";
import { connectionChecks, reachChecks } from "../../../app/setup/connection-checks.ts";
import { minuteMs } from "../../../policies/durations.ts";
import { startAt } from "../../fakes/ledger.ts";

test("a home without a forge has nothing to tell", async () => {
  const ledger = openSqlite({ file: ":memory:", now: () => startAt });
  const seen = await ledger.read((sql) => connectionChecks(sql, { now: startAt, isServed: true }));
  expect(seen).toEqual([]);
  await ledger.close();
});

test.each<{ name: string; sweptAt: number | null; isServed: boolean; status: string }>([
  { name: "swept a moment ago", sweptAt: startAt - minuteMs, isServed: true, status: "good" },
  {
    name: "not swept for long while it is served",
    sweptAt: startAt - 16 * minuteMs,
    isServed: true,
    status: "warning",
  },
  {
    name: "never swept while it is served",
    sweptAt: null,
    isServed: true,
    status: "warning",
  },
  {
    name: "not swept for long because nobody serves it",
    sweptAt: startAt - 16 * minuteMs,
    isServed: false,
    status: "good",
  },
])("a connection $name", async ({ sweptAt, isServed, status }) => {
  const ledger = openSqlite({ file: ":memory:", now: () => startAt });
  await ledger.write((tx) => changeConnection(tx, "github", { sweptAt, recovered: 3 }));
  const seen = await ledger.read((sql) => connectionChecks(sql, { now: startAt, isServed }));
  expect(seen).toMatchObject([{ check: "connection github", status }]);
  expect(seen[0]?.seen).toMatch(/^last delivery never, last sweep .+, 3 recovered$/);
  await ledger.close();
});

const row: RepositoryRow = {
  id: "r",
  connection: "github",
  forgeId: "1",
  name: "acme/tool",
  source: "https://github.example/acme/tool.git",
  defaultBranch: "main",
  policy: null,
  policyCommit: null,
  problems: null,
  account: "9",
  reach: "open",
  textsReadTo: 0,
};

test.each([
  ["open", "good", "reached through installation 9"],
  ["suspended", "warning", "its installation is suspended"],
  ["gone", "warning", "it was deleted or taken away from the App"],
] as const)("a repository that is %s is %s", (reach, status, seen) => {
  expect(reachChecks({ ...row, reach })).toMatchObject([
    { check: "repository acme/tool", status, seen },
  ]);
});
