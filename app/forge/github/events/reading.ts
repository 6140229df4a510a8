// GitHub's events in our own words (spec 6.2): Probot hands each verified delivery to the handler of its kind, which says
// what it speaks of. A payload says what to re-read; nothing in it is believed, and no address in it is ever asked.

import { createHash, randomUUID } from "node:crypto";
import type { Probot } from "probot";
import type { EventText, ForgeEvent } from "../../../../policies/events.ts";
import { Failure } from "../../../../policies/failure.ts";
import type { Webhooks } from "../../webhooks.ts";
import { nudgesOf } from "./nudges.ts";
import { by, idOf, Said, type Payload, type ReadingOptions, type Written } from "./payload.ts";
import { reachOf } from "./reach.ts";

type Read = Webhooks["read"];

/** Probot as the reader: one handler for all events, whose findings go back to whoever handed the delivery in. */
export function openReading(probot: Probot, options: ReadingOptions): Read {
  const open = new Map<string, ForgeEvent[]>();
  probot.onAny((context) => {
    const found = eventsOf(context.name, context.payload, options);
    open.get(context.id)?.push(...found);
  });
  return async ({ event, body }) => {
    const payload = parse(body);
    const found: ForgeEvent[] = [];
    // Not its GUID: the same delivery may be read twice at once.
    const id = randomUUID();
    open.set(id, found);
    try {
      await probot.receive({ id, name: event, payload } as Parameters<Probot["receive"]>[0]);
      return found;
    } catch (error) {
      throw bad(event, error);
    } finally {
      open.delete(id);
    }
  };
}

function parse(body: string): object {
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
function eventsOf(name: string, payload: unknown, options: ReadingOptions): ForgeEvent[] {
  switch (name) {
    case "issue_comment":
    case "issues":
    case "pull_request":
    case "pull_request_review":
    case "pull_request_review_comment":
      return [...saidOf(name, Said.parse(payload), options), ...nudgesOf(name, payload, options)];
    case "installation":
    case "installation_repositories":
    case "repository":
      return reachOf(name, payload, options);
    default:
      return nudgesOf(name, payload, options);
  }
}

function saidOf(name: string, said: Said, options: ReadingOptions): ForgeEvent[] {
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
  if (!comment) throw new Error("no comment");
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
  return isEdit(said) ? [{ kind: "edited", text, number }] : [];
}

function reviewOf(said: Said, options: ReadingOptions): ForgeEvent[] {
  const { review, action } = said;
  if (!review) throw new Error("no review");
  if (isBySelf(review, options) || !review.body) return [];
  const number = numberOf(said);
  const text = textOf(said, options, { kind: "review", id: `${number}/${review.id}` });
  if (action === "submitted") return [newText(text, number, review.body)];
  return isEdit(said) ? [{ kind: "edited", text, number }] : [];
}

/** Of the words themselves, not of a title or a label. */
function isEdit({ action, changes }: Said): boolean {
  return action === "edited" && changes?.body !== undefined;
}

/** The body of an issue counts when it is opened; a pull request's never (1.4). */
function issueOf(said: Said, options: ReadingOptions): ForgeEvent[] {
  const { issue, action } = said;
  if (!issue) throw new Error("no issue");
  if (isBySelf(issue, options)) return [];
  const { number } = issue;
  const text = textOf(said, options, { kind: "issue", id: String(number) });
  if (action === "opened") return [newText(text, number, issue.body)];
  return isEdit(said) ? [{ kind: "edited", text, number }] : [];
}

function headOf(said: Said, options: ReadingOptions): ForgeEvent[] {
  if (said.action !== "synchronize" || !said.pull_request) return [];
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
  const action = said.action ?? "";
  if (!Object.hasOwn(changes, action)) return [];
  const isMerged = action === "closed" && said.pull_request?.merged === true;
  const change = isMerged ? "merged" : changes[action as keyof typeof changes];
  return [{ kind: "conversation", ...conversation(said, options), ...by(said), change }];
}

function newText(text: EventText, number: number, body: Written["body"]): ForgeEvent {
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
  const subject = issue ?? pull;
  if (!subject) throw new Error("no conversation");
  return subject.number;
}

/** By numbers alone: a name that looks like ours is only a name. */
function isBySelf(text: Written, { self, appId }: ReadingOptions): boolean {
  return String(text.user?.id) === self.id || text.performed_via_github_app?.id === appId;
}
