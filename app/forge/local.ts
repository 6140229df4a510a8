// The local forge (spec 6.1): the port on the ledger's own issues, for every repository that this home has served. What
// Holdfast writes through it never causes a delivery; how people write is in local-writing.ts.

import type { Level } from "../../policies/authority.ts";
import { Failure } from "../../policies/failure.ts";
import { findRepository, listRepositories, type RepositoryRow } from "../ledger/conversations.ts";
import {
  addComment,
  addPull,
  addReaction,
  changeComment,
  changeIssue,
  commentsBy,
  findComment,
  findIssue,
  findOpenPull,
  latestComments,
  type CommentRow,
  type IssueRow,
  type Place,
} from "../ledger/issues.ts";
import type { Ledger, Sql, Tx } from "../ledger/ledger.ts";
import type {
  ConversationRef,
  Forge,
  ForgeConversation,
  ForgeRepository,
  ForgeText,
  Person,
  PullRequest,
  Reaction,
  RepositoryRef,
  TextRef,
  Written,
} from "./forge.ts";
import { bodyLimit, unfitBody, unfitTitle, type WriteRefusal } from "./local-writing.ts";

const connection = "local";

export interface LocalForgeOptions {
  readonly ledger: Ledger;
  /** Where the conversations of a repository are shown, without closing slash; null when nowhere. */
  readonly pageOf: (forgeId: string) => string | null;
  /** Who may do everything on this machine; nobody else may do anything. */
  readonly owner: Person;
  readonly self: Person;
}

export function openLocalForge(options: LocalForgeOptions): LocalForge {
  return new LocalForge(options);
}

export class LocalForge implements Forge {
  readonly connection = connection;
  readonly capabilities = {
    reactions: true,
    checks: false,
    reviewThreads: false,
    drafts: false,
    deliveryListing: false,
    releases: false,
  };
  readonly writeLimits = null;
  readonly commentLimit = bodyLimit;
  readonly self: Person;
  readonly #options: LocalForgeOptions;

  constructor(options: LocalForgeOptions) {
    this.#options = options;
    this.self = options.self;
  }

  async listRepositories(): Promise<ForgeRepository[]> {
    const rows = await this.#options.ledger.read(listRepositories);
    return rows.filter((row) => row.connection === connection).map(repositoryFrom);
  }

