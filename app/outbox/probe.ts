// Probes unsure messages (spec 6.3): did the comment with our marker arrive? Found: adopted. Not found twice, ten
// seconds apart: it may be sent again. Never decided on a guess.

import { minuteMs } from "../../policies/durations.ts";
import { Failure } from "../../policies/failure.ts";
import { LimitedFailure, type Written } from "../forge/forge.ts";
import type { Host } from "../host.ts";
import { hashOf } from "../host.ts";
import { holdWrites } from "../ledger/forge-writes.ts";
import type { Tx } from "../ledger/ledger.ts";
import { refreshLook } from "../ledger/mandates.ts";
import {
  changeMessage,
  dueProbes,
  sendAgainIfChanged,
  type MessageChange,
  type MessageRow,
  type TakenMessage,
} from "../ledger/outbox.ts";
import { commit } from "../turn/persist.ts";
import { sideBySide } from "./accounts.ts";
import { prepare } from "./deliver.ts";
import { markerOf } from "./marker.ts";
import { backoffMs, isGivenUp } from "./retry.ts";

const emptyLooksNeeded = 2;
/** The forge's clock and ours may differ by this much; the marker tells which comment it is. */
const clockSkewMs = 10 * minuteMs;

type Found =
  /** `isAsNow`: it says what the message says by now. */
  | {
      readonly found: "comment";
      readonly comment: Written & { readonly body: string };
      readonly isAsNow: boolean;
    }
  | { readonly found: "nothing" }
  /** An edit draws the same text again, a reaction is there or not: nothing to look for. */
  | { readonly found: "repeatable" }
  /** `isForAll`: it would say no more of any other message now. */
  | { readonly found: "no-answer"; readonly isForAll: boolean; readonly until: number };

/** Looks for what is due: the accounts side by side; returns how many messages were looked for. */
export function probeMessages(host: Host): Promise<number> {
  return sideBySide(host, {
    take: (busy) => host.ledger.read((sql) => dueProbes(sql, host.ledger.now(), busy)),
    work: (rows) => probeInTurn(host, rows),
  });
}

export async function probeInTurn(host: Host, rows: readonly TakenMessage[]): Promise<void> {
  let found: Found | null = null;
  for (const row of rows) {
    // A forge that does not answer is asked once, not once for each message.
    if (found?.found !== "no-answer" || !found.isForAll) found = await lookFor(host, row);
    await conclude(host, row, found);
  }
}

async function lookFor(host: Host, row: MessageRow): Promise<Found> {
  if (row.kind === "reaction" || row.forgeId !== null) return { found: "repeatable" };
  try {
    const { forge, ref, body: wanted } = await host.ledger.read((sql) => prepare(sql, host, row));
    const marker = markerOf(host.markerKey, ref, row.key);
    const own = await forge.listOwnComments(ref, Math.max(0, (row.intentAt ?? 0) - clockSkewMs));
    const comment = own.find(({ body }) => body.includes(marker));
    if (comment === undefined) return { found: "nothing" };
    return { found: "comment", comment, isAsNow: comment.body === wanted };
  } catch (error) {
    host.log.warn({ message: row.key, error }, "an unsure message could not be looked up");
    const isForAll = error instanceof Failure && error.code !== "refused";
    const until = error instanceof LimitedFailure ? error.until : 0;
    return { found: "no-answer", isForAll, until };
  }
}

async function conclude(host: Host, row: TakenMessage, found: Found): Promise<void> {
  await commit(host, async (tx) => {
    const now = tx.now;
    if (found.found === "no-answer" && found.until > now) {
      await holdWrites(tx, row.account, found.until);
    }
    if (!(await changeMessage(tx, row, await changeOf(tx, host, { row, found })))) return;
    await sendAgainIfChanged(tx, row, now + host.timing.statusThrottleMs);
    if (row.mandateId !== null && row.kind === "ask") await refreshLook(tx, row.mandateId);
  });
}

async function changeOf(
  tx: Tx,
  host: Host,
  { row, found }: { row: MessageRow; found: Found },
): Promise<MessageChange> {
  const { timing } = host;
  const now = tx.now;
  switch (found.found) {
    case "comment":
      return adopted(row, found, now);
    case "repeatable":
      return again(tx, host, row);
    case "nothing": {
      const probes = row.probes + 1;
      if (probes >= emptyLooksNeeded) return again(tx, host, row);
      return { probes, nextAt: now + timing.probeAfterMs };
    }
    case "no-answer": {
      const triedMs = now - (row.intentAt ?? now);
      if (await isGivenUp(tx, row, { now, triedMs })) return { state: "dead" };
      const waitMs = Math.max(timing.probeAfterMs, timing.retryFirstMs, triedMs);
      return { nextAt: Math.max(now + Math.min(waitMs, timing.retryMaxMs), found.until) };
    }
  }
}

/** It did not arrive and may be sent again, with the patience of any other failure. */
async function again(tx: Tx, host: Host, row: MessageRow): Promise<MessageChange> {
  const now = tx.now;
  const triedMs = row.attempts * host.timing.retryMaxMs;
  if (await isGivenUp(tx, row, { now, triedMs })) return { state: "dead" };
  const nextAt = Math.max(now, (row.intentAt ?? now) + backoffMs(host.timing, row));
  return { state: "pending", probes: 0, nextAt };
}

function adopted(
  row: MessageRow,
  { comment, isAsNow }: Extract<Found, { found: "comment" }>,
  now: number,
): MessageChange {
  return {
    // What changed on either side since then is drawn once more.
    state: isAsNow ? "sent" : "pending",
    probes: 0,
    attempts: 0,
    nextAt: now,
    forgeId: comment.id,
    url: comment.url,
    sentAt: now,
    sentHash: hashOf(comment.body),
    sentRevision: isAsNow ? row.revision : 0,
  };
}
