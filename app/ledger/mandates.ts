// Mandates and their anchors in the ledger (spec 1.2). Every change ends in `refreshLook`, which sets the instant by
// which the mandate must move again (I1).

import { lookAt, type LookFacts } from "../../policies/mandate/look.ts";
import {
  isTerminal,
  noCounters,
  type Ceilings,
  type ChecklistItem,
  type Counters,
  type MandateId,
  type MandateKind,
  type Provenance,
  type Status,
  type TaskState,
} from "../../policies/mandate/mandate.ts";
import type { BindingWait } from "../../policies/mandate/waits.ts";
import type { PolicyFile } from "../../policies/policy-file.ts";
import type { ReasonCode, WayOut } from "../../policies/reasons.ts";
import type { RepositoryRow } from "./conversations.ts";
import type { Sql, SqlValue, Tx } from "./ledger.ts";
import { insert, update } from "./rows.ts";

export interface MandateRow {
  readonly id: MandateId;
  readonly conversationId: string;
  readonly kind: MandateKind;
  readonly status: Status;
  readonly reason: ReasonCode | null;
  readonly reasonText: string | null;
  readonly wayOut: WayOut | null;
  readonly title: string;
  readonly nextStep: string;
  readonly nextStepBy: Provenance;
  readonly deadlineAt: number;
  /** The latest deadline that `extend` may set, as long from acceptance or extension as policy allows. */
  readonly deadlineMaxAt: number;
  readonly counters: Counters;
  readonly ceilings: Ceilings;
  readonly checklist: readonly ChecklistItem[] | null;
  readonly task: TaskState | null;
  readonly grant: { readonly name: string; readonly text: string } | null;
  /** The repository's policy as it was at acceptance. */
  readonly policy: PolicyFile;
  readonly binding: BindingWait | null;
  /** Whose right counts: the author, or who took it over with `continue` or `retry` (1.6). */
  readonly actorId: string;
  readonly actorName: string;
  readonly parentId: MandateId | null;
  readonly depth: number;
  readonly branch: string;
  readonly baseCommit: string | null;
  readonly publishedCommit: string | null;
  /** Committed before a push: what is found on the remote after an unsure one is ours (6.4). */
  readonly intendedCommit: string | null;
  /** The head of the pull request it works on (1.5); null in an issue. */
  readonly pinnedHead: PinnedHead | null;
  readonly pullNumber: number | null;
  readonly createdAt: number;
  readonly changedAt: number;
  readonly endedAt: number | null;
  readonly lastRanAt: number;
  readonly lookAt: number | null;
  /** Outbox key of the notice that asks a person or tells of the block that lies on it now. */
  readonly noticeKey: string | null;
}

/** A pull request's head as it was pinned, and where work on it may be pushed. */
export interface PinnedHead {
  readonly pull: number;
  readonly commit: string;
  readonly branch: string;
  readonly baseBranch: string;
  readonly isFork: boolean;
  /** Work goes to the head's own branch; otherwise to the mandate's branch, in the base repository. */
  readonly mayPush: boolean;
}

export interface Anchor {
  readonly text: string;
  readonly commentKind: string;
  readonly commentId: string;
  readonly commentUrl: string;
  readonly authorId: string;
  readonly authorName: string;
  readonly permission: string;
  readonly bodyHash: string;
}

export type NewMandate = Pick<
  MandateRow,
  | "conversationId"
  | "kind"
  | "title"
  | "nextStep"
  | "nextStepBy"
  | "deadlineAt"
  | "deadlineMaxAt"
  | "ceilings"
  | "task"
  | "grant"
  | "policy"
  | "actorId"
  | "actorName"
  | "pinnedHead"
>;

const alphabet = "23456789abcdefghjkmnpqrstuvwxyz";
const shortestId = 4;
const triesPerLength = 3;

/** Stores a new mandate with its anchor; the caller adds its first entry in the same transaction. */
export async function addMandate(
  tx: Tx,
  mandate: NewMandate,
  given: { anchor: Anchor; random: () => number },
): Promise<MandateId> {
  const id = await freeId(tx, given.random);
  await insert(tx, "mandate", {
    ...mandate,
    id,
    status: "queued",
    counters: noCounters,
    branch: `holdfast/${id}-${slugOf(mandate.title)}`,
    createdAt: tx.now,
    changedAt: tx.now,
    lookAt: tx.now,
  });
  // Last, because the anchor of a retried mandate is a row that names the old one.
  await insert(tx, "anchor", { ...given.anchor, mandateId: id, capturedAt: tx.now });
  return id;
}

