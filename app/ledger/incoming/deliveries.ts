// Deliveries: what reached us and must be handled exactly once (spec 6.2; I4). Decides nothing.

import { subjectOf, type EventText, type ForgeEvent } from "../../../policies/events.ts";
import type { Sql, Tx } from "../ledger.ts";
import { insertOnce, marksFor, portions, update } from "../rows.ts";

export interface DeliveryRow {
  readonly id: number;
  readonly connection: string;
  readonly guid: string;
  readonly payload: ForgeEvent;
  /** Deliveries of one subject are accepted one after the other, in the order they came. */
  readonly subject: string;
  readonly receivedAt: number;
  readonly handledAt: number | null;
  readonly outcome: string | null;
  readonly attempts: number;
  readonly nextAt: number;
}

/** A delivery as it came over the network: nobody has looked into its body yet. */
export interface RawDelivery {
  readonly id: number;
  readonly connection: string;
  readonly guid: string;
  readonly event: string;
  readonly body: string;
  readonly attempts: number;
}

/** Stores an event that was found, not sent; false when this one or its text is known already. */
export function addDelivery(
  tx: Tx,
  delivery: { connection: string; guid: string; payload: ForgeEvent },
): Promise<boolean> {
  const times = { receivedAt: tx.now, nextAt: tx.now };
  return insertOnce(tx, "delivery", { ...delivery, ...keysOf(delivery.payload), ...times });
}

function keysOf(event: ForgeEvent): { subject: string; textIdentity: string | null } {
  const isText = event.kind === "text";
  const textIdentity = isText ? identityOf(event.text) : null;
  return { subject: subjectOf(event), textIdentity };
}

function identityOf({ forgeId, kind, id }: EventText): string {
  return `${forgeId} ${kind} ${id}`;
}

/** Stores a verified delivery raw; false when its GUID is known already. */
export function storeDelivery(
  tx: Tx,
  delivery: Omit<RawDelivery, "id" | "attempts">,
): Promise<boolean> {
  return insertOnce(tx, "delivery", { ...delivery, receivedAt: tx.now, nextAt: tx.now });
}

/** Sorted after it was found: otherwise SQLite would read all that ever came, in this order, to find what is open. */
function inOrder(id: string): string {
  return `+${id}`;
}

const isUnread = "handled_at IS NULL AND payload_json IS NULL";

/** Raw deliveries that nobody has looked into, in the order they came. */
export function unreadDeliveries(sql: Sql, now: number, limit: number): Promise<RawDelivery[]> {
  return sql.all<RawDelivery>(
    `SELECT id, connection, guid, event, body, attempts FROM delivery
     WHERE ${isUnread} AND next_at <= ? ORDER BY ${inOrder("id")} LIMIT ?`,
    now,
    limit,
  );
}

/** Those of the deliveries that nobody has looked into meanwhile: another process may have read them, too. */
export async function stillUnread(tx: Tx, raws: readonly RawDelivery[]): Promise<Set<number>> {
  const unread = new Set<number>();
  for (const portion of portions(raws)) {
    const ids = portion.map(({ id }) => id);
    const rows = await tx.all<{ id: number }>(
      `SELECT id FROM delivery WHERE ${isUnread} AND id IN (${marksFor(ids)})`,
      ...ids,
    );
    for (const { id } of rows) unread.add(id);
  }
  return unread;
}

/**
 * Keeps what a raw delivery speaks of. One that speaks of several things becomes several rows, one after the other;
 * one that means nothing to us is finished, and its body is dropped at once.
 */
export async function readDelivery(
  tx: Tx,
  raw: Pick<RawDelivery, "id" | "connection" | "guid">,
  events: readonly ForgeEvent[],
): Promise<void> {
  const fresh: ForgeEvent[] = [];
  for (const event of events) {
    if (event.kind !== "text" || !(await isKnownText(tx, event.text))) fresh.push(event);
  }
  const [first, ...more] = fresh;
  if (first === undefined) {
    await finishDelivery(tx, raw.id, events.length === 0 ? "ignored" : "duplicate");
    await update(tx, "delivery", { set: { body: null }, where: { id: raw.id } });
    return;
  }
  const { connection } = raw;
  const set = { payload: first, ...keysOf(first) };
  await update(tx, "delivery", { set, where: { id: raw.id } });
  for (const [index, payload] of more.entries()) {
    await addDelivery(tx, { connection, guid: `${raw.guid} ${index + 2}`, payload });
  }
}

/** True when a new text came before, by whichever way. */
export async function isKnownText(sql: Sql, text: EventText): Promise<boolean> {
  const row = await sql.first(
    "SELECT 1 AS one FROM delivery WHERE connection = ? AND text_identity = ?",
    text.connection,
    identityOf(text),
  );
  return row !== undefined;
}

/** Forgets the bodies of what was handled before `before`; the keys stay (6.2). Returns how many. */
export function dropBodies(tx: Tx, before: number): Promise<number> {
  return tx.run(
    "UPDATE delivery SET body = NULL WHERE body IS NOT NULL AND handled_at < ?",
    before,
  );
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

/** Due deliveries, the first of each subject: what came later waits for it, also while it is put off. */
export function openDeliveries(sql: Sql, now: number, limit: number): Promise<DeliveryRow[]> {
  return sql.all<DeliveryRow>(
    `SELECT d.* FROM delivery d WHERE d.handled_at IS NULL AND d.payload_json IS NOT NULL
       AND d.next_at <= ? AND NOT EXISTS (SELECT 1 FROM delivery e
         WHERE e.subject = d.subject AND e.id < d.id AND e.handled_at IS NULL)
     ORDER BY ${inOrder("d.id")} LIMIT ?`,
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
  // The one that waited for it is due from now on, not since it came.
  await tx.run(
    `UPDATE delivery SET next_at = GREATEST(next_at, ?) WHERE id = (SELECT MIN(e.id) FROM delivery e
       JOIN delivery d ON d.id = ? AND d.subject = e.subject WHERE e.handled_at IS NULL)`,
    tx.now,
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
  delivery: Pick<DeliveryRow, "id" | "attempts">,
  nextAt: number,
): Promise<void> {
  await update(tx, "delivery", {
    set: { attempts: delivery.attempts + 1, nextAt },
    where: { id: delivery.id },
  });
}

export async function nextDeliveryAt(sql: Sql): Promise<number | null> {
  const row = await sql.first<{ at: number | null }>(
    `SELECT MIN(d.next_at) AS at FROM delivery d WHERE d.handled_at IS NULL
       AND (d.subject IS NULL OR NOT EXISTS (SELECT 1 FROM delivery e
         WHERE e.subject = d.subject AND e.id < d.id AND e.handled_at IS NULL))`,
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
    "SELECT body_hash, command_hash, mandate_id FROM command WHERE text_identity = ? ORDER BY at, delivery_id, identity",
    textIdentity,
  );
}
