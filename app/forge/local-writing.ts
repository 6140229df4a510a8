// How people write to the local forge, from the CLI and the web page (spec 6.1, 6.2; I4).
// A text and its delivery are one transaction, as if a webhook had told it; a repeated request
// changes nothing.

import { repositoryOf } from "../ledger/conversations.ts";
import { addDelivery } from "../ledger/incoming/deliveries.ts";
import {
  addComment,
  addIssue,
  changeComment,
  changeIssue,
  commentOfRequest,
  findComment,
  findIssue,
  findOpenPull,
  issueOfDelivery,
  type NewIssue,
  type Place,
} from "../ledger/issues.ts";
import type { Ledger, Tx } from "../ledger/ledger.ts";
import type { Person, TextRef } from "./forge.ts";

/** In UTF-16 units, as forges count. */
export const bodyLimit = 65_536;
const titleLimit = 256;

export type WriteRefusalReason =
  | "empty"
  | "too-long"
  | "nul-character"
  | "unknown-conversation"
  | "unknown-comment"
  | "foreign-comment"
  | "request-used"
  | "merged"
  | "head-taken";

/** Why nothing was written, with what was seen and what would have been taken, for people. */
export interface WriteRefusal {
  readonly ok: false;
  readonly reason: WriteRefusalReason;
  readonly seen: string;
  readonly wanted: string;
}

interface Request {
  readonly author: Person;
  /** What the caller names this write; the same name again is the same write. */
  readonly requestKey: string;
}

/** Stores a comment on an issue or pull request of any state, and its delivery. */
export async function writeComment(
  ledger: Ledger,
  comment: Request & Place & { readonly body: string },
): Promise<{ ok: true; commentId: string; number: number } | WriteRefusal> {
  const unfit = unfitBody(comment.body);
  if (unfit !== null) return unfit;
  return ledger.write(async (tx) => {
    const { author, requestKey, ...row } = comment;
    const known = await commentOfRequest(tx, requestKey);
    if (known !== undefined) return { ok: true, commentId: String(known.id), number: known.number };
    if ((await findIssue(tx, row)) === undefined) return unknownConversation(row);
    const commentId = String(await addComment(tx, { ...row, requestKey }, author));
    const guid = `comment:${requestKey}`;
    await tell(tx, row, { guid, kind: "text", text: { kind: "comment", id: commentId } });
    return { ok: true, commentId, number: row.number };
  });
}

/** Opens an issue under the repository's next number, and stores the delivery of its body. */
export async function openIssue(
  ledger: Ledger,
  issue: Request & NewIssue,
): Promise<{ ok: true; number: number } | WriteRefusal> {
  const unfit = unfitTitle(issue.title) ?? unfitBody(issue.body);
  if (unfit !== null) return unfit;
  return ledger.write(async (tx) => {
    const { author, requestKey, ...row } = issue;
    const guid = `issue:${requestKey}`;
    const known = await issueOfDelivery(tx, guid);
    // The body of an old delivery is dropped (6.2): that it was this request is all that is left.
    if (known?.number === null) return refusal("request-used", requestKey, "a new request key");
    if (known !== undefined) return { ok: true, number: known.number };
    const number = await addIssue(tx, row, author);
    const place = { repositoryId: row.repositoryId, number };
    await tell(tx, place, { guid, kind: "text", text: { kind: "issue", id: String(number) } });
    return { ok: true, number };
  });
}

/** Changes the author's own comment and stores that it was edited; an equal body does nothing. */
export async function editLocalComment(
  ledger: Ledger,
  edit: Request & { readonly repositoryId: string; commentId: string; body: string },
): Promise<{ ok: true } | WriteRefusal> {
  const unfit = unfitBody(edit.body);
  if (unfit !== null) return unfit;
  return ledger.write(async (tx) => {
    const { author, requestKey, repositoryId, commentId, body } = edit;
    const comment = await findComment(tx, repositoryId, commentId);
    if (comment === undefined) return refusal("unknown-comment", commentId, "a comment's id");
    if (comment.authorId !== author.id) {
      return refusal("foreign-comment", `a comment of ${comment.authorName}`, "one's own comment");
    }
    if (comment.body === body) return { ok: true };
    const guid = `edit:${requestKey}`;
    const text = { kind: "comment", id: commentId } as const;
    const isNew = await tell(tx, comment, { guid, kind: "edited", text });
    if (isNew) await changeComment(tx, comment.id, body);
    return { ok: true };
  });
}

/** Closes an open issue or pull request; one that is not open stays as it is. */
export function closeIssue(ledger: Ledger, place: Place): Promise<{ ok: true } | WriteRefusal> {
  return ledger.write(async (tx) => {
    const issue = await findIssue(tx, place);
    if (issue === undefined) return unknownConversation(place);
    if (issue.state === "open") await changeIssue(tx, place, { state: "closed" });
    return { ok: true };
  });
}

/** Refuses what is merged, and a pull request whose head has another open one by now. */
export function reopenIssue(ledger: Ledger, place: Place): Promise<{ ok: true } | WriteRefusal> {
  return ledger.write(async (tx) => {
    const issue = await findIssue(tx, place);
    if (issue === undefined) return unknownConversation(place);
    if (issue.state === "merged") return refusal("merged", "merged", "a closed conversation");
    if (issue.state === "open") return { ok: true };
    const rival =
      issue.head === null ? undefined : await findOpenPull(tx, place.repositoryId, issue.head);
    if (rival !== undefined) {
      return refusal("head-taken", `#${rival.number} is open`, "no other pull request of its head");
    }
    await changeIssue(tx, place, { state: "open" });
    return { ok: true };
  });
}

/** Stores what a webhook would have told; false when this was told before. */
async function tell(
  tx: Tx,
  place: Place,
  event: { guid: string; kind: "text" | "edited"; text: Pick<TextRef, "kind" | "id"> },
): Promise<boolean> {
  const { connection, forgeId } = await repositoryOf(tx, place.repositoryId);
  const text = { connection, forgeId, ...event.text };
  const payload = { kind: event.kind, text, number: place.number };
  return addDelivery(tx, { connection, guid: event.guid, payload });
}

/** Why a body cannot be stored, else null. */
export function unfitBody(body: string): WriteRefusal | null {
  return unfit(body, bodyLimit);
}

export function unfitTitle(title: string): WriteRefusal | null {
  return unfit(title, titleLimit);
}

function unfit(text: string, limit: number): WriteRefusal | null {
  const wanted = `1 to ${limit} characters`;
  if (text.trim() === "") return refusal("empty", "no text", wanted);
  if (text.length > limit) return refusal("too-long", `${text.length} characters`, wanted);
  // SQLite's own functions end a text there.
  if (text.includes("\0")) return refusal("nul-character", "U+0000", "text without it");
  return null;
}

function unknownConversation({ number }: Place): WriteRefusal {
  return refusal("unknown-conversation", `#${number}`, "an issue or pull request that exists");
}

function refusal(reason: WriteRefusalReason, seen: string, wanted: string): WriteRefusal {
  return { ok: false, reason, seen, wanted };
}
