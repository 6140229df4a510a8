// Issues, pull requests, comments and reactions of the local forge (spec 6.1): its tables alone.
// Decides nothing: who may write, and what a write causes, is said in forge/local*.ts.

import type { Sql, Tx } from "./ledger.ts";
import { insert, insertNumbered, insertOnce, update } from "./rows.ts";

/** One conversation of the local forge. */
export interface Place {
  readonly repositoryId: string;
  readonly number: number;
}

interface Writer {
  readonly id: string;
  readonly name: string;
}

export interface IssueRow extends Place {
  readonly kind: "issue" | "pull";
  readonly title: string;
  readonly body: string;
  readonly authorId: string;
  readonly authorName: string;
  readonly state: "open" | "closed" | "merged";
  readonly isDraft: 0 | 1;
  /** Branches; null for an issue. */
  readonly head: string | null;
  readonly base: string | null;
  readonly createdAt: number;
}

export interface CommentRow extends Place {
  readonly id: number;
  readonly authorId: string;
  readonly authorName: string;
  readonly body: string;
  readonly requestKey: string | null;
  readonly createdAt: number;
  readonly editedAt: number | null;
}

export type NewIssue = Pick<IssueRow, "repositoryId" | "title" | "body">;

export type NewPull = NewIssue & { readonly head: string; readonly base: string; isDraft: boolean };

export function addIssue(tx: Tx, issue: NewIssue, author: Writer): Promise<number> {
  return addNumbered(tx, { ...issue, kind: "issue" }, author);
}

/** A constraint refuses a second open pull request of the same head. */
export function addPull(tx: Tx, pull: NewPull, author: Writer): Promise<number> {
  return addNumbered(tx, { ...pull, kind: "pull" }, author);
}

/** Issues and pull requests share one sequence per repository, as people know it from forges. */
async function addNumbered(
  tx: Tx,
  row: NewIssue & Pick<IssueRow, "kind">,
  author: Writer,
): Promise<number> {
  const last = await tx.first<{ number: number | null }>(
    "SELECT MAX(number) AS number FROM local_issue WHERE repository_id = ?",
    row.repositoryId,
  );
  const number = (last?.number ?? 0) + 1;
  const written = { number, authorId: author.id, authorName: author.name, createdAt: tx.now };
  await insert(tx, "local_issue", { ...row, ...written });
  return number;
}

export function findIssue(sql: Sql, place: Place): Promise<IssueRow | undefined> {
  return sql.first<IssueRow>(
    "SELECT * FROM local_issue WHERE repository_id = ? AND number = ?",
    place.repositoryId,
    place.number,
  );
}

/** Issues and pull requests, the newest first. */
export function listIssues(sql: Sql, repositoryId: string, limit: number): Promise<IssueRow[]> {
  return sql.all<IssueRow>(
    "SELECT * FROM local_issue WHERE repository_id = ? ORDER BY number DESC LIMIT ?",
    repositoryId,
    limit,
  );
}

export function findOpenPull(
  sql: Sql,
  repositoryId: string,
  head: string,
): Promise<IssueRow | undefined> {
  return sql.first<IssueRow>(
    `SELECT * FROM local_issue
     WHERE repository_id = ? AND head = ? AND kind = 'pull' AND state = 'open'`,
    repositoryId,
    head,
  );
}

/** Which issue a delivery was about: null when its body is dropped (6.2), none if it never came. */
export async function issueOfDelivery(
  sql: Sql,
  guid: string,
): Promise<{ number: number | null } | undefined> {
  const row = await sql.first<{ payload: { number?: number } | null }>(
    "SELECT payload_json FROM delivery WHERE connection = 'local' AND guid = ?",
    guid,
  );
  return row === undefined ? undefined : { number: row.payload?.number ?? null };
}

export async function changeIssue(
  tx: Tx,
  { repositoryId, number }: Place,
  change: Partial<Pick<IssueRow, "title" | "body" | "state">> & { isDraft?: boolean },
): Promise<void> {
  await update(tx, "local_issue", { set: change, where: { repositoryId, number } });
}

/** The conversation must exist. The request key, where there is one, must be new. */
export function addComment(
  tx: Tx,
  { repositoryId, number, ...comment }: Place & Pick<CommentRow, "body" | "requestKey">,
  author: Writer,
): Promise<number> {
  return insertNumbered(tx, "local_comment", {
    repositoryId,
    number,
    ...comment,
    authorId: author.id,
    authorName: author.name,
    createdAt: tx.now,
  });
}

/** A comment by the id that its text is known by; ids that were never given find nothing. */
export async function findComment(
  sql: Sql,
  repositoryId: string,
  id: string,
): Promise<CommentRow | undefined> {
  // SQLite would read "1e1" and " 10" as the comment 10.
  if (!/^[1-9]\d{0,14}$/.test(id)) return undefined;
  return sql.first<CommentRow>(
    "SELECT * FROM local_comment WHERE id = ? AND repository_id = ?",
    Number(id),
    repositoryId,
  );
}

export function commentOfRequest(sql: Sql, requestKey: string): Promise<CommentRow | undefined> {
  return sql.first<CommentRow>("SELECT * FROM local_comment WHERE request_key = ?", requestKey);
}

export async function changeComment(tx: Tx, id: number, body: string): Promise<void> {
  await update(tx, "local_comment", { set: { body, editedAt: tx.now }, where: { id } });
}

/** The latest comments of a conversation, oldest first. */
export function latestComments(sql: Sql, place: Place, limit: number): Promise<CommentRow[]> {
  return sql.all<CommentRow>(
    `SELECT * FROM (SELECT * FROM local_comment WHERE repository_id = ? AND number = ?
     ORDER BY id DESC LIMIT ?) AS latest ORDER BY id`,
    place.repositoryId,
    place.number,
    limit,
  );
}

/** One author's comments that were made or edited at or after an instant, oldest first. */
export function commentsBy(
  sql: Sql,
  place: Place,
  { authorId, since }: { authorId: string; since: number },
): Promise<CommentRow[]> {
  return sql.all<CommentRow>(
    `SELECT * FROM local_comment WHERE repository_id = ? AND number = ? AND author_id = ?
     AND COALESCE(edited_at, created_at) >= ? ORDER BY id`,
    place.repositoryId,
    place.number,
    authorId,
    since,
  );
}

export interface ReactionRow {
  readonly target: string;
  readonly content: string;
  readonly userId: string;
}

/** Once per target, content and person; a repeated one changes nothing. */
export async function addReaction(
  tx: Tx,
  repositoryId: string,
  reaction: ReactionRow,
): Promise<void> {
  await insertOnce(tx, "local_reaction", { repositoryId, ...reaction, at: tx.now });
}

/** Reactions to an issue (`issue:<number>`) and to its comments (`comment:<id>`), in order. */
export function reactionsIn(sql: Sql, place: Place): Promise<ReactionRow[]> {
  return sql.all<ReactionRow>(
    `SELECT target, content, user_id FROM local_reaction WHERE repository_id = ?1
     AND (target = 'issue:' || CAST(?2 AS INTEGER) OR target IN
       (SELECT 'comment:' || id FROM local_comment WHERE repository_id = ?1 AND number = ?2))
     ORDER BY at, target, content, user_id`,
    place.repositoryId,
    place.number,
  );
}
