// Schema versions of the PostgreSQL ledger (spec 7.5): the same files as SQLite's, each applied once, in one transaction.

import type { Client } from "pg";
import { checkVersion, schemaVersion, schemaVersions } from "../sqlite/migrations.ts";
import { schemaFor } from "./dialect.ts";

/** Where everything of ours is, so that a database can be shared with others. */
export const namespace = "holdfast";

/** Of the transaction-level advisory lock that makes one writer at a time; a number like any other, of ours alone. */
export const writerLock = 4_066_513_207;

/** Brings the schema up to date, one process at a time. Throws Failure `schema-newer`. */
export async function migrate(client: Client): Promise<void> {
  await client.query(`BEGIN; SELECT pg_advisory_xact_lock(${writerLock});
    CREATE SCHEMA IF NOT EXISTS ${namespace};
    CREATE TABLE IF NOT EXISTS ${namespace}.schema_version (version BIGINT NOT NULL)`);
  try {
    const { rows } = await client.query<{ version: number }>("SELECT version FROM schema_version");
    const current = rows[0]?.version ?? 0;
    checkVersion(current);
    for (const text of schemaVersions(current)) await client.query(schemaFor(text));
    if (current < schemaVersion) {
      await client.query("DELETE FROM schema_version");
      await client.query("INSERT INTO schema_version (version) VALUES ($1)", [schemaVersion]);
    }
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  }
}
