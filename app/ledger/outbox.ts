// The outbox: durable messages on their way to a forge, each with a key (spec 6.3; I5).
// A row leaves `pending` only through a committed `sending`; one found in `sending` is probed, never sent on a guess.

import type { WriteLimits } from "../forge/forge.ts";
import { accountOf, bookWrite, budgetOf } from "./forge-writes.ts";
import type { Sql, Tx } from "./ledger.ts";
import { insertEach, marksFor, portions, update } from "./rows.ts";

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
  /** Tries since it was last sent. */
  readonly attempts: number;
  readonly probes: number;
  readonly nextAt: number;
  readonly leaseUntil: number | null;
  readonly intentAt: number | null;
  readonly forgeId: string | null;
  readonly url: string | null;
  readonly createdAt: number;
  readonly sentAt: number | null;
  /** 1 after it was drawn again because somebody changed or deleted its comment. */
  readonly redrawn: number;
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
  return (await postEach(tx, [message])) > 0;
}

/** Puts messages into the outbox, once per key; returns how many are new. */
function postEach(tx: Tx, messages: readonly NewMessage[]): Promise<number> {
  const rows = messages.map((message) => {
    const { kind, conversationId, mandateId } = message;
    const lane = kind === "status" ? `status ${mandateId}` : `conversation ${conversationId}`;
    const times = { nextAt: tx.now, createdAt: tx.now };
    return { ...message, lane, priority: priorityOf[kind], ...times };
  });
  return insertEach(tx, "outbox", rows);
}

