// The forge port (spec 6.1): what Holdfast asks of GitHub, Forgejo or the local forge, in its own words.
// Nobody outside this folder asks which forge it is; differences are capabilities.

import type { Level } from "../../policies/authority.ts";

export interface Capabilities {
  readonly reactions: boolean;
  readonly checks: boolean;
  readonly reviewThreads: boolean;
  readonly deliveryListing: boolean;
}

/** A repository is identified by the forge's own id; its name is looked up at use (1.7). */
export interface RepositoryRef {
  readonly connection: string;
  readonly forgeId: string;
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

export type Reaction = "eyes" | "rocket" | "confused";

/**
 * Contract. Reads of what does not exist give null. Writes either return, or throw a Failure whose code says what is
 * known: `refused` (never applied and never will be), `unavailable` (never applied, try later), or `unsure` (it may
 * have been applied: probe before repeating). Reactions are idempotent per content. Nothing is retried in here.
 */
export interface Forge {
  readonly connection: string;
  readonly capabilities: Capabilities;
  /** The account Holdfast writes as; its own texts never command it. */
  readonly self: Person;
  /** The longest comment the forge takes, in characters. */
  readonly commentLimit: number;
  readText(ref: TextRef): Promise<ForgeText | null>;
  readConversation(ref: ConversationRef): Promise<ForgeConversation | null>;
  /** All texts of people and bots in a conversation, oldest first, at most `limit`, the latest ones. */
  listTexts(ref: ConversationRef, limit: number): Promise<ForgeText[]>;
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
}