/** Short and speakable; it grows where the short ones are taken. */
async function freeId(tx: Tx, random: () => number): Promise<MandateId> {
  for (let tries = 0; ; tries += 1) {
    const length = shortestId + Math.floor(tries / triesPerLength);
    const letters = Array.from(
      { length },
      () => alphabet[Math.floor(random() * alphabet.length)] ?? "2",
    );
    const id = `m-${letters.join("")}` as MandateId;
    if ((await findMandate(tx, id)) === undefined) return id;
  }
}

function slugOf(title: string): string {
  const slug = title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+/, "");
  return slug.slice(0, 32).replace(/-+$/, "") || "work";
}

export function findMandate(sql: Sql, id: string): Promise<MandateRow | undefined> {
  return sql.first<MandateRow>("SELECT * FROM mandate WHERE id = ?", id);
}

export async function mandateOf(sql: Sql, id: string): Promise<MandateRow> {
  const row = await findMandate(sql, id);
  if (row === undefined) throw new Error(`mandate ${id} is not in the ledger`);
  return row;
}

export function findAnchor(sql: Sql, id: string): Promise<Anchor | undefined> {
  return sql.first<Anchor>("SELECT * FROM anchor WHERE mandate_id = ?", id);
}

/** Mandates of one conversation, oldest first; unfinished ones only unless asked. */
export function mandatesIn(
  sql: Sql,
  conversationId: string,
  options: { all: boolean } = { all: false },
): Promise<MandateRow[]> {
  const filter = options.all ? "" : "AND status NOT IN ('completed', 'stopped')";
  return sql.all<MandateRow>(
    `SELECT * FROM mandate WHERE conversation_id = ? ${filter} ORDER BY created_at, id`,
    conversationId,
  );
}

/** The unfinished mandates of a repository. */
export function mandatesOf(sql: Sql, repositoryId: string): Promise<MandateRow[]> {
  return sql.all<MandateRow>(
    `SELECT m.* FROM mandate m JOIN conversation c ON c.id = m.conversation_id
     WHERE c.repository_id = ? AND m.ended_at IS NULL ORDER BY m.created_at, m.id`,
    repositoryId,
  );
}

export type MandateChange = Partial<
  Omit<MandateRow, "id" | "conversationId" | "createdAt" | "lookAt">
>;

/** Changes a mandate and sets its next look. Terminal states get their end time here. */
export async function changeMandate(tx: Tx, id: string, change: MandateChange): Promise<void> {
  const ended =
    change.status === undefined ? {} : { endedAt: isTerminal(change.status) ? tx.now : null };
  const look = change.status !== undefined && isTerminal(change.status) ? { lookAt: null } : {};
  // The look is set before the status: a constraint refuses an unfinished mandate without one.
  const provisional =
    change.status !== undefined && !isTerminal(change.status) ? { lookAt: tx.now } : {};
  await update(tx, "mandate", {
    set: { ...change, ...ended, ...look, ...provisional, changedAt: tx.now },
    where: { id },
  });
  await refreshLook(tx, id);
}

/** Recomputes the instant by which this mandate must have moved, from what the ledger holds now. */
export async function refreshLook(tx: Tx, id: string): Promise<void> {
  const facts = await lookFacts(tx, id);
  if (facts === undefined) return;
  await update(tx, "mandate", { set: { lookAt: lookAt(facts, tx.now) }, where: { id } });
}

/** A pause of an installation begins or ends: its repository's mandates are held, or go on. */
export async function changeReach(
  tx: Tx,
  repositoryId: string,
  reach: RepositoryRow["reach"],
): Promise<void> {
  await update(tx, "repository", { set: { reach }, where: { id: repositoryId } });
  for (const { id } of await mandatesOf(tx, repositoryId)) await refreshLook(tx, id);
}

/** What `lookColumns` give. */
export interface LookRow {
  status: Status;
  deadlineAt: number;
  waitState: "armed" | "claimed" | null;
  waitDueAt: number | null;
  waitDeadlineAt: number | null;
  entryAt: number | null;
  claims: number;
  publishes: number;
  noticeState: string | null;
  holds: number;
}

