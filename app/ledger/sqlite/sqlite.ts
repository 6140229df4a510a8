// The ledger on SQLite through node:sqlite (spec 8.2): WAL, synchronous=FULL, one writer queue with group commit.
// Several transactions that wait at once become savepoints of one COMMIT; each is acknowledged only after it.

import { DatabaseSync, type StatementSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { Failure } from "../../../policies/failure.ts";
import type { Ledger, Sql, SqlValue, Tx } from "../ledger.ts";
import { rowFrom } from "../rows.ts";
import { Groups, type Change, type Outcome } from "../store/groups.ts";
import { migrate } from "./migrations.ts";

const busyTimeoutMs = 5_000;
/** SQLITE_BUSY, SQLITE_READONLY, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN: the disk's fault, not the statement's. */
const unwritable = new Set([5, 8, 10, 13, 14]);
/** SQLITE_CORRUPT, SQLITE_NOTADB. */
const damaged = new Set([11, 26]);

export interface SqliteOptions {
  /** File of the database; ":memory:" for a ledger that ends with its process. */
  file: string;
  now: () => number;
}

/**
 * Opens the ledger and brings its schema up to date. Throws Failure `schema-newer`, `ledger-damaged` for a file that is
 * no database, `persistence-unavailable` for one that cannot be opened or brought up to date.
 */
export function openSqlite(options: SqliteOptions): SqliteLedger {
  try {
    const database = openDatabase(options.file);
    migrate(database);
    return new SqliteLedger(database, options);
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    const isDamaged = damaged.has(codeOf(cause));
    throw new Failure(isDamaged ? "ledger-damaged" : "persistence-unavailable", "later", {
      message: `the ledger ${options.file} cannot be opened`,
      cause,
    });
  }
}

function openDatabase(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: busyTimeoutMs });
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;");
  // Written as PostgreSQL has them; nothing is asked of them that is null.
  database.function("least", { deterministic: true }, (a, b) => (Number(a) < Number(b) ? a : b));
  database.function("greatest", { deterministic: true }, (a, b) => (Number(a) > Number(b) ? a : b));
  return database;
}

export class SqliteLedger implements Ledger {
  readonly #writer: DatabaseSync;
  /** Sees only what is committed; the writer itself where the database has no second connection. */
  readonly #reader: DatabaseSync;
  readonly #options: SqliteOptions;
  readonly #statements = new Map<DatabaseSync, Map<string, StatementSync>>();
  readonly #writes: Groups;

  constructor(database: DatabaseSync, options: SqliteOptions) {
    this.#writer = database;
    this.#options = options;
    this.#reader = options.file === ":memory:" ? database : openDatabase(options.file);
    this.#writes = new Groups({
      gather: () => this.#gather(),
      commit: (group) => this.#commitGroup(group),
    });
  }

  now(): number {
    return this.#options.now();
  }

  write<T>(change: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#writes.write(change);
  }

  append<T>(change: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#writes.write(change);
  }

  async read<T>(question: (sql: Sql) => Promise<T>): Promise<T> {
    // Without a second connection a read must not see a half-done group: it takes its turn among the writes.
    if (this.#reader === this.#writer) return this.write(question);
    return question(this.#sql(this.#reader));
  }

  revision(): number {
    // Where reads take their turn among the writes they are commits too: only what changed a row counts.
    const isAlone = this.#reader === this.#writer;
    const question = isAlone ? "SELECT total_changes()" : "PRAGMA data_version";
    const [revision] = Object.values(this.#statement(this.#reader, question).get() ?? {});
    return Number(revision);
  }

  async close(): Promise<void> {
    await this.#writes.idle();
    if (this.#reader !== this.#writer) this.#reader.close();
    this.#writer.close();
  }

  /** Lets callers that are there by now share the next commit: on a disk also those of other sockets, for one sync. */
  async #gather(): Promise<void> {
    await (this.#reader === this.#writer ? Promise.resolve() : setImmediate());
  }

  async #commitGroup(group: readonly Change["change"][]): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    try {
      this.#writer.exec("BEGIN IMMEDIATE");
      for (const change of group) outcomes.push(await this.#runOne(change));
      this.#writer.exec("COMMIT");
      return outcomes;
    } catch (error) {
      if (this.#writer.isTransaction) this.#writer.exec("ROLLBACK");
      throw failureOf(error);
    }
  }

  async #runOne(change: Change["change"]): Promise<Outcome> {
    this.#writer.exec("SAVEPOINT one");
    try {
      const value = await change(this.#tx());
      this.#writer.exec("RELEASE one");
      return { value };
    } catch (error) {
      if (isUnwritable(error)) throw error;
      this.#writer.exec("ROLLBACK TO one; RELEASE one");
      return { error };
    }
  }

  #statement(database: DatabaseSync, text: string): StatementSync {
    const known = this.#statements.get(database) ?? new Map<string, StatementSync>();
    this.#statements.set(database, known);
    let statement = known.get(text);
    if (statement === undefined) {
      statement = database.prepare(text);
      known.set(text, statement);
    }
    return statement;
  }

  #sql(database: DatabaseSync): Sql {
    const all = async <T>(text: string, ...values: SqlValue[]): Promise<T[]> =>
      this.#statement(database, text)
        .all(...values)
        .map((raw) => rowFrom(raw) as T);
    return {
      all,
      first: async <T>(text: string, ...values: SqlValue[]) => {
        const raw = this.#statement(database, text).get(...values);
        return raw === undefined ? undefined : (rowFrom(raw) as T);
      },
    };
  }

  #tx(): Tx {
    const sql = this.#sql(this.#writer);
    return {
      ...sql,
      now: this.now(),
      run: async (text: string, ...values: SqlValue[]) =>
        Number(this.#statement(this.#writer, text).run(...values).changes),
    } as Tx;
  }
}

function isUnwritable(error: unknown): boolean {
  return unwritable.has(codeOf(error));
}

/** SQLite's primary result code; 0 for what it did not throw. */
function codeOf(error: unknown): number {
  return error instanceof Error && "errcode" in error ? Number(error.errcode) & 0xff : 0;
}

function failureOf(error: unknown): unknown {
  if (!isUnwritable(error)) return error;
  return new Failure("persistence-unavailable", "later", {
    message: "the ledger cannot be written",
    cause: error,
  });
}
