// Schema versions of the ledger (spec 7.5): each is applied once, at start, in one transaction.
// An older program refuses a newer schema instead of guessing at it.

import { readFileSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { Failure } from "../../../policies/failure.ts";

/** One file per version, in order; a released one is never edited. */
const versions = ["schema.sql", "schema-2.sql", "schema-3.sql"] as const;

export const schemaVersion = versions.length;

/** The files that lead on from a version. */
export function schemaVersions(from: number): string[] {
  return versions.slice(from).map((file) => readFileSync(new URL(file, import.meta.url), "utf8"));
}

/** Throws Failure `schema-newer` where the ledger is ahead of the program. */
export function checkVersion(current: number): void {
  if (current <= schemaVersion) return;
  throw new Failure("schema-newer", "never", {
    message: `the ledger has schema ${current}, this program knows ${schemaVersion}`,
  });
}

/** Brings the schema up to `schemaVersion`. Throws Failure `schema-newer`. */
export function migrate(database: DatabaseSync): void {
  // Nothing is written where nothing changes: an up-to-date ledger can be read on a full disk.
  if (versionOf(database) === schemaVersion) return;
  database.exec("BEGIN IMMEDIATE");
  try {
    const current = versionOf(database);
    checkVersion(current);
    for (const text of schemaVersions(current)) database.exec(text);
    database.exec(`PRAGMA user_version = ${schemaVersion}; COMMIT`);
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

function versionOf(database: DatabaseSync): number {
  return Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
}