  async readRepository(ref: RepositoryRef): Promise<ForgeRepository | null> {
    const row = await this.#options.ledger.read((sql) =>
      findRepository(sql, ref.connection, ref.forgeId),
    );
    return row === undefined ? null : repositoryFrom(row);
  }

  async gitToken(): Promise<null> {
    return null;
  }

  emailOf({ id }: Pick<Person, "id">): string {
    return `${id}@${connection}`;
  }

  readText(ref: TextRef): Promise<ForgeText | null> {
    return this.#options.ledger.read(async (sql) => {
      const { issue, comment } = await this.#find(sql, ref);
      if (comment !== undefined) return this.#commentText(ref, comment);
      return issue === undefined ? null : this.#issueText(ref, issue);
    });
  }

  async readConversation(ref: ConversationRef): Promise<ForgeConversation | null> {
    const issue = await this.#issueAt(ref);
    if (issue === undefined) return null;
    const { number, kind, title, body, state } = issue;
    const author = this.#author(issue);
    return { number, kind, title, body, state, author, url: this.#url(ref, number) };
  }

  async listTexts(ref: ConversationRef, limit: number): Promise<ForgeText[]> {
    const issue = await this.#issueAt(ref);
    if (issue === undefined) return [];
    const comments = await this.#options.ledger.read((sql) => latestComments(sql, issue, limit));
    const texts = comments.map((comment) => this.#commentText(ref, comment));
    return comments.length < limit ? [this.#issueText(ref, issue), ...texts] : texts;
  }

  /** Nothing is ever missed here: a text and its delivery are one transaction. */
  async textsSince(): Promise<ForgeText[]> {
    return [];
  }

  async permissionOf(ref: RepositoryRef, personId: string): Promise<Level> {
    if (personId !== this.#options.owner.id) return "none";
    return (await this.readRepository(ref)) === null ? "none" : "admin";
  }

  createComment(ref: ConversationRef, body: string): Promise<Written> {
    return this.#write(async (tx) => {
      refuseUnfit(unfitBody(body));
      const place = await placeOf(tx, ref);
      if ((await findIssue(tx, place)) === undefined) refuse(`there is no #${ref.number}`);
      const id = await addComment(tx, { ...place, body, requestKey: null }, this.self);
      return this.#written(ref, { id, number: ref.number });
    });
  }

  editComment(ref: ConversationRef, id: string, body: string): Promise<Written | null> {
    return this.#write(async (tx) => {
      refuseUnfit(unfitBody(body));
      const place = await placeOf(tx, ref);
      const comment = await findComment(tx, place.repositoryId, id);
      if (comment === undefined || comment.number !== place.number) return null;
      if (comment.authorId !== this.self.id) refuse(`comment ${id} is somebody else's`);
      await changeComment(tx, comment.id, body);
      return this.#written(ref, comment);
    });
  }

  async listOwnComments(
    ref: ConversationRef,
    since: number,
  ): Promise<(Written & { body: string })[]> {
    const own = { authorId: this.self.id, since };
    const comments = await this.#options.ledger.read(async (sql) => {
      const place = await findPlace(sql, ref);
      return place === null ? [] : commentsBy(sql, place, own);
    });
    return comments.map((comment) => ({ ...this.#written(ref, comment), body: comment.body }));
  }

  react(ref: TextRef, content: Reaction): Promise<void> {
    return this.#write(async (tx) => {
      const { repositoryId } = await placeOf(tx, { ...ref, number: 0 });
      const { issue, comment } = await this.#find(tx, ref);
      if ((issue ?? comment) === undefined) refuse(`there is no ${ref.kind} ${ref.id}`);
      const target = `${ref.kind}:${ref.id}`;
      await addReaction(tx, repositoryId, { target, content, userId: this.self.id });
    });
  }

  async findPull(ref: RepositoryRef, head: string): Promise<PullRequest | null> {
    const pull = await this.#options.ledger.read(async (sql) => {
      const place = await findPlace(sql, { ...ref, number: 0 });
      return place === null ? undefined : findOpenPull(sql, place.repositoryId, head);
    });
    return pull === undefined ? null : this.#pull(ref, pull);
  }

  createPull(
    ref: RepositoryRef,
    pull: Omit<PullRequest, "number" | "url"> & { body: string },
  ): Promise<PullRequest> {
    return this.#write(async (tx) => {
      refuseUnfit(unfitPull(pull));
      const { repositoryId } = await placeOf(tx, { ...ref, number: 0 });
      const open = await findOpenPull(tx, repositoryId, pull.head);
      if (open !== undefined) refuse(`${pull.head} has the open pull request #${open.number}`);
      const { title, body, head, base, isDraft } = pull;
      const row = { repositoryId, title, body, head, base, isDraft };
      const number = await addPull(tx, row, this.self);
      return { number, url: this.#url(ref, number), title, head, base, isDraft };
    });
  }

  editPull(
    ref: RepositoryRef,
    number: number,
    { title, body, isDraft }: { title: string; body: string; isDraft: boolean },
  ): Promise<void> {
    return this.#write(async (tx) => {
      refuseUnfit(unfitPull({ title, body }));
      const place = await placeOf(tx, { ...ref, number });
      const issue = await findIssue(tx, place);
      if (issue?.kind !== "pull") refuse(`#${number} is no pull request`);
      await changeIssue(tx, place, { title, body, isDraft });
    });
  }

  /** The heads of these pull requests are branches of the repository itself, and nobody else moves them. */
  async readPull(): Promise<null> {
    return null;
  }

  async writeCheck(): Promise<void> {
    refuse("the local forge has no checks");
  }

  async readChecks(): Promise<[]> {
    return [];
  }

  async listReleases(): Promise<[]> {
    return [];
  }

  async listPackageVersions(): Promise<[]> {
    return [];
  }

  async readRef(): Promise<null> {
    return null;
  }

  async failedDeliveries(): Promise<[]> {
    return [];
  }

  async redeliver(): Promise<void> {
    refuse("the local forge keeps no list of deliveries");
  }

  #issueAt(ref: ConversationRef): Promise<IssueRow | undefined> {
    return this.#options.ledger.read(async (sql) => {
      const place = await findPlace(sql, ref);
      return place === null ? undefined : findIssue(sql, place);
    });
  }

  async #find(sql: Sql, ref: TextRef): Promise<{ issue?: IssueRow; comment?: CommentRow }> {
    const place = await findPlace(sql, { ...ref, number: 0 });
    if (place === null) return {};
    const { repositoryId } = place;
    switch (ref.kind) {
      case "issue": {
        const issue = await findIssue(sql, { repositoryId, number: Number(ref.id) });
        return issue !== undefined && String(issue.number) === ref.id ? { issue } : {};
      }
      case "comment": {
        const comment = await findComment(sql, repositoryId, ref.id);
        return comment === undefined ? {} : { comment };
      }
      case "review":
      case "inline-comment":
        return {};
    }
  }

  /** What the ledger cannot take now was not applied, and may be later (contract of the port). */
  async #write<T>(change: (tx: Tx) => Promise<T>): Promise<T> {
    try {
      return await this.#options.ledger.write(change);
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== "persistence-unavailable") throw error;
      const message = "the local forge cannot be written";
      throw new Failure("unavailable", "later", { message, cause: error });
    }
  }

  #url(ref: RepositoryRef, number: number, fragment = ""): string {
    const base = this.#options.pageOf(ref.forgeId);
    return base === null ? `#${number}` : `${base}/c/${number}${fragment}`;
  }

  #written(ref: RepositoryRef, { id, number }: Pick<CommentRow, "id" | "number">): Written {
    return { id: String(id), url: this.#url(ref, number, `#comment-${id}`) };
  }

  #author({ authorId, authorName }: IssueRow | CommentRow): Person {
    return { id: authorId, name: authorName, isBot: authorId === this.self.id };
  }

  #issueText(at: RepositoryRef, issue: IssueRow): ForgeText {
    const { number, body, createdAt } = issue;
    const ref = textRef(at, "issue", number);
    const author = this.#author(issue);
    const url = this.#url(at, number);
    return { ref, number, body, author, url, createdAt, changedAt: createdAt, isEdited: false };
  }

  #commentText(at: RepositoryRef, comment: CommentRow): ForgeText {
    const { id, number, body, createdAt } = comment;
    const { url } = this.#written(at, comment);
    const ref = textRef(at, "comment", id);
    const author = this.#author(comment);
    const changedAt = comment.editedAt ?? createdAt;
    const isEdited = comment.editedAt !== null;
    return { ref, number, body, author, url, createdAt, changedAt, isEdited };
  }

  #pull(ref: RepositoryRef, row: IssueRow): PullRequest {
    const { number, title, head, base, isDraft } = row;
    if (head === null || base === null) throw new Error(`pull request #${number} has no branch`);
    return { number, url: this.#url(ref, number), title, head, base, isDraft: isDraft === 1 };
  }
}