/** Draws the latest message of this prefix anew with another text; false when there is none since `since`. */
export async function repost(
  tx: Tx,
  earlier: { conversationId: string; prefix: string; since: number },
  payload: object,
): Promise<boolean> {
  const count = await tx.run(
    `UPDATE outbox SET payload_json = ?, revision = revision + 1, next_at = GREATEST(next_at, ?),
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

type Owner = Pick<NewMessage, "conversationId"> & { readonly id: string };

/** The status comment of a mandate is to be drawn anew, at most once per `throttleMs` (1.6). */
export function touchStatus(tx: Tx, mandate: Owner, throttleMs: number): Promise<void> {
  return touchStatuses(tx, [mandate], throttleMs);
}

/** As `touchStatus`, for many mandates in a few statements. */
export async function touchStatuses(
  tx: Tx,
  mandates: readonly Owner[],
  throttleMs: number,
): Promise<void> {
  for (const portion of portions(mandates)) {
    const keys = portion.map(({ id }) => `status ${id}`);
    const touched = await tx.all<{ key: string }>(
      `UPDATE outbox SET revision = revision + 1,
         next_at = CASE state WHEN 'sent' THEN GREATEST(?, COALESCE(sent_at, 0) + ?) ELSE next_at END,
         state = CASE state WHEN 'sent' THEN 'pending' ELSE state END
       WHERE key IN (${marksFor(keys)}) RETURNING key`,
      tx.now,
      throttleMs,
      ...keys,
    );
    const known = new Set(touched.map(({ key }) => key));
    const first = portion.map(({ id, conversationId }) => {
      const about = { key: `status ${id}`, conversationId, mandateId: id };
      return { ...about, kind: "status", payload: {} } as const;
    });
    await postEach(
      tx,
      first.filter(({ key }) => !known.has(key)),
    );
  }
}

export interface TakeOptions {
  readonly leaseMs: number;
  /** Between two edits of one status comment (1.6). */
  readonly statusThrottleMs: number;
  /** What a connection's accounts may write; null where nobody counts. */
  readonly limitsOf: (connection: string) => WriteLimits | null;
  /** Accounts with messages on their way: nothing more of them is taken. */
  readonly busy: ReadonlySet<string>;
}

/** A row on its way, and by which account its write is counted. */
export type TakenMessage = MessageRow & { readonly account: string };

type DueMessage = MessageRow & { readonly connection: string; readonly reachedBy: string | null };

/** Of one account in one go; behind a network one at a time, so that none is sent near the end of its lease. */
const localLimit = 20;
const networkLimit = 1;

/** The condition of the index that finds what is due, in the very words that SQLite needs to see it by. */
const isOpen = "o.state IN ('pending', 'unsure')";
/** A person waits for it: all but edits of a status comment, which come last (6.3). */
const isWaitedFor = "(o.kind <> 'status' OR o.forge_id IS NULL)";

/** What goes out before what, of the rows that this name stands for. */
function orderOf(row: string): string {
  return `CASE WHEN ${row}.kind = 'status' AND ${row}.forge_id IS NULL THEN 1 ELSE ${row}.priority END, ${row}.id`;
}

const isFirstInLane = `NOT EXISTS (SELECT 1 FROM outbox e WHERE e.lane = o.lane AND e.id < o.id
  AND e.state IN ('pending', 'sending', 'unsure'))`;

/** Due rows in their order, so many of each account that a crowd of one hides no other. */
function dueMessages(
  sql: Sql,
  due: { state: "pending" | "unsure"; now: number; limit: number },
): Promise<DueMessage[]> {
  return sql.all<DueMessage>(
    `SELECT * FROM (SELECT o.*, r.connection, r.account AS reached_by, ROW_NUMBER() OVER
         (PARTITION BY r.connection, r.account, ${isWaitedFor} ORDER BY ${orderOf("o")}) AS place
       FROM outbox o JOIN conversation c ON c.id = o.conversation_id
       JOIN repository r ON r.id = c.repository_id
       WHERE ${isOpen} AND o.state = ? AND o.next_at <= ? AND ${isFirstInLane}) ranked
     WHERE place <= ? ORDER BY ${orderOf("ranked")}`,
    due.state,
    due.now,
    due.limit,
  );
}

/**
 * Takes due rows for sending, first in their lane only and no more than the budgets let out; the intent is durable before
 * anything is sent. What a budget holds back is due when there is room again.
 */
export async function takeMessages(tx: Tx, options: TakeOptions): Promise<TakenMessage[]> {
  await spaceStatusEdits(tx, options.statusThrottleMs);
  const rows = await dueMessages(tx, { state: "pending", now: tx.now, limit: localLimit });
  const taken: TakenMessage[] = [];
  const counts = new Map<string, number>();
  const full = new Set<string>();
  for (const row of rows) {
    const { account } = counted(row);
    if (options.busy.has(account)) continue;
    const limits = options.limitsOf(row.connection);
    const count = counts.get(account) ?? 0;
    const budget = `${account} ${isUrgent(row)}`;
    if (count >= (limits === null ? localLimit : networkLimit) || full.has(budget)) continue;
    if (limits !== null && !(await hasRoom(tx, row, limits))) {
      full.add(budget);
      continue;
    }
    counts.set(account, count + 1);
    taken.push(await takeOne(tx, counted(row), options.leaseMs));
  }
  return taken;
}

/** Whatever asked for an edit, and however often: one follows `throttleMs` after the other (1.6). */
async function spaceStatusEdits(tx: Tx, throttleMs: number): Promise<void> {
  await tx.run(
    `UPDATE outbox AS o SET next_at = sent_at + ? WHERE ${isOpen} AND state = 'pending' AND next_at <= ?
       AND kind = 'status' AND forge_id IS NOT NULL AND sent_revision > 1 AND sent_at > ?`,
    throttleMs,
    tx.now,
    tx.now - throttleMs,
  );
}

function counted({ connection, reachedBy, ...row }: DueMessage): TakenMessage {
  return { ...row, account: accountOf({ connection, account: reachedBy }) };
}

function isUrgent(row: Pick<MessageRow, "kind" | "forgeId">): boolean {
  return row.kind !== "status" || row.forgeId === null;
}

/** Books the write; false where the budget is used up, and all that it holds back is put off until it is not. */
async function hasRoom(tx: Tx, row: DueMessage, limits: WriteLimits): Promise<boolean> {
  const { account } = counted(row);
  const budget = await budgetOf(tx, account, { limits, isUrgent: isUrgent(row) });
  if (budget.left > 0) {
    await bookWrite(tx, account);
    return true;
  }
  await tx.run(
    `UPDATE outbox AS o SET next_at = ? WHERE ${isOpen} AND state = 'pending' AND next_at <= ?
       AND ${isWaitedFor} = ? AND EXISTS
         (SELECT 1 FROM conversation c JOIN repository r ON r.id = c.repository_id
          WHERE c.id = o.conversation_id AND r.connection = ? AND r.account IS NOT DISTINCT FROM ?)`,
    budget.nextAt,
    tx.now,
    isUrgent(row) ? 1 : 0,
    row.connection,
    row.reachedBy,
  );
  return false;
}

async function takeOne(tx: Tx, row: TakenMessage, leaseMs: number): Promise<TakenMessage> {
  const change = { intentAt: tx.now, attempts: row.attempts + 1 };
  const set = { state: "sending", leaseUntil: tx.now + leaseMs, ...change };
  await update(tx, "outbox", { set, where: { id: row.id } });
  return { ...row, ...change, state: "sending" };
}

/**
 * A comment of ours that somebody changed or deleted is drawn again, once; false where that was done before. One that
 * was deleted is written anew.
 */
export async function redraw(
  tx: Tx,
  comment: { conversationId: string; forgeId: string; change: "edited" | "deleted" },
): Promise<boolean> {
  const gone = comment.change === "deleted" ? ", forge_id = NULL, url = NULL" : "";
  const count = await tx.run(
    `UPDATE outbox SET redrawn = 1, revision = revision + 1, sent_hash = NULL, state = 'pending',
       next_at = ? ${gone} WHERE conversation_id = ? AND forge_id = ?
       AND state IN ('pending', 'sent') AND redrawn = 0`,
    tx.now,
    comment.conversationId,
    comment.forgeId,
  );
  return count > 0;
}

/**
 * What could not be told in a conversation is tried again now: something was heard from there. Status comments of
 * mandates that go on come back to life.
 */
export async function tryAgainNow(tx: Tx, conversationId: string): Promise<void> {
  await tx.run(
    "UPDATE outbox SET next_at = LEAST(next_at, ?) WHERE conversation_id = ? AND state = 'pending'",
    tx.now,
    conversationId,
  );
  await tx.run(
    `UPDATE outbox AS o SET state = 'pending', attempts = 0, next_at = ?
     WHERE conversation_id = ? AND state = 'dead' AND kind = 'status'
       AND EXISTS (SELECT 1 FROM mandate m WHERE m.id = o.mandate_id AND m.ended_at IS NULL)`,
    tx.now,
    conversationId,
  );
}

/** Of one account in one go. */
const probesLimit = 5;

/** Unsure rows whose next probe is due, without those of busy accounts. */
export async function dueProbes(
  sql: Sql,
  now: number,
  busy: ReadonlySet<string>,
): Promise<TakenMessage[]> {
  const rows = await dueMessages(sql, { state: "unsure", now, limit: probesLimit });
  return rows.map(counted).filter(({ account }) => !busy.has(account));
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
    | "attempts"
    | "redrawn"
  >
>;

/** Moves a row on if it is still as the caller saw it: nobody else took it or decided about it meanwhile. */
export async function changeMessage(
  tx: Tx,
  row: Pick<MessageRow, "id" | "state" | "intentAt">,
  change: MessageChange,
): Promise<boolean> {
  const { id, state, intentAt } = row;
  const count = await update(tx, "outbox", { set: change, where: { id, state, intentAt } });
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
       next_at = GREATEST(?, intent_at + ?) WHERE state = 'sending' AND lease_until < ?`,
    tx.now,
    probeAfterMs,
    tx.now,
  );
}

export async function nextOutboxAt(sql: Sql): Promise<number | null> {
  const row = await sql.first<{ at: number | null }>(
    `SELECT MIN(next_at) AS at FROM outbox o
     WHERE state IN ('pending', 'unsure') AND ${isFirstInLane}`,
  );
  return row?.at ?? null;
}
