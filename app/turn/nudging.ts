// Ringing at a wait (spec 3.4): a nudge brings the one recheck of an armed wait forward. The look that follows claims it
// as it claims any due wait, so that a burst is one recheck.

import type { NudgeEvent } from "../../policies/events.ts";
import { hears, nudgedDueAt, type Listening } from "../../policies/mandate/nudges.ts";
import { conversationOf, repositoryOf } from "../ledger/conversations.ts";
import { record } from "../ledger/history.ts";
import { keepNudge, lastRecheckAt, markTold, untoldNudges } from "../ledger/incoming/nudges.ts";
import type { Sql, Tx } from "../ledger/ledger.ts";
import type { MandateRow } from "../ledger/mandates.ts";
import { bringForward, liveWait, type WaitRow } from "../ledger/waits.ts";
import { plain } from "../notices/neutralise.ts";

/** An event for a mandate that waits, or whose running turn may yet register the wait that listens for it. */
export async function nudge(
  tx: Tx,
  told: { mandate: MandateRow; event: NudgeEvent; deliveryId: number },
): Promise<void> {
  const { mandate, event, deliveryId } = told;
  const keep = { deliveryId, mandateId: mandate.id, facts: event };
  if (mandate.status === "running") return keepNudge(tx, keep);
  const wait = await liveWait(tx, mandate.id);
  if (wait?.state !== "armed" || !hears(await listening(tx, mandate, wait), event)) return;
  await keepNudge(tx, keep);
  await ring(tx, { mandate, wait, event });
}

/** What came while the turn ran is matched with the wait that it registered; the rest is forgotten. */
export async function ringForKept(tx: Tx, mandate: MandateRow): Promise<void> {
  const kept = await untoldNudges(tx, mandate.id);
  const wait = await liveWait(tx, mandate.id);
  if (kept.length === 0 || wait?.state !== "armed") return;
  const ears = await listening(tx, mandate, wait);
  const heard = kept.filter(({ facts }) => hears(ears, facts));
  await markTold(
    tx,
    kept.filter((one) => !heard.includes(one)),
  );
  const [first] = heard;
  if (first !== undefined) await ring(tx, { mandate, wait, event: first.facts });
}

async function ring(
  tx: Tx,
  { mandate, wait, event }: { mandate: MandateRow; wait: WaitRow; event: NudgeEvent },
): Promise<void> {
  const times = { now: tx.now, lastRecheckAt: await lastRecheckAt(tx, mandate.id) };
  const dueAt = nudgedDueAt(wait, times);
  if (dueAt >= wait.dueAt) return;
  await bringForward(tx, mandate.id, dueAt);
  await record(tx, "nudged", { mandateId: mandate.id, facts: { event: event.event, dueAt } });
}

async function listening(sql: Sql, mandate: MandateRow, wait: WaitRow): Promise<Listening> {
  const conversation = await conversationOf(sql, mandate.conversationId);
  const repository = await repositoryOf(sql, conversation.repositoryId);
  const { branch, publishedCommit, pinnedHead, pullNumber } = mandate;
  return {
    signals: wait.signals,
    kinds: (repository.policy ?? mandate.policy).nudges.events,
    own: {
      forgeId: repository.forgeId,
      repository: repository.name,
      branches: [branch, pinnedHead?.branch].filter((name) => name !== undefined),
      commits: [publishedCommit, pinnedHead?.commit ?? null].filter((hash) => hash !== null),
      pulls: [pullNumber, pinnedHead?.pull ?? null].filter((number) => number !== null),
    },
  };
}

/** The events that brought a recheck about, in words for its turn: data, not instructions. Told once. */
export async function nudgeWords(tx: Tx, mandateId: string): Promise<string | null> {
  const nudges = await untoldNudges(tx, mandateId);
  if (nudges.length === 0) return null;
  await markTold(tx, nudges);
  const words = nudges.map(({ facts }) => {
    const about = [facts.tag, facts.branch, facts.commit].find((part) => part !== null);
    return about === undefined ? facts.event : `${facts.event} ${about}`;
  });
  return plain(`told by the forge: ${words.join(", ")}`);
}
