// The ledger on SQLite through node:sqlite (spec 8.2): WAL, synchronous=FULL, one writer queue with group commit.
// Several transactions that wait at once become savepoints of one COMMIT; each is acknowledged only after it.

import { DatabaseSync, type StatementSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { Failure } from "../../../policies/failure.ts";
import type { Ledger, Sql, SqlValue, Tx } from "../ledger.ts";
import { rowFrom } from "../rows.ts";
import { migrate } from "./migrations.ts";

const groupLimit = 64;
const busyTimeoutMs = 5_000;
/** SQLITE_BUSY, SQLITE_READONLY, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN: the disk's fault, not the statement's. */
const unwritable = new Set([5, 8, 10, 13, 14]);
/** SQLITE_CORRUPT, SQLITE_NOTADB. */
const damaged = new Set([11, 26]);

interface Waiting {
  change: (tx: Tx) => Promise<unknown>;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

interface Outcome {
  waiting: Waiting;
  value?: unknown;
  error?: unknown;
  ok: boolean;
}

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
  return database;
}

export class SqliteLedger implements Ledger {
  readonly #writer: DatabaseSync;
  /** Sees only what is committed; the writer itself where the database has no second connection. */
  readonly #reader: DatabaseSync;
  readonly #options: SqliteOptions;
  readonly #statements = new Map<DatabaseSync, Map<string, StatementSync>>();
  #queue: Waiting[] = [];
  #draining: Promise<void> | null = null;

  constructor(database: DatabaseSync, options: SqliteOptions) {
    this.#writer = database;
    this.#options = options;
    this.#reader = options.file === ":memory:" ? database : openDatabase(options.file);
  }

  now(): number {
    return this.#options.now();
  }

  write<T>(change: (tx: Tx) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ change, resolve: resolve as (value: unknown) => void, reject });
      this.#draining ??= this.#drain();
    });
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
    await this.#draining;
    if (this.#reader !== this.#writer) this.#reader.close();
    this.#writer.close();
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#gather();
      const group = this.#queue.splice(0, groupLimit);
      await this.#commitGroup(group);
    }
    this.#draining = null;
  }

  /** Lets callers that are there by now share the next commit: on a disk also those of other sockets, for one sync. */
  async #gather(): Promise<void> {
    await (this.#reader === this.#writer ? Promise.resolve() : setImmediate());
  }

  async #commitGroup(group: Waiting[]): Promise<void> {
    const outcomes: Outcome[] = [];
    try {
      this.#writer.exec("BEGIN IMMEDIATE");
      for (const waiting of group) outcomes.push(await this.#runOne(waiting));
      this.#writer.exec("COMMIT");
    } catch (error) {
      if (this.#writer.isTransaction) this.#writer.exec("ROLLBACK");
      const failure = failureOf(error);
      for (const waiting of group) waiting.reject(failure);
      return;
    }
    for (const { waiting, ok, value, error } of outcomes) {
      if (ok) waiting.resolve(value);
      else waiting.reject(error);
    }
  }

  async #runOne(waiting: Waiting): Promise<Outcome> {
    this.#writer.exec("SAVEPOINT one");
    try {
      const value = await waiting.change(this.#tx());
      this.#writer.exec("RELEASE one");
      return { waiting, ok: true, value };
    } catch (error) {
      if (isUnwritable(error)) throw error;
      this.#writer.exec("ROLLBACK TO one; RELEASE one");
      return { waiting, ok: false, error };
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
