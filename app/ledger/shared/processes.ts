// Processes that share a ledger (spec 3.6, 7.1): what only one of them does at a time, and who they are, for people to
// see. No turn depends on it: whose claim counts, its fence decides.

import { hourMs, minuteMs } from "../../../policies/durations.ts";
import type { Sql, Tx } from "../ledger.ts";

/** Takes a duty for `forMs`, or keeps it; false while another process has it. */
export async function takeDuty(
  tx: Tx,
  duty: { name: string; holder: string; forMs: number },
): Promise<boolean> {
  const count = await tx.run(
    `INSERT INTO duty (name, holder, until) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
     WHERE duty.until <= ? OR duty.holder = excluded.holder`,
    duty.name,
    duty.holder,
    tx.now + duty.forMs,
    tx.now,
  );
  return count > 0;
}

export interface ProcessRow {
  /** As claims name it. */
  readonly id: string;
  readonly kind: "server" | "worker";
  readonly version: string;
  /** Turns it runs at the same time. */
  readonly slots: number;
  readonly startedAt: number;
  readonly seenAt: number;
}

/** How long a process that is not seen any more is still shown. */
const shownMs = hourMs;
const missedMs = minuteMs;

/** It did not end in order, and nothing is seen of it any more: what it worked on is with others by now. */
export function isMissed({ seenAt }: Pick<ProcessRow, "seenAt">, now: number): boolean {
  return now - seenAt > missedMs;
}

/** A process says that it is there. */
export async function showProcess(
  tx: Tx,
  process: Pick<ProcessRow, "id" | "kind" | "version" | "slots">,
): Promise<void> {
  const { id, kind, version, slots } = process;
  await tx.run("DELETE FROM process WHERE seen_at < ?", tx.now - shownMs);
  await tx.run(
    `INSERT INTO process (id, kind, version, slots, started_at, seen_at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`,
    id,
    kind,
    version,
    slots,
    tx.now,
    tx.now,
  );
}

/** A process that ends in order is not missed. */
export async function forgetProcess(tx: Tx, id: string): Promise<void> {
  await tx.run("DELETE FROM process WHERE id = ?", id);
}

/** Of a ledger that only one process serves: those before it are gone, in order or not. */
export async function forgetProcesses(tx: Tx): Promise<void> {
  await tx.run("DELETE FROM process");
}

export function listProcesses(sql: Sql): Promise<ProcessRow[]> {
  return sql.all<ProcessRow>("SELECT * FROM process ORDER BY kind, id");
}
