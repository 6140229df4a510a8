// The ledger port (spec 8.2): the one authoritative, transactional store. Every table module of this folder takes a
// `Sql` to read or a `Tx` to write; a `Tx` exists only inside `write`, so nothing changes outside a transaction (I3).
// No network call, child process or timer may be awaited inside a transaction.

/**
 * Reading access. Placeholders are `?`; JSON columns come back parsed, names in camelCase. Questions are asked one after
 * the other: what stands behind it may be a single connection, and what it is asked at once it refuses.
 */
export interface Sql {
  all<Row>(statement: string, ...values: SqlValue[]): Promise<Row[]>;
  first<Row>(statement: string, ...values: SqlValue[]): Promise<Row | undefined>;
}

export type SqlValue = string | number | Uint8Array | null;

declare const transaction: unique symbol;

/** Writing access inside one transaction; `now` is the ledger's clock, one instant for the whole transaction (D8). */
export interface Tx extends Sql {
  readonly [transaction]: true;
  readonly now: number;
  /** Number of rows changed. */
  run(statement: string, ...values: SqlValue[]): Promise<number>;
}

export interface Ledger {
  /**
   * Runs `change` in a transaction and resolves only after it is durable. Several may share one commit; when one
   * throws only its own changes are undone. Rejects with Failure `persistence-unavailable` when nothing can be
   * written (disk full, read-only): then nothing of it happened, or, after a crash, all of it: repeat with the same key.
   */
  write<T>(change: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * As `write`, for a change that looks at nothing else: a row added once, or one compared and set. It may be committed
   * beside the transactions of others and waits for none of them, so a crowd of writers delays no webhook and no lease.
   */
  append<T>(change: (tx: Tx) => Promise<T>): Promise<T>;
  read<T>(question: (sql: Sql) => Promise<T>): Promise<T>;
  /** The clock that due times and leases are judged by, epoch ms. */
  now(): number;
  /** Changes whenever anyone, in this process or another, has committed. Cheap enough to poll. */
  revision(): number;
  close(): Promise<void>;
}
