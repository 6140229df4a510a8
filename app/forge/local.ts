// The local forge (spec 6.1): the port on the ledger's own issues. What Holdfast writes through it
// never causes a delivery; how people write is in local-writing.ts.

import type { Level } from "../../policies/authority.ts";
import { Failure } from "../../policies/failure.ts";
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
  /** The one repository that this forge shows, as the ledger and as the forge know it. */
  readonly repositoryRowId: string;
  readonly repositoryForgeId: string;
  /** Where the web page is served, without closing slash; null when nothing is. */
  readonly baseUrl: () => string | null;
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
    deliveryListing: false,
  };
  readonly commentLimit = bodyLimit;
  readonly self: Person;
  readonly #options: LocalForgeOptions;

  constructor(options: LocalForgeOptions) {
    this.#options = options;
    this.self = options.self;
  }

  async readText(ref: TextRef): Promise<ForgeText | null> {
    if (!this.#has(ref)) return null;
    return this.#options.ledger.read(async (sql) => {
      const { issue, comment } = await this.#find(sql, ref);
      if (comment !== undefined) return this.#commentText(comment);
      return issue === undefined ? null : this.#issueText(issue);
    });
  }

  async readConversation(ref: ConversationRef): Promise<ForgeConversation | null> {
    const issue = await this.#issueAt(ref);
    if (issue === undefined) return null;
    const { number, kind, title, body, state } = issue;
    return {
      number,
      kind,
      title,
      body,
      state,
      author: this.#author(issue),
      url: this.#url(number),
    };
  }

  async listTexts(ref: ConversationRef, limit: number): Promise<ForgeText[]> {
    const issue = await this.#issueAt(ref);
    if (issue === undefined) return [];
    const comments = await this.#options.ledger.read((sql) => latestComments(sql, issue, limit));
    const texts = comments.map((comment) => this.#commentText(comment));
    return comments.length < limit ? [this.#issueText(issue), ...texts] : texts;
  }

  async permissionOf(ref: RepositoryRef, personId: string): Promise<Level> {
    return this.#has(ref) && personId === this.#options.owner.id ? "admin" : "none";
  }

  createComment(ref: ConversationRef, body: string): Promise<Written> {
    return this.#write(async (tx) => {
      refuseUnfit(unfitBody(body));
      const place = this.#place(ref);
      if ((await findIssue(tx, place)) === undefined) refuse(`there is no #${ref.number}`);
      const id = await addComment(tx, { ...place, body, requestKey: null }, this.self);
      return this.#written({ id, number: ref.number });
    });
  }

  editComment(ref: ConversationRef, id: string, body: string): Promise<Written | null> {
    return this.#write(async (tx) => {
      refuseUnfit(unfitBody(body));
      const place = this.#place(ref);
      const comment = await findComment(tx, place.repositoryId, id);
      if (comment === undefined || comment.number !== place.number) return null;
      if (comment.authorId !== this.self.id) refuse(`comment ${id} is somebody else's`);
      await changeComment(tx, comment.id, body);
      return this.#written(comment);
    });
  }

  async listOwnComments(
    ref: ConversationRef,
    since: number,
  ): Promise<(Written & { body: string })[]> {
    if (!this.#has(ref)) return [];
    const own = { authorId: this.self.id, since };
    const place = this.#place(ref);
    const comments = await this.#options.ledger.read((sql) => commentsBy(sql, place, own));
    return comments.map((comment) => ({ ...this.#written(comment), body: comment.body }));
  }

  react(ref: TextRef, content: Reaction): Promise<void> {
    return this.#write(async (tx) => {
      const { repositoryId } = this.#place({ ...ref, number: 0 });
      const { issue, comment } = await this.#find(tx, ref);
      if ((issue ?? comment) === undefined) refuse(`there is no ${ref.kind} ${ref.id}`);
      const target = `${ref.kind}:${ref.id}`;
      await addReaction(tx, repositoryId, { target, content, userId: this.self.id });
    });
  }

  async findPull(ref: RepositoryRef, head: string): Promise<PullRequest | null> {
    if (!this.#has(ref)) return null;
    const { ledger, repositoryRowId } = this.#options;
    const pull = await ledger.read((sql) => findOpenPull(sql, repositoryRowId, head));
    return pull === undefined ? null : this.#pull(pull);
  }

  createPull(
    ref: RepositoryRef,
    pull: Omit<PullRequest, "number" | "url"> & { body: string },
  ): Promise<PullRequest> {
    return this.#write(async (tx) => {
      refuseUnfit(unfitPull(pull));
      const { repositoryId } = this.#place({ ...ref, number: 0 });
      const open = await findOpenPull(tx, repositoryId, pull.head);
      if (open !== undefined) refuse(`${pull.head} has the open pull request #${open.number}`);
      const { title, body, head, base, isDraft } = pull;
      const row = { repositoryId, title, body, head, base, isDraft };
      const number = await addPull(tx, row, this.self);
      return { number, url: this.#url(number), title, head, base, isDraft };
    });
  }

  editPull(
    ref: RepositoryRef,
    number: number,
    { title, body, isDraft }: { title: string; body: string; isDraft: boolean },
  ): Promise<void> {
    return this.#write(async (tx) => {
      refuseUnfit(unfitPull({ title, body }));
      const place = this.#place({ ...ref, number });
      const issue = await findIssue(tx, place);
      if (issue?.kind !== "pull") refuse(`#${number} is no pull request`);
      await changeIssue(tx, place, { title, body, isDraft });
    });
  }

  #has(ref: RepositoryRef): boolean {
    return ref.connection === connection && ref.forgeId === this.#options.repositoryForgeId;
  }

  /** Where a write goes; refuses a repository that is not here. */
  #place(ref: ConversationRef): Place {
    if (!this.#has(ref)) refuse("this repository is not on the local forge");
    return { repositoryId: this.#options.repositoryRowId, number: ref.number };
  }

  async #issueAt(ref: ConversationRef): Promise<IssueRow | undefined> {
    if (!this.#has(ref)) return undefined;
    return this.#options.ledger.read((sql) => findIssue(sql, this.#place(ref)));
  }

  async #find(sql: Sql, ref: TextRef): Promise<{ issue?: IssueRow; comment?: CommentRow }> {
    const repositoryId = this.#options.repositoryRowId;
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

  #url(number: number, fragment = ""): string {
    const base = this.#options.baseUrl();
    return base === null ? `#${number}` : `${base}/c/${number}${fragment}`;
  }

  #written({ id, number }: Pick<CommentRow, "id" | "number">): Written {
    return { id: String(id), url: this.#url(number, `#comment-${id}`) };
  }

  #author({ authorId, authorName }: IssueRow | CommentRow): Person {
    return { id: authorId, name: authorName, isBot: authorId === this.self.id };
  }

  #issueText(issue: IssueRow): ForgeText {
    const { number, body, createdAt } = issue;
    const ref = this.#textRef("issue", number);
    const author = this.#author(issue);
    return { ref, number, body, author, url: this.#url(number), createdAt, isEdited: false };
  }

  #commentText(comment: CommentRow): ForgeText {
    const { id, number, body, createdAt } = comment;
    const { url } = this.#written(comment);
    const ref = this.#textRef("comment", id);
    const isEdited = comment.editedAt !== null;
    return { ref, number, body, author: this.#author(comment), url, createdAt, isEdited };
  }

  #textRef(kind: "issue" | "comment", id: number): TextRef {
    return { connection, forgeId: this.#options.repositoryForgeId, kind, id: String(id) };
  }

  #pull({ number, title, head, base, isDraft }: IssueRow): PullRequest {
    if (head === null || base === null) throw new Error(`pull request #${number} has no branch`);
    return { number, url: this.#url(number), title, head, base, isDraft: isDraft === 1 };
  }
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
