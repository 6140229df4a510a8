// How each connection to a forge is kept up (spec 6.2): when it was last heard of, when missed deliveries were last
// looked for, and how much was found. Shown by doctor and Health.

import { minuteMs } from "../../../policies/durations.ts";
import type { Sql, Tx } from "../ledger.ts";
import { insertOnce, update } from "../rows.ts";

export interface ConnectionRow {
  readonly name: string;
  readonly lastDeliveryAt: number | null;
  readonly sweptAt: number | null;
  /** Failed deliveries were looked for up to then. */
  readonly deliveriesReadTo: number;
  /** Deliveries asked for again and texts found without one, since the ledger was made. */
  readonly recovered: number;
}

/** Missed deliveries are looked for every five minutes; this is three times that. */
const silenceMsLimit = 15 * minuteMs;

/** The forge has not told for long what was missed: it does not answer, or nobody asks. */
export function isSilent(sweptAt: number | null, now: number): boolean {
  return (sweptAt ?? 0) <= now - silenceMsLimit;
}

export function listConnections(sql: Sql): Promise<ConnectionRow[]> {
  return sql.all<ConnectionRow>("SELECT * FROM connection ORDER BY name");
}

export function findConnection(sql: Sql, name: string): Promise<ConnectionRow | undefined> {
  return sql.first<ConnectionRow>("SELECT * FROM connection WHERE name = ?", name);
}

/** From now on whatever the forge cannot deliver is missed; nothing changes where that is known already. */
export async function listenFrom(tx: Tx, name: string): Promise<void> {
  await insertOnce(tx, "connection", { name });
  await tx.run(
    "UPDATE connection SET deliveries_read_to = ? WHERE name = ? AND deliveries_read_to = 0",
    tx.now,
    name,
  );
}

export async function changeConnection(
  tx: Tx,
  name: string,
  change: Partial<Omit<ConnectionRow, "name">>,
): Promise<void> {
  await insertOnce(tx, "connection", { name });
  await update(tx, "connection", { set: change, where: { name } });
}
