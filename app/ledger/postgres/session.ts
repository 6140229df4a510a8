// Connections to PostgreSQL: how each is set up, which errors are the server's or the network's fault, and one that is
// opened again when it broke. The only file that makes connections.

import { Client, DatabaseError, Pool, types, type ClientConfig } from "pg";
import { Failure } from "../../../policies/failure.ts";
import { namespace } from "./migrations.ts";

const connectMsLimit = 10_000;
/** A statement that has no answer by then has lost its server. */
const answerMsLimit = 60_000;

/**
 * For every session: a process that stands still in a transaction loses it, so that it holds up nobody for longer, and
 * who waits for the writer's lock gives up later than that.
 */
const setUp = `SET search_path = ${namespace}; SET idle_in_transaction_session_timeout = '8s'; SET lock_timeout = '20s'`;

/** Instants are far below 2^53, and truth values come as SQLite gives them. */
const parsers: ClientConfig["types"] = {
  getTypeParser: (oid, format) => {
    if (oid === types.builtins.INT8 || oid === types.builtins.NUMERIC) return Number;
    if (oid === types.builtins.BOOL) return (text: string) => (text === "t" ? 1 : 0);
    return types.getTypeParser(oid, format) as (text: string) => unknown;
  },
};

function configOf(url: string): ClientConfig {
  return {
    connectionString: url,
    application_name: "holdfast",
    connectionTimeoutMillis: connectMsLimit,
    query_timeout: answerMsLimit,
    keepAlive: true,
    types: parsers,
  };
}

/** Throws what pg throws. */
export async function connect(url: string): Promise<Client> {
  const client = new Client(configOf(url));
  // Without a listener a connection that breaks would end the process; whoever uses it next is told by the query.
  client.on("error", () => {});
  await client.connect();
  await client.query(setUp);
  return client;
}

/** For reading: a few connections, made when they are needed. */
export function openPool(url: string, size: number): Pool {
  const pool = new Pool({ ...configOf(url), max: size });
  // Queued before whatever the connection was made for; one that breaks here breaks there too.
  pool.on("connect", (client) => void client.query(setUp).catch(() => {}));
  pool.on("error", () => {});
  return pool;
}

/** One connection that is made again when it is needed after it broke. */
export class Session {
  readonly #url: string;
  #client: Client | null = null;

  constructor(url: string) {
    this.#url = url;
  }

  async client(): Promise<Client> {
    if (this.#client !== null) return this.#client;
    const client = await connect(this.#url);
    client.once("end", () => this.#forget(client));
    this.#client = client;
    return client;
  }

  /** The connection is in an unknown state: the next use makes a new one. */
  drop(): void {
    const client = this.#client;
    if (client === null) return;
    this.#forget(client);
    client.end().catch(() => {});
  }

  async close(): Promise<void> {
    await this.#client?.end();
  }

  #forget(client: Client): void {
    if (this.#client === client) this.#client = null;
  }
}

/** SQLSTATE classes that are not the statement's fault: connection, resources, operator's intervention, system. */
const unavailableClasses = ["08", "53", "57", "58"];
/** Read-only, idle for too long, no lock in time, not to be serialized, deadlock. */
const unavailableStates = ["25006", "25P03", "55P03", "40001", "40P01"];

/** True when the server or the way to it failed: nobody knows of such a connection what it is worth. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (!(error instanceof DatabaseError)) return isFromPg(error);
  const state = error.code ?? "";
  return unavailableClasses.includes(state.slice(0, 2)) || unavailableStates.includes(state);
}

/** pg tells broken connections by plain errors: those of the socket carry a code, its own only words. */
function isFromPg(error: Error): boolean {
  const code = "code" in error ? String(error.code) : "";
  return (
    /^E[A-Z]+$/.test(code) ||
    /^(?:Connection terminated|Query read timeout|timeout expired|timeout exceeded|Client has encountered a connection error|Client was closed)/.test(
      error.message,
    )
  );
}

export function failureOf(error: unknown): unknown {
  if (!isUnavailable(error)) return error;
  return new Failure("persistence-unavailable", "later", {
    message: "the ledger's PostgreSQL does not answer or cannot write",
    cause: error,
  });
}
