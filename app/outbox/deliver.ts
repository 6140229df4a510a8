// Delivers due messages (spec 6.3): the intent is committed, the forge is called, the outcome is committed.
// Whatever is not known to have failed is unsure, and only a probe may decide about it (I5).

import { dayMs } from "../../policies/durations.ts";
import { Failure } from "../../policies/failure.ts";
import {
  LimitedFailure,
  RefusedFailure,
  type ConversationRef,
  type Forge,
  type Reaction,
  type TextKind,
} from "../forge/forge.ts";
import { forgeOf, hashOf, type Host } from "../host.ts";
import { conversationOf, refOf, repositoryOf } from "../ledger/conversations.ts";
import { factsOf } from "../ledger/facts.ts";
import { holdWrites, returnWrite } from "../ledger/forge-writes.ts";
import type { Sql, Tx } from "../ledger/ledger.ts";
import { refreshLook } from "../ledger/mandates.ts";
import {
  changeMessage,
  sendAgainIfChanged,
  takeMessages,
  type MessageChange,
  type MessageRow,
  type TakenMessage,
} from "../ledger/outbox.ts";
import { link, split } from "../notices/neutralise.ts";
import { statusComment } from "../notices/status.ts";
import { commit } from "../turn/persist.ts";
import { sideBySide } from "./accounts.ts";
import { closePlace, openAgain } from "./closed.ts";
import { markerOf } from "./marker.ts";
import { backoffMs, isGivenUp } from "./retry.ts";

/** A message ready to be sent: where to, and its text as it is now. */
interface Outgoing {
  readonly row: MessageRow;
  readonly forge: Forge;
  readonly ref: ConversationRef;
  readonly body: string;
}

/** Sends what is due: the accounts side by side, of each one message after the other; returns how many were taken. */
export function deliverMessages(host: Host): Promise<number> {
  return sideBySide(host, {
    take: (busy) => takeDue(host, busy),
    work: (rows) => deliverInTurn(host, rows),
  });
}

export function takeDue(host: Host, busy: ReadonlySet<string>): Promise<TakenMessage[]> {
  const options = {
    leaseMs: host.timing.sendLeaseMs,
    statusThrottleMs: host.timing.statusThrottleMs,
    limitsOf: (connection: string) => host.forges.get(connection)?.writeLimits ?? null,
    busy,
  };
  return host.ledger.write((tx) => takeMessages(tx, options));
}

export async function deliverInTurn(host: Host, rows: readonly TakenMessage[]): Promise<void> {
  for (const row of rows) {
    // A lease that ran out meanwhile is somebody else's to decide about.
    if ((row.intentAt ?? 0) + host.timing.sendLeaseMs <= host.ledger.now()) continue;
    await concludeSend(host, row, await send(host, row));
  }
}

/** What is to be written for a row; a status comment is drawn from the ledger at this moment. */
export async function prepare(sql: Sql, host: Host, row: MessageRow): Promise<Outgoing> {
  const conversation = await conversationOf(sql, row.conversationId);
  const repository = await repositoryOf(sql, conversation.repositoryId);
  const ref = refOf(repository, conversation);
  const text =
    row.kind === "status" && row.mandateId !== null
      ? statusComment(await factsOf(sql, row.mandateId, host), host.mention)
      : bodyOf(row);
  const forge = forgeOf(host, repository.connection);
  const marker = markerOf(host.markerKey, ref, row.key);
  return {
    row,
    forge,
    ref,
    body: `${fitted(host.redact(text), {
      limit: forge.commentLimit - marker.length - 2,
      recordUrl: row.mandateId === null ? null : host.recordUrl(row.mandateId),
    })}\n\n${marker}`,
  };
}

/** A text that the forge would not take is cut where its blocks allow it, and says so (1.6). */
function fitted(
  text: string,
  { limit, recordUrl }: { limit: number; recordUrl: string | null },
): string {
  if (text.length <= limit) return text;
  const record = recordUrl === null ? "the record" : link("the record", recordUrl);
  const shortened = `\n\n*Shortened: ${record} has all of it.*`;
  const [first = ""] = split(text, limit - shortened.length);
  return `${first}${shortened}`;
}

function bodyOf(row: MessageRow): string {
  const payload = row.payload as { body?: string } | null;
  return payload?.body ?? "";
}

type Sent =
  | {
      readonly kind: "sent";
      readonly forgeId: string | null;
      readonly url: string | null;
      readonly hash: string;
      /** False where the comment says it already, and nothing was written. */
      readonly isWritten: boolean;
    }
  /** The comment to be edited is not there: somebody deleted it. */
  | { readonly kind: "missing" }
  | { readonly kind: "limited"; readonly until: number }
  | { readonly kind: "refused"; readonly isClosed: boolean }
  | { readonly kind: "unavailable" | "unsure" };

type Failed = Exclude<Sent, { kind: "sent" | "missing" }>;

async function send(host: Host, row: MessageRow): Promise<Sent> {
  try {
    const outgoing = await host.ledger.read((sql) => prepare(sql, host, row));
    const hash = hashOf(outgoing.body);
    const isUnchanged = row.kind === "status" && row.forgeId !== null && row.sentHash === hash;
    if (isUnchanged)
      return { kind: "sent", forgeId: row.forgeId, url: row.url, hash, isWritten: false };
    const written = await write(outgoing);
    if (written === null) return { kind: "missing" };
    return { kind: "sent", forgeId: written.id, url: written.url, hash, isWritten: true };
  } catch (error) {
    const sent = outcomeOf(error);
    host.log.warn({ message: row.key, outcome: sent.kind, error }, "a message was not delivered");
    return sent;
  }
}

