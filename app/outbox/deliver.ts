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
import { holdWrites } from "../ledger/forge-writes.ts";
import type { Sql } from "../ledger/ledger.ts";
import { refreshLook } from "../ledger/mandates.ts";
import {
  changeMessage,
  sendAgainIfChanged,
  takeMessages,
  type MessageChange,
  type MessageRow,
  type TakenMessage,
} from "../ledger/outbox.ts";
import { split } from "../notices/neutralise.ts";
import { statusComment } from "../notices/status.ts";
import { commit } from "../turn/persist.ts";
import { closePlace, openAgain } from "./closed.ts";
import { markerOf } from "./marker.ts";

const keepTryingMs = 3 * dayMs;

/** A message ready to be sent: where to, and its text as it is now. */
interface Outgoing {
  readonly row: MessageRow;
  readonly forge: Forge;
  readonly ref: ConversationRef;
  readonly body: string;
}

/** Sends what is due: the accounts side by side, of each one message after the other; returns how many were taken. */
export async function deliverMessages(host: Host): Promise<number> {
  const options = {
    leaseMs: host.timing.sendLeaseMs,
    limitsOf: (connection: string) => host.forges.get(connection)?.writeLimits ?? null,
  };
  const rows = await host.ledger.write((tx) => takeMessages(tx, options));
  const groups = Map.groupBy(rows, ({ account }) => account);
  await Promise.all([...groups.values()].map((group) => deliverInTurn(host, group)));
  return rows.length;
}

async function deliverInTurn(host: Host, rows: readonly TakenMessage[]): Promise<void> {
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
    body: `${fitted(text, forge.commentLimit - marker.length)}\n\n${marker}`,
  };
}

const shortened = "\n\n*Shortened: the record has all of it.*";

/** A text that the forge would not take is cut where its blocks allow it, and says so (1.6). */
function fitted(text: string, limit: number): string {
  const [first = "", ...rest] = split(text, limit - shortened.length - 2);
  return rest.length === 0 ? text : `${first}${shortened}`;
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
    }
  | { readonly kind: "limited"; readonly until: number }
  | { readonly kind: "refused"; readonly isClosed: boolean }
  | { readonly kind: "unavailable" | "unsure" };

async function send(host: Host, row: MessageRow): Promise<Sent> {
  try {
    const outgoing = await host.ledger.read((sql) => prepare(sql, host, row));
    const hash = hashOf(outgoing.body);
    const isUnchanged = row.kind === "status" && row.forgeId !== null && row.sentHash === hash;
    if (isUnchanged) return { kind: "sent", forgeId: row.forgeId, url: row.url, hash };
    const written = await write(outgoing);
    return { kind: "sent", forgeId: written.id, url: written.url, hash };
  } catch (error) {
    const sent = outcomeOf(error);
    host.log.warn({ message: row.key, outcome: sent.kind, error }, "a message was not delivered");
    return sent;
  }
}

function outcomeOf(error: unknown): Exclude<Sent, { kind: "sent" }> {
  if (error instanceof LimitedFailure) return { kind: "limited", until: error.until };
  if (!(error instanceof Failure)) return { kind: "unsure" };
  if (error.code === "unavailable") return { kind: "unavailable" };
  if (error.code !== "refused") return { kind: "unsure" };
  return { kind: "refused", isClosed: error instanceof RefusedFailure && error.isClosed };
}

async function write(outgoing: Outgoing): Promise<{ id: string | null; url: string | null }> {
  const { row, forge, ref, body } = outgoing;
  if (row.kind === "reaction") {
    const { kind, id, content } = row.payload as { kind: TextKind; id: string; content: Reaction };
    const { connection, forgeId } = ref;
    await forge.react({ connection, forgeId, kind, id }, content);
    return { id: null, url: null };
  }
  if (row.forgeId !== null) {
    const edited = await forge.editComment(ref, row.forgeId, body);
    if (edited !== null) return edited;
  }
  return forge.createComment(ref, body);
}

async function concludeSend(host: Host, row: TakenMessage, sent: Sent): Promise<void> {
  const from = { id: row.id, state: "sending" } as const;
  await commit(host, async (tx) => {
    const now = tx.now;
    if (sent.kind === "sent") {
      await changeMessage(tx, from, sentChange(row, sent, now));
      await sendAgainIfChanged(tx, row, now + host.timing.statusThrottleMs);
      if (row.forgeId === null && row.kind !== "reaction") await openAgain(tx, row.conversationId);
    } else {
      if (sent.kind === "limited") await holdWrites(tx, row.account, sent.until);
      await changeMessage(tx, from, failedChange(host, row, { sent, now }));
      if (isPlaceClosed(row, sent)) await closePlace(tx, host, row.conversationId);
    }
    if (row.mandateId !== null && row.kind === "ask") await refreshLook(tx, row.mandateId);
  });
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
    sentAt: now,
    sentHash: sent.hash,
    sentRevision: row.revision,
  };
}

function failedChange(
  host: Host,
  row: MessageRow,
  { sent, now }: { sent: Exclude<Sent, { kind: "sent" }>; now: number },
): MessageChange {
  const { probeAfterMs, retryFirstMs, retryMaxMs } = host.timing;
  // A reaction is idempotent at the forge: it is simply made again.
  const kind = sent.kind === "unsure" && row.kind === "reaction" ? "unavailable" : sent.kind;
  switch (kind) {
    case "unsure":
      return {
        state: "unsure",
        leaseUntil: null,
        probes: 0,
        nextAt: (row.intentAt ?? now) + probeAfterMs,
      };
    case "limited": {
      // The forge's word about us, not about this message: it does not count as a try of its own.
      const until = sent.kind === "limited" ? sent.until : now;
      return { state: "pending", leaseUntil: null, nextAt: until, attempts: row.attempts - 1 };
    }
    case "refused":
      // What a person must be told of a block is tried again every day (1.7).
      return row.kind === "ask" && isPlaceClosed(row, sent)
        ? { state: "pending", leaseUntil: null, nextAt: now + dayMs }
        : { state: "dead", leaseUntil: null };
    case "unavailable": {
      if (now - row.createdAt > keepTryingMs && row.kind !== "ask")
        return { state: "dead", leaseUntil: null };
      const backoffMs = Math.min(retryFirstMs * 2 ** Math.min(row.attempts, 20), retryMaxMs);
      return { state: "pending", leaseUntil: null, nextAt: now + backoffMs };
    }
  }
}

/** A new comment was refused by the place itself, not for what it says. */
function isPlaceClosed(row: MessageRow, sent: Sent): boolean {
  return (
    sent.kind === "refused" && sent.isClosed && row.forgeId === null && row.kind !== "reaction"
  );
}
