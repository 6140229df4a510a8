// The forge port (spec 6.1): what Holdfast asks of GitHub, Forgejo or the local forge, in its own words.
// Nobody outside this folder asks which forge it is; differences are capabilities.

import type { Level } from "../../policies/authority.ts";
import { Failure } from "../../policies/failure.ts";

export interface Capabilities {
  readonly reactions: boolean;
  readonly checks: boolean;
  readonly reviewThreads: boolean;
  /** A pull request can be a draft. */
  readonly drafts: boolean;
  /** The forge keeps a list of its deliveries and sends one again when asked (6.2). */
  readonly deliveryListing: boolean;
  /** Releases, tags and packages can be read. */
  readonly releases: boolean;
}

/** A repository is identified by the forge's own id; its name is looked up at use (1.7). */
export interface RepositoryRef {
  readonly connection: string;
  readonly forgeId: string;
}

/** A repository as the forge shows it now. */
export interface ForgeRepository {
  readonly forgeId: string;
  /** `owner/name`; looked up at use, never an identity. */
  readonly name: string;
  /** Where git fetches from and pushes to, without credentials; made by the adapter from its own base URL. */
  readonly source: string;
  readonly defaultBranch: string;
  /** Through which installation or account it is reached; write limits are counted for it (6.3). */
  readonly account: string;
  readonly isArchived: boolean;
}

export interface ConversationRef extends RepositoryRef {
  readonly number: number;
}

export type TextKind = "issue" | "comment" | "review" | "inline-comment";

/** A text that can hold commands, as it is now on the forge. */
export interface TextRef extends RepositoryRef {
  readonly kind: TextKind;
  readonly id: string;
}

export interface Person {
  readonly id: string;
  readonly name: string;
  readonly isBot: boolean;
}

export interface ForgeText {
  readonly ref: TextRef;
  readonly number: number;
  readonly body: string;
  readonly author: Person;
  readonly url: string;
  readonly createdAt: number;
  /** When it was last changed; the same as `createdAt` where it never was. */
  readonly changedAt: number;
  readonly isEdited: boolean;
}

export interface ForgeConversation {
  readonly number: number;
  readonly kind: "issue" | "pull";
  readonly title: string;
  readonly body: string;
  readonly author: Person;
  readonly state: "open" | "closed" | "merged";
  readonly url: string;
}

/** What was written: our id of it, to be kept in the ledger. */
export interface Written {
  readonly id: string;
  readonly url: string;
}

export interface PullRequest {
  readonly number: number;
  readonly url: string;
  readonly title: string;
  readonly head: string;
  readonly base: string;
  readonly isDraft: boolean;
}

/** A pull request as it is now, with the commit that its work would build on (1.5). */
export interface PullState {
  readonly number: number;
  readonly state: "open" | "closed" | "merged";
  readonly isDraft: boolean;
  readonly author: Person;
  readonly headCommit: string;
  readonly headBranch: string;
  /** The head lies in another repository: we can never push there. */
  readonly isFork: boolean;
  /** The head branch is protected: nobody pushes there without a pull request. */
  readonly isHeadProtected: boolean;
  readonly baseBranch: string;
}

/** A check on a commit (7.3, 4.5); one per name and commit, changed in place. */
export interface Check {
  readonly commit: string;
  readonly name: string;
  readonly conclusion: "success" | "failure" | "neutral";
  readonly title: string;
  readonly summary: string;
  /** Shown at their lines; at most 50 are kept. */
  readonly annotations: readonly {
    readonly path: string;
    readonly line: number;
    readonly message: string;
  }[];
}

/** What other programs say about a commit. */
export interface CheckResult {
  readonly name: string;
  readonly source: "check" | "status";
  readonly state: "pending" | "success" | "failure";
}

export interface Release {
  readonly tag: string;
  readonly name: string;
  readonly isDraft: boolean;
  readonly isPrerelease: boolean;
  readonly url: string;
  readonly publishedAt: number | null;
}

/** A delivery that the forge says did not arrive. */
export interface FailedDelivery {
  readonly id: string;
  readonly guid: string;
  readonly at: number;
}

/** Writes that a forge takes from one account; null where nobody counts (6.3). */
export interface WriteLimits {
  readonly perSecond: number;
  readonly perMinute: number;
  readonly perHour: number;
}

export type Reaction = "eyes" | "rocket" | "confused";

