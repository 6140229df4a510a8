// Nudges in the ledger (spec 3.4): what outside events told, kept for the recheck that they bring forward.

import type { NudgeEvent } from "../../../policies/events.ts";
import type { MandateId } from "../../../policies/mandate/mandate.ts";
import type { Sql, Tx } from "../ledger.ts";
import { insertOnce, update } from "../rows.ts";

export interface NudgeRow {
  readonly id: number;
  readonly mandateId: MandateId;
  readonly event: string;
  readonly facts: NudgeEvent;
  readonly at: number;
}

/** More than these are not kept for one mandate until they have been told. */
const keptLimit = 20;

/** Keeps an event for a mandate, once per delivery and up to the limit. */
export async function keepNudge(
  tx: Tx,
  nudge: { deliveryId: number; mandateId: string; facts: NudgeEvent },
): Promise<void> {
  if ((await untoldNudges(tx, nudge.mandateId)).length >= keptLimit) return;
  await insertOnce(tx, "nudge", { ...nudge, event: nudge.facts.event, at: tx.now });
}

/** What a mandate has not been told yet, oldest first. */
export function untoldNudges(sql: Sql, mandateId: string): Promise<NudgeRow[]> {
  return sql.all<NudgeRow>(
    "SELECT * FROM nudge WHERE mandate_id = ? AND told_at IS NULL ORDER BY id",
    mandateId,
  );
}

export async function markTold(tx: Tx, nudges: readonly Pick<NudgeRow, "id">[]): Promise<void> {
  for (const { id } of nudges)
    await update(tx, "nudge", { set: { toldAt: tx.now }, where: { id } });
}

/** Mandates of a repository that wait for a recheck, or that may register a wait when their turn ends. */
export function nudgeable(
  sql: Sql,
  repositoryId: string,
): Promise<{ id: MandateId; status: string }[]> {
  return sql.all(
    `SELECT m.id, m.status FROM mandate m JOIN conversation c ON c.id = m.conversation_id
     WHERE c.repository_id = ? AND m.status IN ('waiting', 'running') ORDER BY m.id`,
    repositoryId,
  );
}

/** When the last recheck of a mandate became due; null when none has. */
export async function lastRecheckAt(sql: Sql, mandateId: string): Promise<number | null> {
  const row = await sql.first<{ at: number | null }>(
    "SELECT MAX(created_at) AS at FROM inbox WHERE mandate_id = ? AND kind = 'recheck'",
    mandateId,
  );
  return row?.at ?? null;
}