/** Where a text is in the ledger; null for a repository that is not on the local forge. */
async function findPlace(sql: Sql, ref: ConversationRef): Promise<Place | null> {
  const row =
    ref.connection === connection ? await findRepository(sql, connection, ref.forgeId) : undefined;
  return row === undefined ? null : { repositoryId: row.id, number: ref.number };
}

/** As `findPlace`, for a write: refuses a repository that is not here. */
async function placeOf(tx: Tx, ref: ConversationRef): Promise<Place> {
  const place = await findPlace(tx, ref);
  return place ?? refuse("this repository is not on the local forge");
}

function textRef({ forgeId }: RepositoryRef, kind: "issue" | "comment", id: number): TextRef {
  return { connection, forgeId, kind, id: String(id) };
}

function repositoryFrom(row: RepositoryRow): ForgeRepository {
  const { forgeId, name, source, defaultBranch } = row;
  return { forgeId, name, source, defaultBranch, account: connection, isArchived: false };
}

function unfitPull({ title, body }: { title: string; body: string }): WriteRefusal | null {
  return unfitTitle(title) ?? (body === "" ? null : unfitBody(body));
}

function refuseUnfit(unfit: WriteRefusal | null): void {
  if (unfit !== null) refuse(`${unfit.reason}: ${unfit.seen}, wanted ${unfit.wanted}`);
}

/** Never applied, and never will be (contract of the port). */
function refuse(message: string): never {
  throw new Failure("refused", "never", { message });
}
