// The ledger on PostgreSQL (spec 8.2), for processes on many machines. One writer at a time, by a lock of the database:
// every transaction sees the ledger as on SQLite, alone, and what is proved there holds here. Group commit as there.

import { setImmediate, setTimeout } from "node:timers/promises";
import type { Client, Pool } from "pg";
import { Failure } from "../../../policies/failure.ts";
import { openClock } from "../../clock.ts";
import type { Ledger, Sql, SqlValue, Tx } from "../ledger.ts";
import { rowFrom, type Row } from "../rows.ts";
import { Groups, type Change, type Outcome } from "../store/groups.ts";
import { Bell, channel } from "./bell.ts";
import { statementFor } from "./dialect.ts";
import { migrate, writerLock } from "./migrations.ts";
import { connect, failureOf, isUnavailable, openPool, Session } from "./session.ts";

const readersLimit = 4;
/** How long it is asked whether a commit arrived whose answer did not. */
const doubtMsLimit = 30_000;
const doubtRetryMs = 500;

export interface PostgresOptions {
  /** `postgres://…`; never shown. */
  readonly url: string;
  /** How far the clock runs ahead of the server's: to rehearse what a deadline will do. */
  readonly aheadMs: number;
  /** A clock in place of the server's, for tests. */
  readonly now?: (() => number) | undefined;
}