/** Condition: a hold is over the mandate that these expressions name (3.3), or its installation is suspended. */
export function isHeld(mandateId: string, conversationId: string): string {
  return `(EXISTS (SELECT 1 FROM hold h WHERE h.scope = 'installation'
      OR (h.scope = 'conversation' AND h.subject = ${conversationId})
      OR (h.scope = 'mandate' AND h.subject = ${mandateId}))
    OR EXISTS (SELECT 1 FROM conversation s JOIN repository r ON r.id = s.repository_id
      WHERE s.id = ${conversationId} AND r.reach = 'suspended'))`;
}

export const lookColumns = `m.status, m.deadline_at, w.state AS wait_state, w.due_at AS wait_due_at,
    w.deadline_at AS wait_deadline_at,
    (SELECT MIN(available_at) FROM inbox i WHERE i.mandate_id = m.id AND i.state = 'queued') AS entry_at,
    (SELECT COUNT(*) FROM inbox i WHERE i.mandate_id = m.id AND i.state = 'claimed') AS claims,
    (SELECT COUNT(*) FROM inbox i WHERE i.mandate_id = m.id AND i.kind = 'publish'
      AND i.state IN ('queued', 'claimed')) AS publishes,
    (SELECT o.state FROM outbox o WHERE o.key = m.notice_key) AS notice_state,
    CASE WHEN ${isHeld("m.id", "m.conversation_id")} THEN 1 ELSE 0 END AS holds`;
export const lookTables =
  "mandate m LEFT JOIN wait w ON w.mandate_id = m.id AND w.state <> 'ended'";
const lookQuery = `SELECT ${lookColumns} FROM ${lookTables} WHERE m.id = ?`;

/** What the rule of looks decides on. */
export async function lookFacts(sql: Sql, id: string): Promise<LookFacts | undefined> {
  const row = await sql.first<LookRow>(lookQuery, id);
  return row === undefined ? undefined : lookFactsFrom(row);
}

export function lookFactsFrom(row: LookRow): LookFacts {
  const wait =
    row.waitState === null || row.waitDueAt === null || row.waitDeadlineAt === null
      ? null
      : { state: row.waitState, dueAt: row.waitDueAt, deadlineAt: row.waitDeadlineAt };
  return {
    status: row.status,
    deadlineAt: row.deadlineAt,
    wait,
    entryAt: row.entryAt,
    hasClaim: row.claims > 0,
    notice: row.noticeState === null ? "none" : row.noticeState === "sent" ? "delivered" : "open",
    isHeld: row.holds > 0,
    isPublishing: row.publishes > 0,
  };
}

export async function nextLookAt(sql: Sql): Promise<number | null> {
  const row = await sql.first<{ at: number | null }>(
    "SELECT MIN(look_at) AS at FROM mandate WHERE look_at IS NOT NULL",
  );
  return row?.at ?? null;
}

/** After a turn, a hold or a person's word: what waits in this conversation may be due at once. */
export async function wakeConversation(tx: Tx, conversationId: string): Promise<void> {
  const waiting = await tx.all<{ id: MandateId }>(
    `SELECT m.id FROM mandate m JOIN wait w ON w.mandate_id = m.id AND w.state = 'armed'
     WHERE m.conversation_id = ? AND m.status = 'waiting' AND w.due_at <= ?`,
    conversationId,
    tx.now,
  );
  for (const { id } of waiting) await refreshLook(tx, id);
}

/** Mandates of the installation for lists, unfinished first, newest first. */
export function listMandates(
  sql: Sql,
  filter: { status?: Status; unfinished?: boolean; repositoryId?: string; limit: number },
): Promise<MandateRow[]> {
  const conditions: string[] = [];
  const values: SqlValue[] = [];
  if (filter.status !== undefined) {
    conditions.push("status = ?");
    values.push(filter.status);
  }
  if (filter.repositoryId !== undefined) {
    conditions.push("conversation_id IN (SELECT id FROM conversation WHERE repository_id = ?)");
    values.push(filter.repositoryId);
  }
  if (filter.unfinished === true) conditions.push("ended_at IS NULL");
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  return sql.all<MandateRow>(
    `SELECT * FROM mandate ${where} ORDER BY ended_at IS NOT NULL, created_at DESC LIMIT ?`,
    ...values,
    filter.limit,
  );
}
