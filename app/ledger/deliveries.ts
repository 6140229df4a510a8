// Deliveries: what reached us and must be handled exactly once (spec 6.2; I4). Decides nothing.

import type { ForgeEvent } from "../../policies/events.ts";
import type { Sql, Tx } from "./ledger.ts";
import { insertOnce, update } from "./rows.ts";

export interface DeliveryRow {
  readonly id: number;
  readonly connection: string;
  readonly guid: string;
  readonly payload: ForgeEvent;
  readonly receivedAt: number;
  readonly handledAt: number | null;
  readonly outcome: string | null;
  readonly attempts: number;
  readonly nextAt: number;
}

/** Stores a delivery; false when this one is known already. */
export function addDelivery(
  tx: Tx,
  delivery: { connection: string; guid: string; payload: ForgeEvent },
): Promise<boolean> {
  return insertOnce(tx, "delivery", { ...delivery, receivedAt: tx.now, nextAt: tx.now });
}

export function findDelivery(
  sql: Sql,
  connection: string,
  guid: string,
): Promise<DeliveryRow | undefined> {
  return sql.first<DeliveryRow>(
    "SELECT * FROM delivery WHERE connection = ? AND guid = ?",
    connection,
    guid,
  );
}

export function openDeliveries(sql: Sql, now: number, limit: number): Promise<DeliveryRow[]> {
  return sql.all<DeliveryRow>(
    "SELECT * FROM delivery WHERE handled_at IS NULL AND next_at <= ? ORDER BY id LIMIT ?",
    now,
    limit,
  );
}

/** Marks a delivery handled; false when somebody else has, and nothing it causes may be written. */
export async function finishDelivery(tx: Tx, id: number, outcome: string): Promise<boolean> {
  const count = await tx.run(
    "UPDATE delivery SET handled_at = ?, outcome = ? WHERE id = ? AND handled_at IS NULL",
    tx.now,
    outcome,
    id,
  );
  return count === 1;
}

/** The word kept with a delivery that was just finished. */
export async function nameOutcome(tx: Tx, id: number, outcome: string): Promise<void> {
  await update(tx, "delivery", { set: { outcome }, where: { id } });
}

export async function postponeDelivery(
  tx: Tx,
  delivery: DeliveryRow,
  nextAt: number,
): Promise<void> {
  await update(tx, "delivery", {
    set: { attempts: delivery.attempts + 1, nextAt },
    where: { id: delivery.id },
  });
}

export async function nextDeliveryAt(sql: Sql): Promise<number | null> {
  const row = await sql.first<{ at: number | null }>(
    "SELECT MIN(next_at) AS at FROM delivery WHERE handled_at IS NULL",
  );
  return row?.at ?? null;
}

/** Records that a command was taken (1.4, identity); false when it was before. */
export function claimIdentity(
  tx: Tx,
  command: {
    identity: string;
    textIdentity: string;
    deliveryId: number;
    conversationId: string;
    name: string;
    mandateId: string | null;
    bodyHash: string;
    commandHash: string;
    byId: string;
  },
): Promise<boolean> {
  return insertOnce(tx, "command", { ...command, at: tx.now });
}

export interface TakenCommand {
  readonly bodyHash: string;
  readonly commandHash: string;
  /** The mandate it made or changed; null where it was refused or is about none. */
  readonly mandateId: string | null;
}

/** The commands that were taken from a text before, in its order. */
export function takenCommands(sql: Sql, textIdentity: string): Promise<TakenCommand[]> {
  return sql.all<TakenCommand>(
    "SELECT body_hash, command_hash, mandate_id FROM command WHERE text_identity = ? ORDER BY rowid",
    textIdentity,
  );
}
