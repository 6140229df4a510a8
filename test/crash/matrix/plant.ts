// Loaded into the product before anything else (`node --import`): ends the process with SIGKILL at a commit, or plants a
// mutant. It listens to what the drivers of both databases are asked; the product knows nothing of it.

import { DatabaseSync, StatementSync } from "node:sqlite";
import { Client } from "pg";
import type { Mutant } from "../../simulation/faults.ts";
import { commitKinds } from "./points.ts";

export interface Planted {
  readonly point?: {
    readonly kind: string;
    readonly when: "before" | "after";
    readonly hit: number;
  };
  readonly mutant?: Mutant;
}

const { point, mutant } = JSON.parse(process.env["HOLDFAST_PLANTED"] ?? "{}") as Planted;
let hits = 0;

/** What one connection has changed in the transaction that it is in, change by change. */
class Transaction {
  #changes: string[][] = [];
  #current: string[] = [];

  /** Statements without effect are no write. PostgreSQL is asked with numbers in the place of question marks. */
  see(text: string): void {
    this.#current.push(text.replaceAll(/\$\d+/g, "?"));
  }

  /** True when the process is to end before, or after, this is carried out. */
  control(text: string): boolean {
    if (text.startsWith("BEGIN")) this.#changes = [];
    if (text.startsWith("SAVEPOINT") || text.startsWith("ROLLBACK")) this.#current = [];
    if (text.startsWith("RELEASE")) this.#changes.push(this.#current);
    if (!/(?:^|; )COMMIT$/.test(text) || point === undefined) return false;
    const names = this.#changes.map(nameOfCommit);
    if (!names.includes(point.kind)) return false;
    hits += 1;
    return hits === point.hit;
  }
}

function nameOfCommit(statements: readonly string[]): string | undefined {
  const text = statements.join("\n");
  return commitKinds.find(([, pattern]) => pattern.test(text))?.[0];
}

function die(): void {
  process.kill(process.pid, "SIGKILL");
}

/** What a mutant answers in the database's place: nothing found, or one row changed that was not. */
function mutated(text: string, values: readonly unknown[]): { rows: number } | null {
  if (mutant === "unclaimed-outbox" && values.includes("sending")) return { rows: 1 };
  if (mutant !== "no-sweep") return null;
  const isLook = /FROM inbox WHERE state = 'claimed' AND lease_until/.test(text);
  return isLook || /UPDATE outbox SET state = 'unsure'/.test(text) ? { rows: 0 } : null;
}

function plantInSqlite(): void {
  const exec = Reflect.get(DatabaseSync.prototype, "exec");
  const run = Reflect.get(StatementSync.prototype, "run");
  const all = Reflect.get(StatementSync.prototype, "all");
  // A process writes over one connection.
  const transaction = new Transaction();
  DatabaseSync.prototype.exec = function seen(text: string) {
    const isEnd = transaction.control(text);
    if (isEnd && point?.when === "before") die();
    exec.call(this, text);
    if (isEnd) die();
  };
  StatementSync.prototype.run = function seen(this: StatementSync, ...values: never[]) {
    const changed = mutated(this.sourceSQL, values);
    if (changed !== null) return { changes: changed.rows, lastInsertRowid: 0 };
    const answer = Reflect.apply(run, this, values) as ReturnType<typeof run>;
    if (Number(answer.changes) > 0) transaction.see(this.sourceSQL);
    return answer;
  };
  StatementSync.prototype.all = function seen(this: StatementSync, ...values: never[]) {
    if (mutated(this.sourceSQL, values) !== null) return [];
    const rows = Reflect.apply(all, this, values) as ReturnType<typeof all>;
    if (rows.length > 0) transaction.see(this.sourceSQL);
    return rows;
  };
}

interface Asked {
  readonly text: string;
  readonly values?: readonly unknown[];
}

function plantInPostgres(): void {
  const transactions = new WeakMap<object, Transaction>();
  const query = Reflect.get(Client.prototype, "query");
  async function seen(
    this: Client,
    asked: string | Asked,
    ...rest: readonly unknown[]
  ): Promise<unknown> {
    const transaction = transactions.get(this) ?? new Transaction();
    transactions.set(this, transaction);
    const { text, values = [] } = typeof asked === "string" ? { text: asked } : asked;
    const changed = mutated(text, values);
    if (changed !== null) return { rows: [], rowCount: changed.rows };
    const isEnd = typeof asked === "string" && transaction.control(text);
    if (isEnd && point?.when === "before") die();
    const answer = (await Reflect.apply(query, this, [asked, ...rest])) as { rowCount: number };
    if (typeof asked !== "string" && answer.rowCount > 0) transaction.see(text);
    if (isEnd) die();
    return answer;
  }
  Reflect.set(Client.prototype, "query", seen);
}

/** GitHub shows no comments: whoever looks for what it wrote finds nothing. */
function forgetComments(): void {
  const real = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const isLook = /\/issues\/\d+\/comments\?/.test(url) && (init?.method ?? "GET") === "GET";
    if (!isLook) return real(input, init);
    return new Response("[]", { headers: { "content-type": "application/json" } });
  };
}

plantInSqlite();
plantInPostgres();
if (mutant === "no-read-back") forgetComments();
