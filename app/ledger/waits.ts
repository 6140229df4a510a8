// Waits in the ledger (spec 3.1, 3.2): one live wait per mandate, claimed once, its deadline never moved (I6).

import type { Signal } from "../../policies/mandate/mandate.ts";
import type { Wait } from "../../policies/mandate/waits.ts";
import type { Sql, Tx } from "./ledger.ts";
import { refreshLook } from "./mandates.ts";
import { insert, marksFor, portions } from "./rows.ts";

export interface WaitRow extends Wait {
  readonly id: number;
  readonly mandateId: string;
  readonly turnId: number | null;
  readonly state: "armed" | "claimed" | "ended";
  readonly signals: readonly Signal[];
  readonly createdAt: number;
  readonly endedAt: number | null;
}

export function liveWait(sql: Sql, mandateId: string): Promise<WaitRow | undefined> {
  return sql.first<WaitRow>(
    "SELECT * FROM wait WHERE mandate_id = ? AND state <> 'ended'",
    mandateId,
  );
}

export function waitsOf(sql: Sql, mandateId: string): Promise<WaitRow[]> {
  return sql.all<WaitRow>("SELECT * FROM wait WHERE mandate_id = ? ORDER BY id", mandateId);
}

/** Registers a wait in place of whatever was live before. */
export async function armWait(
  tx: Tx,
  owner: { mandateId: string; turnId: number | null },
  wait: Wait,
): Promise<void> {
  await endWait(tx, owner.mandateId);
  const { reason, nextStep, everyMs, dueAt, deadlineAt, signals, subject } = wait;
  await insert(tx, "wait", {
    ...owner,
    reason,
    nextStep,
    everyMs,
    dueAt,
    deadlineAt,
    signals,
    subject,
    createdAt: tx.now,
  });
  await refreshLook(tx, owner.mandateId);
}

/** Claims the one recheck of each registration; gives those that exactly this caller has claimed. */
export async function claimWaits(tx: Tx, ids: readonly number[]): Promise<Set<number>> {
  const claimed = new Set<number>();
  for (const portion of portions(ids)) {
    const rows = await tx.all<{ id: number }>(
      `UPDATE wait SET state = 'claimed' WHERE state = 'armed' AND id IN (${marksFor(portion)}) RETURNING id`,
      ...portion,
    );
    for (const { id } of rows) claimed.add(id);
  }
  return claimed;
}

/** Brings an armed wait's due time forward, by default to now; false when there is none. */
export async function bringForward(tx: Tx, mandateId: string, at = tx.now): Promise<boolean> {
  const count = await tx.run(
    "UPDATE wait SET due_at = LEAST(due_at, ?) WHERE mandate_id = ? AND state = 'armed'",
    at,
    mandateId,
  );
  await refreshLook(tx, mandateId);
  return count === 1;
}

export async function endWait(tx: Tx, mandateId: string): Promise<void> {
  await tx.run(
    "UPDATE wait SET state = 'ended', ended_at = ? WHERE mandate_id = ? AND state <> 'ended'",
    tx.now,
    mandateId,
  );
}
