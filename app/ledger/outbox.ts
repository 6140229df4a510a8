// The outbox: durable messages on their way to a forge, each with a key (spec 6.3; I5).
// A row leaves `pending` only through a committed `sending`; one found in `sending` is probed, never sent on a guess.

import type { Sql, Tx } from "./ledger.ts";
import { insertOnce, update } from "./rows.ts";

/** `ask`: a block or a question, what a person must see. `tell`: all other new comments. `status`: edited in place. */
export type MessageKind = "ask" | "tell" | "status" | "reaction";

export interface MessageRow {
  readonly id: number;
  readonly key: string;
  readonly conversationId: string;
  readonly mandateId: string | null;
  readonly kind: MessageKind;
  readonly payload: unknown;
  readonly lane: string;
  readonly priority: number;
  readonly state: "pending" | "sending" | "unsure" | "sent" | "dead" | "dropped";
  readonly revision: number;
  readonly sentRevision: number;
  readonly sentHash: string | null;
  readonly attempts: number;
  readonly probes: number;
  readonly nextAt: number;
  readonly leaseUntil: number | null;
  readonly intentAt: number | null;
  readonly forgeId: string | null;
  readonly url: string | null;
  readonly createdAt: number;
  readonly sentAt: number | null;
}

export interface NewMessage {
  readonly key: string;
  readonly conversationId: string;
  readonly mandateId: string | null;
  readonly kind: MessageKind;
  readonly payload: unknown;
}

const priorityOf: Readonly<Record<MessageKind, number>> = {
  ask: 0,
  tell: 1,
  reaction: 2,
  status: 3,
};

/** Puts a message into the outbox, once per key. */
export async function post(tx: Tx, message: NewMessage): Promise<boolean> {
  const { kind, conversationId, mandateId } = message;
  const lane = kind === "status" ? `status ${mandateId}` : `conversation ${conversationId}`;
  return insertOnce(tx, "outbox", {
    ...message,
    lane,
    priority: priorityOf[kind],
    nextAt: tx.now,
    createdAt: tx.now,
  });
}

/** Draws the latest message of this prefix anew with another text; false when there is none since `since`. */
export async function repost(
  tx: Tx,
  earlier: { conversationId: string; prefix: string; since: number },
  payload: object,
): Promise<boolean> {
  const count = await tx.run(
    `UPDATE outbox SET payload_json = ?, revision = revision + 1, next_at = MAX(next_at, ?),
       state = CASE state WHEN 'sent' THEN 'pending' ELSE state END
     WHERE id = (SELECT MAX(id) FROM outbox WHERE substr(key, 1, ?) = ? AND created_at >= ?
       AND conversation_id = ? AND state <> 'dead')`,
    JSON.stringify(payload),
    tx.now,
    earlier.prefix.length,
    earlier.prefix,
    earlier.since,
    earlier.conversationId,
  );
  return count > 0;
}

/** How many messages of a conversation were posted since then under keys of this prefix. */
export async function countMessages(
  sql: Sql,
  posted: { conversationId: string; prefix: string; since: number },
): Promise<number> {
  const row = await sql.first<{ count: number }>(
    `SELECT COUNT(*) AS count FROM outbox WHERE conversation_id = ? AND created_at >= ?
       AND substr(key, 1, ?) = ?`,
    posted.conversationId,
    posted.since,
    posted.prefix.length,
    posted.prefix,
  );
  return row?.count ?? 0;
}

/** The status comment of a mandate is to be drawn anew, at most once per `throttleMs` (1.6). */
export async function touchStatus(
  tx: Tx,
  mandate: { id: string; conversationId: string },
  throttleMs: number,
): Promise<void> {
  const { id: mandateId, conversationId } = mandate;
  const key = `status ${mandateId}`;
  const isNew = await post(tx, { key, conversationId, mandateId, kind: "status", payload: {} });
  if (isNew) return;
  await tx.run(
    `UPDATE outbox SET revision = revision + 1,
       next_at = CASE state WHEN 'sent' THEN MAX(?, COALESCE(sent_at, 0) + ?) ELSE next_at END,
       state = CASE state WHEN 'sent' THEN 'pending' ELSE state END
     WHERE key = ?`,
    tx.now,
    throttleMs,
    key,
  );
}

