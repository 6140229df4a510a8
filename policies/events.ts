// Our own model of what a forge tells us (spec 6.2): an event says what to re-read, never what is so.

interface EventRepository {
  readonly connection: string;
  readonly forgeId: string;
}

export interface EventText extends EventRepository {
  readonly kind: "issue" | "comment" | "review" | "inline-comment";
  readonly id: string;
}

interface EventConversation extends EventRepository {
  readonly number: number;
}

/** Who did it, as the forge's own numeric id; the name is for people to read and decides nothing. */
interface EventPerson {
  readonly byId: string;
  readonly byName: string;
}

/** What an event tells a wait (3.4): a doorbell, which proves nothing and grants nothing. */
export interface NudgeEvent extends EventRepository {
  readonly kind: "nudge";
  /** Kind and action as the forge names them, such as `release.published`. */
  readonly event: string;
  readonly tag: string | null;
  readonly branch: string | null;
  /** Full commit hash. */
  readonly commit: string | null;
  readonly number: number | null;
  /** Rings at this mandate of the repository alone, whatever its wait listens for. */
  readonly mandateId?: string;
}

export type ForgeEvent =
  /** A new text that may hold commands. */
  | {
      readonly kind: "text";
      readonly text: EventText;
      readonly number: number;
      /** SHA-256 of the body as the event told it, where it did: another one now means that it was edited since. */
      readonly bodyHash?: string;
    }
  /** A text was changed; nothing runs because of it (1.4). */
  | { readonly kind: "edited"; readonly text: EventText; readonly number: number }
  /** A text was deleted; it cancels nothing and is noted (1.4). */
  | { readonly kind: "deleted"; readonly text: EventText; readonly number: number }
  /** The operator's own command, given on the machine itself (7.1). */
  | (EventConversation & {
      readonly kind: "operator";
      readonly command: string;
      readonly byName: string;
    })
  /** A comment of ours was edited or deleted by somebody else: it is drawn once more (6.3). */
  | (EventConversation &
      EventPerson & {
        readonly kind: "own-text";
        /** The comment's id. */
        readonly id: string;
        readonly change: "edited" | "deleted";
      })
  /** The head of a pull request is another commit now (1.5). */
  | (EventConversation & EventPerson & { readonly kind: "head-moved"; readonly commit: string })
  /** Something else happened to a conversation; told to the next turn (1.7). */
  | (EventConversation &
      EventPerson & {
        readonly kind: "conversation";
        readonly change:
          | "closed"
          | "reopened"
          | "merged"
          | "locked"
          | "unlocked"
          | "deleted"
          | "transferred";
      })
  /** What we may reach has changed (1.7): these repositories, or all of the account where none is named. */
  | (EventPerson & {
      readonly kind: "reach";
      readonly connection: string;
      /** The installation or account through which they are reached. */
      readonly account: string;
      readonly forgeIds: readonly string[] | null;
      readonly change: "open" | "suspended" | "gone";
    })
  | NudgeEvent;

/** Which conversation or repository an event is about: what must be accepted in order. */
export function subjectOf(event: ForgeEvent): string {
  switch (event.kind) {
    case "text":
    case "edited":
    case "deleted":
      return conversationKey({ ...event.text, number: event.number });
    case "operator":
    case "own-text":
    case "head-moved":
    case "conversation":
      return conversationKey(event);
    case "reach":
      return `${event.connection} account ${event.account}`;
    case "nudge":
      return `${event.connection} ${event.forgeId}`;
  }
}

function conversationKey({ connection, forgeId, number }: EventConversation): string {
  return `${connection} ${forgeId}#${number}`;
}