/**
 * Contract. Reads of what does not exist give null. Writes either return, or throw a Failure whose code says what is
 * known: `refused` (never applied and never will be: 403 without a limit, 404, 410, 422, 423), `unavailable` (never
 * applied, try later), `limited` (never applied; a `LimitedFailure` says until when nothing may be written), or
 * `unsure` (it may have been applied: probe before repeating). Reads throw `unavailable`, `limited` or `refused`.
 * A token that is not taken is `unavailable`. Reactions are idempotent per content. Nothing is retried in here.
 */
export interface Forge {
  readonly connection: string;
  readonly capabilities: Capabilities;
  /** The account Holdfast writes as; its own texts never command it. */
  readonly self: Person;
  /** The longest comment the forge takes, in characters. */
  readonly commentLimit: number;
  readonly writeLimits: WriteLimits | null;
  /** Every repository that the connection reaches now. */
  listRepositories(): Promise<ForgeRepository[]>;
  readRepository(ref: RepositoryRef): Promise<ForgeRepository | null>;
  /** For git over https, minted for this one use and never stored; null where git needs none (6.5). */
  gitToken(ref: RepositoryRef, use: "read" | "write"): Promise<string | null>;
  /** The address that makes the forge name this person as author of a commit. */
  emailOf(person: Pick<Person, "id" | "name">): string;
  readText(ref: TextRef): Promise<ForgeText | null>;
  readConversation(ref: ConversationRef): Promise<ForgeConversation | null>;
  /** All texts of people and bots in a conversation, oldest first, at most `limit`, the latest ones. */
  listTexts(ref: ConversationRef, limit: number): Promise<ForgeText[]>;
  /** Texts made or changed at or after `since` in the whole repository, oldest first, at most `limit` (6.2). */
  textsSince(ref: RepositoryRef, since: number, limit: number): Promise<ForgeText[]>;
  permissionOf(ref: RepositoryRef, personId: string): Promise<Level>;
  createComment(ref: ConversationRef, body: string): Promise<Written>;
  /** Null when the comment is gone. */
  editComment(ref: ConversationRef, id: string, body: string): Promise<Written | null>;
  /** Our own comments made or changed at or after `since` (with their bodies), for probing an unsure write. */
  listOwnComments(ref: ConversationRef, since: number): Promise<(Written & { body: string })[]>;
  react(ref: TextRef, content: Reaction): Promise<void>;
  /** The open pull request of a head branch, if there is one: it is adopted, not doubled. */
  findPull(ref: RepositoryRef, head: string): Promise<PullRequest | null>;
  createPull(
    ref: RepositoryRef,
    pull: Omit<PullRequest, "number" | "url"> & { body: string },
  ): Promise<PullRequest>;
  editPull(
    ref: RepositoryRef,
    number: number,
    change: { title: string; body: string; isDraft: boolean },
  ): Promise<void>;
  readPull(ref: ConversationRef): Promise<PullState | null>;
  /** With capability `checks`. */
  writeCheck(ref: RepositoryRef, check: Check): Promise<void>;
  /** What is known of a commit, ours left out; empty where nobody said anything. */
  readChecks(ref: RepositoryRef, commit: string): Promise<CheckResult[]>;
  /** With capability `releases`; newest first, at most 100. */
  listReleases(ref: RepositoryRef): Promise<Release[]>;
  /** Versions of a package of the repository's owner, newest first, at most 100. */
  listPackageVersions(ref: RepositoryRef, name: string): Promise<string[]>;
  /** The commit of a full ref such as `refs/tags/v1` or `refs/heads/main`; null when it is not there. */
  readRef(ref: RepositoryRef, name: string): Promise<string | null>;
  /** With capability `deliveryListing`: failed since then, without those that arrived at a later attempt. */
  failedDeliveries(since: number): Promise<FailedDelivery[]>;
  /** Asks for a delivery once more; it comes through the intake like any other, under the same GUID. */
  redeliver(id: string): Promise<void>;
}

/** The forge takes no write of this account before `until`, epoch ms (6.3). */
export class LimitedFailure extends Failure {
  readonly until: number;

  constructor(until: number, options: { message: string; cause?: unknown }) {
    super("limited", "later", options);
    this.until = until;
  }
}

/** Never applied and never will be. */
export class RefusedFailure extends Failure {
  /** The place takes nothing from us any more: locked, archived, gone, or we are blocked there (1.7). */
  readonly isClosed: boolean;

  constructor(options: { message: string; isClosed: boolean }) {
    super("refused", "never", options);
    this.isClosed = options.isClosed;
  }
}
