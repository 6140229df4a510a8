// The ledger on PostgreSQL (spec 8.2): the port's contract on a real server, and what can happen to a server.
import { afterAll, beforeAll } from "vitest";
import type { Ledger } from "../../../app/ledger/ledger.ts";
import { openPostgres } from "../../../app/ledger/postgres/postgres.ts";
import { claimInProcesses, type LedgerHarness } from "../../contract/ledger-harness.ts";
import { describeLedger } from "../../contract/ledger.ts";
import { startAt } from "../../fakes/ledger.ts";
import { startPostgres, type PostgresServer } from "../../services/postgres.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 60_000);
afterAll(() => server.stop());

describeLedger("postgres", {
  isShared: true,
  make: async () => harnessOf(await server.createDatabase()),
});

async function harnessOf(url: string): Promise<LedgerHarness> {
  const clock = { at: startAt };
  function open(): Promise<Ledger> {
    return openPostgres({ url, aheadMs: 0, now: () => clock.at });
  }
  const ledger = await open();
  return {
    ledger,
    clock,
    fillDisk: () => setReadOnly(url, true),
    freeDisk: () => setReadOnly(url, false),
    shared: {
      openAgain: open,
      claimElsewhere: (workers, count) => claimInProcesses(url, workers, count),
    },
    close: () => ledger.close(),
  };
}

/** As a server that became a standby, or one without room for another page: what is there can be read. */
async function setReadOnly(url: string, isReadOnly: boolean): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  const word = isReadOnly ? "on" : "off";
  await server.run(`ALTER DATABASE ${name} SET default_transaction_read_only = ${word}`);
  // Sessions take it over when they begin.
  await server.run(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
  );
}
