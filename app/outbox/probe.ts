// Probes unsure messages (spec 6.3): did the comment with our marker arrive? Found: adopted. Not found twice, ten
// seconds apart: it may be sent again. Never decided on a guess.

import { minuteMs } from "../../policies/durations.ts";
import type { Written } from "../forge/forge.ts";
import type { Host } from "../host.ts";
import { hashOf } from "../host.ts";
import { refreshLook } from "../ledger/mandates.ts";
import { changeMessage, dueProbes, type MessageChange, type MessageRow } from "../ledger/outbox.ts";
import { commit } from "../turn/persist.ts";
import { prepare } from "./deliver.ts";
import { markerOf } from "./marker.ts";

const batchLimit = 20;
const emptyLooksNeeded = 2;
/** The forge's clock and ours may differ by this much; the marker tells which comment it is. */
const clockSkewMs = 10 * minuteMs;

export async function probeMessages(host: Host): Promise<number> {
  const rows = await host.ledger.read((sql) => dueProbes(sql, host.ledger.now(), batchLimit));
  for (const row of rows) {
    const change = await probe(host, row);
    await commit(host, async (tx) => {
      await changeMessage(tx, row, change);
      if (row.mandateId !== null && row.kind === "ask") await refreshLook(tx, row.mandateId);
    });
  }
  return rows.length;
}

async function probe(host: Host, row: MessageRow): Promise<MessageChange> {
  const now = host.ledger.now();
  // Idempotent by nature: an edit draws the same text again, a reaction is there or not.
  if (row.kind === "reaction" || row.forgeId !== null) return { state: "pending", nextAt: now };
  let found: (Written & { body: string }) | undefined;
  try {
    const outgoing = await host.ledger.read((sql) => prepare(sql, host, row));
    const marker = markerOf(host.markerKey, outgoing.ref, row.key);
    const own = await outgoing.forge.listOwnComments(
      outgoing.ref,
      Math.max(0, (row.intentAt ?? 0) - clockSkewMs),
    );
    found = own.find((comment) => comment.body.includes(marker));
  } catch (error) {
    host.log.warn({ message: row.key, error }, "an unsure message could not be looked up");
    return { nextAt: now + Math.max(host.timing.probeAfterMs, host.timing.retryFirstMs) };
  }
  if (found !== undefined) return adopted(row, found, now);
  const probes = row.probes + 1;
  if (probes < emptyLooksNeeded) return { probes, nextAt: now + host.timing.probeAfterMs };
  return { state: "pending", probes: 0, nextAt: now };
}

function adopted(row: MessageRow, found: Written & { body: string }, now: number): MessageChange {
  return {
    // A status that arrived may be older than the mandate by now: it is drawn once more.
    state: row.kind === "status" ? "pending" : "sent",
    probes: 0,
    nextAt: now,
    forgeId: found.id,
    url: found.url,
    sentAt: now,
    sentHash: hashOf(found.body),
    sentRevision: row.kind === "status" ? 0 : row.revision,
  };
}
