// Which ledger an address means (spec 7.2, DATABASE_URL): `file:…` one of this machine, any other one of PostgreSQL.

import { openClock } from "../../clock.ts";
import type { Ledger } from "../ledger.ts";
import { openSqlite } from "../sqlite/sqlite.ts";

export interface LedgerOptions {
  /** How far the clock runs ahead: to rehearse what a deadline will do. */
  readonly aheadMs?: number;
  /** A clock in place of the ledger's own, for tests. */
  readonly now?: () => number;
}

/** Opens the ledger and brings its schema up to date. Throws Failure as its adapters do. */
export async function openLedger(
  url: string,
  { aheadMs = 0, now }: LedgerOptions = {},
): Promise<Ledger> {
  if (!url.startsWith("file:")) {
    // Loaded only where it is used: it would delay every command of everybody else.
    const { openPostgres } = await import("../postgres/postgres.ts");
    return openPostgres({ url, aheadMs, now });
  }
  const file = url.slice("file:".length);
  return openSqlite({ file, now: now ?? openClock(Date.now, aheadMs) });
}
