// GitHub's events in our own words (spec 6.2): Probot hands each verified delivery to the handler of its kind, which says
// what it speaks of. A payload says what to re-read; nothing in it is believed, and no address in it is ever asked.

import { createHash } from "node:crypto";
import type { Probot } from "probot";
import type { EventText, ForgeEvent } from "../../../../policies/events.ts";
import { Failure } from "../../../../policies/failure.ts";
import type { Webhooks } from "../../webhooks.ts";
import { nudgesOf } from "./nudges.ts";
import { by, idOf, type Payload, type ReadingOptions } from "./payload.ts";
import { reachOf } from "./reach.ts";

type Read = Webhooks["read"];

/** Probot as the reader: one handler for all events, whose findings go back to whoever handed the delivery in. */
export function openReading(probot: Probot, options: ReadingOptions): Read {
  const open = new Map<string, ForgeEvent[]>();
  probot.onAny((context) => {
    const found = eventsOf(context.name, context.payload as Payload, options);
    open.get(context.id)?.push(...found);
  });
  return async ({ guid, event, body }) => {
    const payload = parse(body);
    open.set(guid, []);
    try {
      await probot.receive({ id: guid, name: event, payload } as Parameters<Probot["receive"]>[0]);
      return open.get(guid) ?? [];
    } catch (error) {
      throw bad(event, error);
    } finally {
      open.delete(guid);
    }
  };
}

function parse(body: string): Payload {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (error) {
    throw bad("unparsable", error);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw bad("unparsable", new Error("the body is no object"));
}

/** Neither the payload nor the words of the error: both may hold anything. */
function bad(event: string, cause: unknown): Failure {
  return new Failure("bad-delivery", "never", {
    message: `a delivery of ${event} is not what it should be`,
    cause: cause instanceof Error ? new Error(cause.name) : undefined,
  });
}

/** What an event speaks of, in order. Throws whatever a malformed payload makes it stumble over. */
export function eventsOf(name: string, payload: Payload, options: ReadingOptions): ForgeEvent[] {
  switch (name) {
    case "issue_comment":
    case "issues":
    case "pull_request":
    case "pull_request_review":
    case "pull_request_review_comment":
      return [...saidOf(name, payload, options), ...nudgesOf(name, payload, options)];
    case "installation":
    case "installation_repositories":
    case "repository":
      return reachOf(name, payload, options);
    default:
      return nudgesOf(name, payload, options);
  }
}

interface Said extends Payload {
  readonly issue?: Body & { readonly number: number; readonly pull_request?: object };
  readonly pull_request?: Body & {
    readonly number: number;
    readonly merged?: boolean;
    readonly head: { readonly sha: string };
  };
  readonly comment?: Body & {
    readonly id: number;
    readonly performed_via_github_app?: { readonly id: number } | null;
  };
  readonly review?: Body & { readonly id: number };
  readonly changes?: { readonly body?: object };
}

interface Body {
  readonly body: string | null;
  readonly user: { readonly id: number } | null;
}

function saidOf(name: string, payload: Payload, options: ReadingOptions): ForgeEvent[] {
  const said = payload as Said;
  switch (name) {
    case "issue_comment":
      return commentOf(said, { kind: "comment", options });
    case "pull_request_review_comment":
      return commentOf(said, { kind: "inline-comment", options });
    case "pull_request_review":
      return reviewOf(said, options);
    case "issues":
      return [...issueOf(said, options), ...conversationOf(said, options)];
    default:
      return [...headOf(said, options), ...conversationOf(said, options)];
  }
}

function commentOf(
  said: Said,
  { kind, options }: { kind: "comment" | "inline-comment"; options: ReadingOptions },
): ForgeEvent[] {
  const { comment } = said;
  if (comment === undefined) throw new Error("no comment");
  const number = numberOf(said);
  const isOurs = isBySelf(comment, options);
  const bySelf = String(said.sender?.id) === options.self.id;
  const text = textOf(said, options, { kind, id: String(comment.id) });
  const change = said.action;
  if (change === "created") return isOurs ? [] : [newText(text, number, comment.body)];
  if (change !== "edited" && change !== "deleted") return [];
  if (isOurs) {
    if (bySelf || kind !== "comment") return [];
    return [{ kind: "own-text", ...conversation(said, options), ...by(said), id: text.id, change }];
  }
  if (change === "deleted") return [{ kind: "deleted", text, number }];
  return said.changes?.body === undefined ? [] : [{ kind: "edited", text, number }];
}

function reviewOf(said: Said, options: ReadingOptions): ForgeEvent[] {
  const { review, action } = said;
  if (review === undefined) throw new Error("no review");
  if (isBySelf(review, options) || review.body === null || review.body === "") return [];
  const number = numberOf(said);
  const text = textOf(said, options, { kind: "review", id: `${number}/${review.id}` });
  if (action === "submitted") return [newText(text, number, review.body)];
  return action === "edited" ? [{ kind: "edited", text, number }] : [];
}

/** The body of an issue counts when it is opened; a pull request's never (1.4). */
function issueOf(said: Said, options: ReadingOptions): ForgeEvent[] {
  const { issue, action } = said;
  if (issue === undefined) throw new Error("no issue");
  if (isBySelf(issue, options)) return [];
  const { number } = issue;
  const text = textOf(said, options, { kind: "issue", id: String(number) });
  if (action === "opened") return [newText(text, number, issue.body)];
  const isEdit = action === "edited" && said.changes?.body !== undefined;
  return isEdit ? [{ kind: "edited", text, number }] : [];
}

function headOf(said: Said, options: ReadingOptions): ForgeEvent[] {
  if (said.action !== "synchronize" || said.pull_request === undefined) return [];
  const { sha } = said.pull_request.head;
  return [{ kind: "head-moved", ...conversation(said, options), ...by(said), commit: sha }];
}

const changes = {
  closed: "closed",
  reopened: "reopened",
  locked: "locked",
  unlocked: "unlocked",
  deleted: "deleted",
  transferred: "transferred",
} as const;

function conversationOf(said: Said, options: ReadingOptions): ForgeEvent[] {
  const { action = "" } = said;
  if (!Object.hasOwn(changes, action)) return [];
  const isMerged = action === "closed" && said.pull_request?.merged === true;
  const change = isMerged ? "merged" : changes[action as keyof typeof changes];
  return [{ kind: "conversation", ...conversation(said, options), ...by(said), change }];
}

function newText(text: EventText, number: number, body: string | null): ForgeEvent {
  const bodyHash = createHash("sha256")
    .update(body ?? "")
    .digest("hex");
  return { kind: "text", text, number, bodyHash };
}

function textOf(
  { repository }: Payload,
  { connection }: ReadingOptions,
  text: Pick<EventText, "kind" | "id">,
): EventText {
  return { connection, forgeId: idOf(repository), ...text };
}

function conversation(said: Said, options: ReadingOptions) {
  const { connection } = options;
  return { connection, forgeId: idOf(said.repository), number: numberOf(said) };
}

/** Of an issue or pull request; both are numbered in one sequence. */
function numberOf({ issue, pull_request: pull }: Said): number {
  const number = issue?.number ?? pull?.number;
  if (!Number.isInteger(number)) throw new Error("no number");
  return Number(number);
}

/** By numbers alone: a name that looks like ours is only a name. */
function isBySelf(
  text: Body & { performed_via_github_app?: { readonly id: number } | null },
  { self, appId }: ReadingOptions,
): boolean {
  return String(text.user?.id) === self.id || text.performed_via_github_app?.id === appId;
}