/** Opens the ledger and brings its schema up to date. Throws Failure `schema-newer`, `persistence-unavailable`. */
export async function openPostgres(options: PostgresOptions): Promise<PostgresLedger> {
  try {
    const client = await connect(options.url);
    try {
      await migrate(client);
    } finally {
      await client.end();
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    const message = "the ledger's PostgreSQL cannot be opened";
    throw new Failure("persistence-unavailable", "later", { message, cause: error });
  }
  const ledger = new PostgresLedger(options);
  await ledger.begin();
  return ledger;
}

export class PostgresLedger implements Ledger {
  readonly #now: () => number;
  /** The server's clock less this machine's, learned anew at every transaction. */
  #aheadOfMachineMs = 0;
  readonly #alone: Session;
  readonly #beside: Session;
  readonly #writes: Groups;
  readonly #appends: Groups;
  readonly #pool: Pool;
  readonly #bell: Bell;
  readonly #url: string;

  constructor({ url, aheadMs, now }: PostgresOptions) {
    this.#url = url;
    this.#now = now ?? openClock(() => Date.now() + this.#aheadOfMachineMs, aheadMs);
    this.#alone = new Session(url);
    this.#beside = new Session(url);
    this.#writes = new Groups({
      gather: setImmediate,
      commit: (group) =>
        this.#commit(group, this.#alone, `SELECT pg_advisory_xact_lock(${writerLock});`),
    });
    this.#appends = new Groups({
      gather: setImmediate,
      commit: (group) => this.#commit(group, this.#beside, ""),
    });
    this.#pool = openPool(url, readersLimit);
    this.#bell = new Bell(url);
  }

  /** Knows the time, and hears of commits from now on. */
  async begin(): Promise<void> {
    await this.append(async () => {});
    await this.#bell.listen();
  }

  now(): number {
    return this.#now();
  }

  write<T>(change: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#writes.write(change);
  }

  append<T>(change: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#appends.write(change);
  }

  async read<T>(question: (sql: Sql) => Promise<T>): Promise<T> {
    let broken = false;
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw failureOf(error);
    });
    try {
      return await question(sqlOf(oneByOne(client)));
    } catch (error) {
      broken = isUnavailable(error);
      throw failureOf(error);
    } finally {
      client.release(broken);
    }
  }

  revision(): number {
    return this.#bell.revision();
  }

  async close(): Promise<void> {
    await Promise.all([this.#writes.idle(), this.#appends.idle()]);
    const parts = [this.#alone.close(), this.#beside.close(), this.#pool.end(), this.#bell.close()];
    await Promise.allSettled(parts);
  }

  async #commit(
    group: readonly Change["change"][],
    session: Session,
    first: string,
  ): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    let committing: string | null = null;
    try {
      const client = await session.client();
      const { id, tx } = await this.#begin(client, first);
      for (const change of group) outcomes.push(await runOne(client, change, tx));
      committing = id;
      await client.query(`NOTIFY ${channel}; COMMIT`);
      this.#bell.ring();
      return outcomes;
    } catch (error) {
      session.drop();
      if (committing !== null && (await this.#didCommit(committing))) return outcomes;
      throw failureOf(error);
    }
  }

  async #begin(client: Client, first: string): Promise<{ id: string; tx: Tx }> {
    const answers = (await client.query(
      `BEGIN; ${first} SELECT pg_current_xact_id()::text AS id,
         (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS at`,
    )) as unknown as { rows: { id: string; at: number }[] }[];
    const row = answers.at(-1)?.rows[0];
    if (row === undefined) throw new Error("PostgreSQL began no transaction");
    this.#aheadOfMachineMs = row.at - Date.now();
    return { id: row.id, tx: txOf(client, this.now()) };
  }

  /** The answer to a COMMIT got lost: the server still knows what became of it. */
  async #didCommit(transaction: string): Promise<boolean> {
    const until = Date.now() + doubtMsLimit;
    for (;;) {
      const status = await statusOf(this.#url, transaction).catch(() => "unknown");
      if (status === "committed" || status === "aborted") return status === "committed";
      if (Date.now() >= until) return false;
      await setTimeout(doubtRetryMs);
    }
  }
}

async function statusOf(url: string, transaction: string): Promise<string> {
  const client = await connect(url);
  try {
    const { rows } = await client.query<{ status: string | null }>(
      "SELECT pg_xact_status($1::xid8) AS status",
      [transaction],
    );
    return rows[0]?.status ?? "unknown";
  } finally {
    await client.end();
  }
}

async function runOne(client: Client, change: Change["change"], tx: Tx): Promise<Outcome> {
  await client.query("SAVEPOINT one");
  try {
    const value = await change(tx);
    await client.query("RELEASE one");
    return { value };
  } catch (error) {
    if (isUnavailable(error)) throw error;
    await client.query("ROLLBACK TO one; RELEASE one");
    return { error };
  }
}

type Asking = Pick<Client, "query">;

/** Statements by their text, so that the server plans each once per connection. */
const prepared = new Map<string, { name: string; text: string }>();

function ask(client: Asking, text: string, values: readonly SqlValue[]) {
  let statement = prepared.get(text);
  if (statement === undefined) {
    statement = { name: `s${prepared.size}`, text: statementFor(text) };
    prepared.set(text, statement);
  }
  return client.query<Row>({ ...statement, values: values.map(storable) });
}

/** PostgreSQL's text has no NUL; the replacement character shows that something was there. */
function storable(value: SqlValue): SqlValue {
  return typeof value === "string" && value.includes("\0")
    ? value.replaceAll("\0", "\uFFFD")
    : value;
}

type Ask = (text: string, values: readonly SqlValue[]) => ReturnType<typeof ask>;

/** What is asked beside an open question could run after the transaction that asked it. */
function oneByOne(client: Asking): Ask {
  let isAsking = false;
  return async (text, values) => {
    if (isAsking) throw new Error("a second question was asked before the first was answered");
    isAsking = true;
    try {
      return await ask(client, text, values);
    } finally {
      isAsking = false;
    }
  };
}

function sqlOf(asking: Ask): Sql {
  return {
    all: async <T>(text: string, ...values: SqlValue[]) =>
      (await asking(text, values)).rows.map((raw) => rowFrom(raw) as T),
    first: async <T>(text: string, ...values: SqlValue[]) => {
      const [raw] = (await asking(text, values)).rows;
      return raw === undefined ? undefined : (rowFrom(raw) as T);
    },
  };
}

function txOf(client: Asking, now: number): Tx {
  const asking = oneByOne(client);
  return {
    ...sqlOf(asking),
    now,
    run: async (text: string, ...values: SqlValue[]) => (await asking(text, values)).rowCount ?? 0,
  } as Tx;
}
