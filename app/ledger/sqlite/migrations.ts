// Schema versions of the SQLite ledger (spec 7.5): each is applied once, at start, in one transaction.
// An older program refuses a newer schema instead of guessing at it.

import { readFileSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { Failure } from "../../../policies/failure.ts";

/** One file per version, in order; a released one is never edited. */
const versions = ["schema.sql", "schema-2.sql", "schema-3.sql"] as const;

export const schemaVersion = versions.length;

/** Brings the schema up to `schemaVersion`; throws Failure `schema-newer` where the ledger is ahead of the program. */
export function migrate(database: DatabaseSync): void {
  // Nothing is written where nothing changes: an up-to-date ledger can be read on a full disk.
  if (versionOf(database) === schemaVersion) return;
  database.exec("BEGIN IMMEDIATE");
  try {
    const current = versionOf(database);
    if (current > schemaVersion) {
      throw new Failure("schema-newer", "never", {
        message: `the ledger has schema ${current}, this program knows ${schemaVersion}`,
      });
    }
    for (const file of versions.slice(current)) {
      database.exec(readFileSync(new URL(file, import.meta.url), "utf8"));
    }
    database.exec(`PRAGMA user_version = ${schemaVersion}; COMMIT`);
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

function versionOf(database: DatabaseSync): number {
  return Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
}
