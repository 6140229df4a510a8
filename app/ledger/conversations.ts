// Repositories and conversations in the ledger (spec 1.2, 1.3), identified by the forge's own ids.

import type { PolicyFile, PolicyProblem } from "../../policies/policy-file.ts";
import type { ConversationRef } from "../forge/forge.ts";
import type { Sql, Tx } from "./ledger.ts";
import { insertOnce, update } from "./rows.ts";

export interface RepositoryRow {
  readonly id: string;
  readonly connection: string;
  readonly forgeId: string;
  readonly name: string;
  /** Where its objects come from: a local path or an https address. */
  readonly source: string;
  readonly defaultBranch: string;
  /** The last good policy file, if there ever was one, and the problems of a newer one (7.3). */
  readonly policy: PolicyFile | null;
  readonly policyCommit: string | null;
  readonly problems: readonly PolicyProblem[] | null;
  /** Through which installation or account it is reached; null on the local forge. */
  readonly account: string | null;
  readonly reach: "open" | "suspended" | "gone";
  /** Texts of people were looked through up to then (6.2). */
  readonly textsReadTo: number;
}

export interface ConversationRow {
  readonly id: string;
  readonly repositoryId: string;
  readonly number: number;
  readonly kind: "issue" | "pull";
  readonly runningEntryId: number | null;
  readonly lastClaimedAt: number;
  /** Since then nothing can be written here (1.7). */
  readonly goneAt: number | null;
  /** The head that the latest event of its pull request told of, and who moved it there (1.5). */
  readonly movedHead: { readonly commit: string; readonly byId: string } | null;
  /** 1 after a mandate made by a bot, until a person has written (1.5). */
  readonly botHadItsTurn: number;
}

export async function saveRepository(
  tx: Tx,
  repository: Pick<
    RepositoryRow,
    "id" | "connection" | "forgeId" | "name" | "source" | "defaultBranch"
  > & { readonly account?: string },
): Promise<void> {
  const isNew = await insertOnce(tx, "repository", repository);
  if (isNew) return;
  const { id, connection: _, forgeId: __, ...set } = repository;
  await update(tx, "repository", { set, where: { id } });
}

export async function savePolicy(
  tx: Tx,
  repositoryId: string,
  policy: Partial<Pick<RepositoryRow, "policy" | "policyCommit" | "problems">>,
): Promise<void> {
  await update(tx, "repository", { set: policy, where: { id: repositoryId } });
}

export function findRepository(
  sql: Sql,
  connection: string,
  forgeId: string,
): Promise<RepositoryRow | undefined> {
  return sql.first<RepositoryRow>(
    "SELECT * FROM repository WHERE connection = ? AND forge_id = ?",
    connection,
    forgeId,
  );
}

/** By the name that it has now; names are told apart as forges do, without regard to case. */
export function findRepositoryByName(
  sql: Sql,
  connection: string,
  name: string,
): Promise<RepositoryRow | undefined> {
  return sql.first<RepositoryRow>(
    "SELECT * FROM repository WHERE connection = ? AND LOWER(name) = LOWER(?) AND reach <> 'gone'",
    connection,
    name,
  );
}

export async function repositoryOf(sql: Sql, id: string): Promise<RepositoryRow> {
  const row = await sql.first<RepositoryRow>("SELECT * FROM repository WHERE id = ?", id);
  if (row === undefined) throw new Error(`repository ${id} is not in the ledger`);
  return row;
}

export function listRepositories(sql: Sql): Promise<RepositoryRow[]> {
  return sql.all<RepositoryRow>("SELECT * FROM repository ORDER BY name");
}

/** The conversation's row, made when it is first spoken in. */
export async function ensureConversation(
  tx: Tx,
  repository: Pick<RepositoryRow, "id">,
  about: { number: number; kind: "issue" | "pull" },
): Promise<ConversationRow> {
  const id = `${repository.id}#${about.number}`;
  await insertOnce(tx, "conversation", { id, repositoryId: repository.id, ...about });
  return conversationOf(tx, id);
}

export async function conversationOf(sql: Sql, id: string): Promise<ConversationRow> {
  const row = await sql.first<ConversationRow>("SELECT * FROM conversation WHERE id = ?", id);
  if (row === undefined) throw new Error(`conversation ${id} is not in the ledger`);
  return row;
}

/** Where a conversation is on its forge. */
export function refOf(repository: RepositoryRow, conversation: ConversationRow): ConversationRef {
  return {
    connection: repository.connection,
    forgeId: repository.forgeId,
    number: conversation.number,
  };
}

/** The conversation's row, where anybody spoke in it to us. */
export function findConversation(
  sql: Sql,
  ref: ConversationRef,
): Promise<ConversationRow | undefined> {
  return sql.first<ConversationRow>(
    `SELECT c.* FROM conversation c JOIN repository r ON r.id = c.repository_id
     WHERE r.connection = ? AND r.forge_id = ? AND c.number = ?`,
    ref.connection,
    ref.forgeId,
    ref.number,
  );
}

export async function changeConversation(
  tx: Tx,
  id: string,
  change: Partial<Pick<ConversationRow, "goneAt" | "movedHead" | "botHadItsTurn">>,
): Promise<void> {
  await update(tx, "conversation", { set: change, where: { id } });
}

/** Repositories of a connection that are reached through this account: all, or those named. */
export async function reachedThrough(
  sql: Sql,
  reached: { connection: string; account: string; forgeIds: readonly string[] | null },
): Promise<RepositoryRow[]> {
  const { connection, account, forgeIds } = reached;
  const rows = await sql.all<RepositoryRow>(
    "SELECT * FROM repository WHERE connection = ? AND account = ? ORDER BY id",
    connection,
    account,
  );
  return forgeIds === null ? rows : rows.filter(({ forgeId }) => forgeIds.includes(forgeId));
}

/** What was said in the repository is read up to `textsReadTo`. */
export async function noteTextsRead(tx: Tx, id: string, textsReadTo: number): Promise<void> {
  await update(tx, "repository", { set: { textsReadTo }, where: { id } });
}