/** Takes due rows for sending, first in their lane only; the intent is durable before anything is sent. */
export async function takeMessages(
  tx: Tx,
  options: { leaseMs: number; limit: number },
): Promise<MessageRow[]> {
  const rows = await tx.all<MessageRow>(
    `SELECT o.* FROM outbox o WHERE o.state = 'pending' AND o.next_at <= ?
       AND NOT EXISTS (SELECT 1 FROM outbox e WHERE e.lane = o.lane AND e.id < o.id
         AND e.state IN ('pending', 'sending', 'unsure'))
     ORDER BY o.priority, o.id LIMIT ?`,
    tx.now,
    options.limit,
  );
  for (const row of rows) {
    const set = {
      state: "sending",
      leaseUntil: tx.now + options.leaseMs,
      intentAt: tx.now,
      attempts: row.attempts + 1,
    };
    await update(tx, "outbox", { set, where: { id: row.id } });
  }
  return rows.map((row) => ({ ...row, intentAt: tx.now, attempts: row.attempts + 1 }));
}

/** Unsure rows whose next probe is due. */
export function dueProbes(sql: Sql, now: number, limit: number): Promise<MessageRow[]> {
  return sql.all<MessageRow>(
    "SELECT * FROM outbox WHERE state = 'unsure' AND next_at <= ? ORDER BY id LIMIT ?",
    now,
    limit,
  );
}

export type MessageChange = Partial<
  Pick<
    MessageRow,
    | "state"
    | "nextAt"
    | "probes"
    | "leaseUntil"
    | "forgeId"
    | "url"
    | "sentAt"
    | "sentHash"
    | "sentRevision"
  >
>;

/** Moves a row on if it is still in the state that the caller saw. */
export async function changeMessage(
  tx: Tx,
  row: Pick<MessageRow, "id" | "state">,
  change: MessageChange,
): Promise<boolean> {
  const count = await update(tx, "outbox", {
    set: change,
    where: { id: row.id, state: row.state },
  });
  return count === 1;
}

/** What was changed while it was being sent goes out once more; its revision tells. */
export async function sendAgainIfChanged(
  tx: Tx,
  row: Pick<MessageRow, "id" | "revision">,
  nextAt: number,
): Promise<void> {
  await tx.run(
    `UPDATE outbox SET state = 'pending', next_at = ?
     WHERE id = ? AND state = 'sent' AND revision > ?`,
    nextAt,
    row.id,
    row.revision,
  );
}

export function findMessage(sql: Sql, key: string): Promise<MessageRow | undefined> {
  return sql.first<MessageRow>("SELECT * FROM outbox WHERE key = ?", key);
}

export function messagesOf(sql: Sql, mandateId: string): Promise<MessageRow[]> {
  return sql.all<MessageRow>("SELECT * FROM outbox WHERE mandate_id = ? ORDER BY id", mandateId);
}

/** Rows left in `sending` past their lease: nobody knows whether they arrived. Returns how many became `unsure`. */
export function markUnsure(tx: Tx, probeAfterMs: number): Promise<number> {
  return tx.run(
    `UPDATE outbox SET state = 'unsure', lease_until = NULL, probes = 0,
       next_at = MAX(?, intent_at + ?) WHERE state = 'sending' AND lease_until < ?`,
    tx.now,
    probeAfterMs,
    tx.now,
  );
}

export async function nextOutboxAt(sql: Sql): Promise<number | null> {
  const row = await sql.first<{ at: number | null }>(
    `SELECT MIN(next_at) AS at FROM outbox o WHERE state IN ('pending', 'unsure')
       AND NOT EXISTS (SELECT 1 FROM outbox e WHERE e.lane = o.lane AND e.id < o.id
         AND e.state IN ('pending', 'sending', 'unsure'))`,
  );
  return row?.at ?? null;
}