function outcomeOf(error: unknown): Failed {
  if (error instanceof LimitedFailure) return { kind: "limited", until: error.until };
  if (!(error instanceof Failure)) return { kind: "unsure" };
  if (error.code === "unavailable") return { kind: "unavailable" };
  if (error.code !== "refused") return { kind: "unsure" };
  return { kind: "refused", isClosed: error instanceof RefusedFailure && error.isClosed };
}

/** One write and no more, so that its outcome is the outcome of one; null where there is no such comment. */
async function write(
  outgoing: Outgoing,
): Promise<{ id: string | null; url: string | null } | null> {
  const { row, forge, ref, body } = outgoing;
  if (row.kind === "reaction") {
    const { kind, id, content } = row.payload as { kind: TextKind; id: string; content: Reaction };
    const { connection, forgeId } = ref;
    await forge.react({ connection, forgeId, kind, id }, content);
    return { id: null, url: null };
  }
  if (row.forgeId !== null) return forge.editComment(ref, row.forgeId, body);
  return forge.createComment(ref, body);
}

async function concludeSend(host: Host, row: TakenMessage, sent: Sent): Promise<void> {
  const from = { id: row.id, state: "sending", intentAt: row.intentAt } as const;
  await commit(host, async (tx) => {
    const now = tx.now;
    if (sent.kind === "limited") await holdWrites(tx, row.account, sent.until);
    if (!(await changeMessage(tx, from, await changeOf(tx, host, { row, sent })))) return;
    if (sent.kind === "sent") {
      await sendAgainIfChanged(tx, row, now + host.timing.statusThrottleMs);
      if (!sent.isWritten) await returnWrite(tx, row.account, row.intentAt ?? now);
      if (row.forgeId === null && row.kind !== "reaction") await openAgain(tx, row.conversationId);
    }
    if (isPlaceClosed(row, sent)) await closePlace(tx, host, row.conversationId);
    if (row.mandateId !== null && row.kind === "ask") await refreshLook(tx, row.mandateId);
  });
}

async function changeOf(
  tx: Tx,
  host: Host,
  { row, sent }: { row: MessageRow; sent: Sent },
): Promise<MessageChange> {
  const now = tx.now;
  switch (sent.kind) {
    case "sent":
      return sentChange(row, sent, now);
    case "missing":
      return missingChange(row, now);
    case "limited":
    case "refused":
    case "unavailable":
    case "unsure":
      return failedChange(tx, host, { row, sent });
  }
}

function sentChange(
  row: MessageRow,
  sent: Extract<Sent, { kind: "sent" }>,
  now: number,
): MessageChange {
  return {
    state: "sent",
    leaseUntil: null,
    forgeId: sent.forgeId,
    url: sent.url,
    // What was not written does not put off the next edit.
    sentAt: sent.isWritten ? now : row.sentAt,
    sentHash: sent.hash,
    sentRevision: row.revision,
    attempts: 0,
  };
}

/** Written anew, once; whoever deletes it again has it his way (6.3). */
function missingChange(row: MessageRow, now: number): MessageChange {
  if (row.redrawn === 0) {
    const anew = { forgeId: null, url: null, sentHash: null, redrawn: 1 };
    return { ...anew, state: "pending", leaseUntil: null, nextAt: now };
  }
  // A status has nothing more to edit; another message was delivered once, and that is what counts.
  const state = row.kind === "status" ? "dropped" : "sent";
  return { state, leaseUntil: null, sentRevision: row.revision };
}

async function failedChange(
  tx: Tx,
  host: Host,
  { row, sent }: { row: MessageRow; sent: Failed },
): Promise<MessageChange> {
  const now = tx.now;
  // A reaction is idempotent at the forge: it is simply made again.
  const kind = sent.kind === "unsure" && row.kind === "reaction" ? "unavailable" : sent.kind;
  switch (kind) {
    case "unsure": {
      const nextAt = (row.intentAt ?? now) + host.timing.probeAfterMs;
      return { state: "unsure", leaseUntil: null, probes: 0, nextAt };
    }
    case "limited": {
      // The forge's word about us, not about this message: it does not count as a try of its own.
      const until = sent.kind === "limited" ? sent.until : now;
      return { state: "pending", leaseUntil: null, nextAt: until, attempts: row.attempts - 1 };
    }
    case "refused":
      // What a person must be told of a block is tried again every day (1.7).
      return row.kind === "ask" &&
        isPlaceClosed(row, sent) &&
        !(await isGivenUp(tx, row, { now, triedMs: now - row.createdAt }))
        ? { state: "pending", leaseUntil: null, nextAt: now + dayMs }
        : { state: "dead", leaseUntil: null };
    case "unavailable": {
      const triedMs = row.attempts * host.timing.retryMaxMs;
      if (await isGivenUp(tx, row, { now, triedMs })) return { state: "dead", leaseUntil: null };
      return { state: "pending", leaseUntil: null, nextAt: now + backoffMs(host.timing, row) };
    }
  }
}

/** A new comment was refused by the place itself, not for what it says. */
function isPlaceClosed(row: MessageRow, sent: Sent): boolean {
  return (
    sent.kind === "refused" && sent.isClosed && row.forgeId === null && row.kind !== "reaction"
  );
}
