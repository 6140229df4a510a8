// A conversation that takes no comment from us any more (spec 1.7): locked, archived, or we are blocked. Its work is
// blocked, and the notice waits for the day on which somebody can be told.

import type { Host } from "../host.ts";
import { changeConversation, conversationOf } from "../ledger/conversations.ts";
import type { Tx } from "../ledger/ledger.ts";
import { mandatesIn, type MandateRow } from "../ledger/mandates.ts";
import { tryAgainNow } from "../ledger/outbox.ts";
import { block } from "../turn/checkpoint.ts";

/** Once per closing: nothing begins there any more, and what is at rest is blocked. */
export async function closePlace(tx: Tx, host: Host, conversationId: string): Promise<void> {
  const { goneAt } = await conversationOf(tx, conversationId);
  if (goneAt !== null) return;
  await changeConversation(tx, conversationId, { goneAt: tx.now });
  for (const mandate of await mandatesIn(tx, conversationId)) {
    // A running turn ends as it ends; nothing of it goes on afterwards.
    if (mandate.status === "blocked" || mandate.status === "running") continue;
    await blockGone(tx, host, mandate);
  }
}

export function blockGone(tx: Tx, host: Host, mandate: MandateRow): Promise<void> {
  const what = "nothing more can be written in its issue or pull request";
  return block(tx, host, { mandate, reason: "conversation-gone", what });
}

/** Something was written or heard there: what could not be told is told now. */
export async function openAgain(tx: Tx, conversationId: string): Promise<void> {
  const { goneAt } = await conversationOf(tx, conversationId);
  if (goneAt === null) return;
  await changeConversation(tx, conversationId, { goneAt: null });
  await tryAgainNow(tx, conversationId);
}
