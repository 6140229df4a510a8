// Accepting a nudge (spec 3.4): an event rings at the waits of its own repository that listen for it. It never makes,
// revives, unblocks or extends anything (I7).

import type { NudgeEvent } from "../../policies/events.ts";
import type { Host } from "../host.ts";
import { findRepository } from "../ledger/conversations.ts";
import { finishDelivery, type DeliveryRow } from "../ledger/incoming/deliveries.ts";
import { nudgeable } from "../ledger/incoming/nudges.ts";
import { mandateOf } from "../ledger/mandates.ts";
import { nudge } from "../turn/nudging.ts";
import { commit } from "../turn/persist.ts";

export async function acceptNudge(
  host: Host,
  delivery: DeliveryRow,
  event: NudgeEvent,
): Promise<void> {
  await commit(host, async (tx) => {
    if (!(await finishDelivery(tx, delivery.id, "nudge"))) return;
    const repository = await findRepository(tx, event.connection, event.forgeId);
    if (repository === undefined) return;
    for (const { id } of await nudgeable(tx, repository.id)) {
      if ((event.mandateId ?? id) !== id) continue;
      await nudge(tx, { mandate: await mandateOf(tx, id), event, deliveryId: delivery.id });
    }
  });
}
