// What happened on a forge without being said to us (spec 1.4-1.7, 6.3): noted, drawn again, or the end of what it
// takes the ground from. Nothing here makes, extends or revives a mandate (I7, I8).

import type { ForgeEvent } from "../../policies/events.ts";
import type { Host } from "../host.ts";
import { changeConversation, findConversation, reachedThrough } from "../ledger/conversations.ts";
import { record } from "../ledger/history.ts";
import { finishDelivery, takenCommands, type DeliveryRow } from "../ledger/incoming/deliveries.ts";
import type { Tx } from "../ledger/ledger.ts";
import { changeReach, mandatesIn, mandatesOf } from "../ledger/mandates.ts";
import { openAgain } from "../outbox/closed.ts";
import { redrawOwn } from "../outbox/redraw.ts";
import { commit } from "../turn/persist.ts";
import { stopMandate } from "../turn/stop.ts";
import { acceptNudge } from "./nudges.ts";
import { knownRepository } from "./repositories.ts";

type Happening = Exclude<ForgeEvent, { kind: "text" | "edited" | "operator" }>;

export async function acceptHappening(
  host: Host,
  delivery: DeliveryRow,
  event: Happening,
): Promise<void> {
  if (event.kind === "nudge") return acceptNudge(host, delivery, event);
  // A repository may have come, gone or changed its name: read before anything is written.
  if (event.kind === "reach" && event.change === "open") await readNamed(host, event);
  await commit(host, async (tx) => {
    if (!(await finishDelivery(tx, delivery.id, event.kind))) return;
    await note(tx, host, event);
  });
}

async function readNamed(host: Host, event: Extract<ForgeEvent, { kind: "reach" }>): Promise<void> {
  const { connection } = event;
  for (const forgeId of event.forgeIds ?? []) await knownRepository(host, { connection, forgeId });
}

async function note(
  tx: Tx,
  host: Host,
  event: Exclude<Happening, { kind: "nudge" }>,
): Promise<void> {
  switch (event.kind) {
    case "deleted":
      return noteDeletion(tx, event);
    case "own-text": {
      const conversation = await findConversation(tx, event);
      if (conversation === undefined) return;
      const { id: forgeId, change } = event;
      await redrawOwn(tx, { conversationId: conversation.id, forgeId, change });
      return;
    }
    case "head-moved": {
      const { commit: head, byId } = event;
      const conversation = await findConversation(tx, event);
      if (conversation === undefined) return;
      await changeConversation(tx, conversation.id, { movedHead: { commit: head, byId } });
      return;
    }
    case "conversation":
      return noteConversation(tx, host, event);
    case "reach":
      return takeReach(tx, host, event);
  }
}

/** A deletion never cancels (1.4): what was asked stays asked. */
async function noteDeletion(
  tx: Tx,
  event: Extract<ForgeEvent, { kind: "deleted" }>,
): Promise<void> {
  const { connection, forgeId, kind, id } = event.text;
  const taken = await takenCommands(tx, `${connection} ${forgeId} ${kind} ${id}`);
  const mandates = new Set(taken.flatMap(({ mandateId }) => mandateId ?? []));
  for (const mandateId of mandates) {
    await record(tx, "text-deleted", { mandateId, facts: { kind, id } });
  }
}

/** Closed, merged, locked: nothing stops (1.7). Deleted or moved away, nobody could be told any more. */
async function noteConversation(
  tx: Tx,
  host: Host,
  event: Extract<ForgeEvent, { kind: "conversation" }>,
): Promise<void> {
  const conversation = await findConversation(tx, event);
  if (conversation === undefined) return;
  const { change, byName } = event;
  if (change === "unlocked" || change === "reopened") await openAgain(tx, conversation.id);
  const isLost = change === "deleted" || change === "transferred";
  for (const mandate of await mandatesIn(tx, conversation.id)) {
    await record(tx, "conversation", { mandateId: mandate.id, facts: { change, by: byName } });
    if (isLost) await stopMandate(tx, host, { mandate, byName });
  }
}

async function takeReach(
  tx: Tx,
  host: Host,
  event: Extract<ForgeEvent, { kind: "reach" }>,
): Promise<void> {
  const { change, byName } = event;
  for (const repository of await reachedThrough(tx, event)) {
    await changeReach(tx, repository.id, change);
    for (const mandate of await mandatesOf(tx, repository.id)) {
      await record(tx, "reach", { mandateId: mandate.id, facts: { change, by: byName } });
      if (change === "gone") await stopMandate(tx, host, { mandate, byName });
    }
  }
}
