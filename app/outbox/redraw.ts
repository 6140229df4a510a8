// Comments of ours that somebody else changed (spec 6.3): text on the forge is a view, drawn again once. Whoever changes it
// a second time has it his way, and history says so.

import { record } from "../ledger/history.ts";
import type { Tx } from "../ledger/ledger.ts";
import { redraw } from "../ledger/outbox.ts";

export async function redrawOwn(
  tx: Tx,
  own: { conversationId: string; forgeId: string; change: "edited" | "deleted" },
): Promise<void> {
  const { conversationId, forgeId, change } = own;
  const isDrawn = await redraw(tx, own);
  await record(tx, "own-text", { conversationId, facts: { comment: forgeId, change, isDrawn } });
}
