// A ledger moved from a file to PostgreSQL (spec 7.1): every row of every table, in one transaction of the new ledger.

import { Failure } from "../../../policies/failure.ts";
import type { Ledger, Sql, Tx } from "../ledger.ts";
import { insertEach, type Row } from "../rows.ts";

const batchLimit = 500;
/** What is true of processes and lookups of the old ledger alone. */
const leftOut: ReadonlySet<string> = new Set(["duty", "process", "poll"]);

export interface Copied {
  readonly table: string;
  readonly rows: number;
}

/**
 * Copies `from`, which must be one of SQLite, to `to`, which must be an empty one of PostgreSQL; `finish` adds to the same
 * transaction. Throws Failure `ledger-not-empty`, and whatever the ledgers throw: then the new one is as it was.
 */
export async function copyLedger(
  { from, to }: { from: Ledger; to: Ledger },
  { finish, onTable }: { finish: (tx: Tx) => Promise<void>; onTable: (copied: Copied) => void },
): Promise<readonly Copied[]> {
  const tables = await from.read(tablesOf);
  return to.write(async (tx) => {
    const copied: Copied[] = [];
    for (const table of tables) {
      await refuseRows(tx, table);
      const rows = await copyTable(tx, from, table);
      copied.push({ table, rows });
      onTable({ table, rows });
    }
    await countOn(tx);
    await finish(tx);
    return copied;
  });
}

/** In the order they were made in: what others refer to comes first. */
async function tablesOf(sql: Sql): Promise<string[]> {
  const rows = await sql.all<{ name: string }>(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid",
  );
  return rows.map(({ name }) => name).filter((name) => !leftOut.has(name));
}

async function refuseRows(tx: Tx, table: string): Promise<void> {
  if ((await tx.first(`SELECT 1 AS one FROM ${table} LIMIT 1`)) === undefined) return;
  throw new Failure("ledger-not-empty", "never", {
    message: `the new ledger has rows in ${table}`,
  });
}

async function copyTable(tx: Tx, from: Ledger, table: string): Promise<number> {
  let count = 0;
  for (let last = 0; ;) {
    const batch = await from.read((sql) => batchOf(sql, table, last));
    const rows = batch.map(withoutPlace);
    const stored = await insertEach(tx, table, rows);
    if (stored !== rows.length)
      throw new Error(`${rows.length - stored} rows of ${table} are there twice`);
    count += stored;
    if (batch.length < batchLimit) return count;
    last = batch.at(-1)?.place ?? last;
  }
}

function withoutPlace(row: Row): Row {
  const { place, ...rest } = row;
  if (typeof place !== "number") throw new Error("a row of SQLite without a number");
  return rest;
}

function batchOf(sql: Sql, table: string, last: number): Promise<(Row & { place: number })[]> {
  return sql.all(
    `SELECT rowid AS place, t.* FROM ${table} t WHERE rowid > ? ORDER BY rowid LIMIT ${batchLimit}`,
    last,
  );
}

/** Rows came with their numbers; the next one gets the next. */
async function countOn(tx: Tx): Promise<void> {
  const counted = await tx.all<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.columns
     WHERE table_schema = current_schema() AND is_identity = 'YES' AND column_name = 'id'`,
  );
  for (const { name } of counted) {
    await tx.all(
      `SELECT setval(pg_get_serial_sequence(?, 'id'), GREATEST((SELECT MAX(id) FROM ${name}), 1),
         EXISTS (SELECT 1 FROM ${name}))`,
      name,
    );
  }
}
