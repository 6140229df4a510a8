// What the pump and the sweep ask of the ledger is found through indexes (spec 3.6): its cost must not grow with the
// mandates that wait or have ended. Asked of SQLite's own planner, statement by statement, as the product sends them.

import { join } from "node:path";
import { StatementSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { storeDelivery } from "../../../app/ledger/incoming/deliveries.ts";
import { comingEntries, comingWaits } from "../../../app/ledger/looks/hints.ts";
import { changeMandate } from "../../../app/ledger/mandates.ts";
import { touchStatus } from "../../../app/ledger/outbox.ts";
import { openSqlite } from "../../../app/ledger/sqlite/sqlite.ts";
import { armWait } from "../../../app/ledger/waits.ts";
import { EmbeddedDriver } from "../../../app/scheduler/embedded.ts";
import { pumpOnce } from "../../../app/scheduler/pump.ts";
import { sweep } from "../../../app/scheduler/sweep.ts";
import { openBareHost } from "../../fakes/host.ts";
import { aWait, plant, startAt } from "../../fakes/ledger.ts";
import { connection, openNetworkForge } from "../../fakes/network-forge.ts";
import { temporaryFolder } from "../../fakes/repository.ts";

/** Tables that grow with what ever happened; the others hold what there is of repositories, processes and holds. */
const growing =
  /^SCAN (?:mandate|conversation|anchor|inbox|turn|tool_call|wait|evidence|delivery|command|outbox|event|nudge|saved_state|[a-z])\b(?! USING)/;

/** Every statement that is prepared while this happens. */
async function statementsOf(happening: () => Promise<void>): Promise<Set<string>> {
  const seen = new Set<string>();
  for (const name of ["all", "get", "run"] as const) {
    const real = StatementSync.prototype[name];
    const spy = vi.spyOn(StatementSync.prototype, name).mockImplementation(function noted(
      this: StatementSync,
      ...values: unknown[]
    ) {
      seen.add(this.sourceSQL);
      return Reflect.apply(real, this, values) as never;
    });
    onTestFinished(() => spy.mockRestore());
  }
  await happening();
  vi.restoreAllMocks();
  return seen;
}

/** A host on a file with waits, one of them due, messages to send and a delivery to read. */
async function begin() {
  const file = join(temporaryFolder(), "ledger.sqlite");
  const clock = { at: startAt };
  const ledger = openSqlite({ file, now: () => clock.at });
  onTestFinished(() => ledger.close());
  const network = openNetworkForge();
  network.writeLimits = { perSecond: 1, perMinute: 80, perHour: 500 };
  const host = {
    ...openBareHost().host,
    ledger,
    forges: new Map([[connection, network.forge]]),
  };
  await ledger.write(async (tx) => {
    for (let number = 1; number <= 20; number += 1) {
      const { id, conversationId } = await plant(tx, { number, entry: null });
      await tx.run("UPDATE repository SET connection = ?, account = '55'", connection);
      await armWait(tx, { mandateId: id, turnId: null }, { ...aWait, dueAt: aWait.dueAt + number });
      await changeMandate(tx, id, { status: "waiting" });
      await touchStatus(tx, { id, conversationId }, 0);
    }
    await plant(tx, { number: 99 });
    await storeDelivery(tx, { connection, guid: "g", event: "x", body: "" });
  });
  return { clock, host };
}

test("nothing that is asked again and again reads a table that grows", async () => {
  const { clock, host } = await begin();
  const driver = new EmbeddedDriver({
    now: () => clock.at,
    revision: () => 1,
    pollMs: 1_000,
    tickMs: 1_000,
  });
  const seen = await statementsOf(async () => {
    for (let passes = 0; passes < 3; passes += 1) {
      clock.at = aWait.dueAt + passes * 10;
      await pumpOnce(host, driver, { slots: 0, perRepository: 2 });
      await sweep(host);
    }
    const asked = { until: clock.at, limit: 10 };
    await host.ledger.read((sql) => comingWaits(sql, asked));
    await host.ledger.read((sql) => comingEntries(sql, asked));
  });
  expect(seen.size).toBeGreaterThan(25);
  const scans: string[] = [];
  for (const text of seen) {
    if (!/^\s*(?:SELECT|UPDATE|DELETE)/.test(text)) continue;
    const values = Array.from({ length: (text.match(/\?/g) ?? []).length }, () => 1);
    const plan = await host.ledger.read((sql) =>
      sql.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`, ...values),
    );
    for (const { detail } of plan) if (growing.test(detail)) scans.push(`${detail}: ${text}`);
  }
  expect(scans).toEqual([]);
});
