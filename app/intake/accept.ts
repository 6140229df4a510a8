// Accepting deliveries (spec 6.2): in the order of their subject, subjects side by side. A delivery only says what to
// re-read; while the forge does not answer it is tried again, and nothing of it is written.

import { Failure } from "../../policies/failure.ts";
import type { Host } from "../host.ts";
import {
  finishDelivery,
  openDeliveries,
  postponeDelivery,
  type DeliveryRow,
} from "../ledger/incoming/deliveries.ts";
import type { Tx } from "../ledger/ledger.ts";
import { commit } from "../turn/persist.ts";
import { acceptHappening } from "./happenings.ts";
import { acceptOperator, acceptText } from "./texts.ts";

/** Subjects that are accepted at the same time. */
const batchLimit = 8;

/** Accepts what is due; returns how many deliveries were looked at. */
export async function acceptDeliveries(host: Host): Promise<number> {
  const open = await host.ledger.read((sql) => openDeliveries(sql, host.ledger.now(), batchLimit));
  await Promise.all(open.map((delivery) => tryToAccept(host, delivery)));
  return open.length;
}

async function tryToAccept(host: Host, delivery: DeliveryRow): Promise<void> {
  try {
    await acceptOne(host, delivery);
  } catch (error) {
    const log = { delivery: delivery.id, error };
    if (error instanceof Failure) host.log.warn(log, "a delivery could not be accepted yet");
    else host.log.error(log, "accepting a delivery failed inside the host");
    await commit(host, (tx) => postpone(tx, host, delivery));
  }
}

async function acceptOne(host: Host, delivery: DeliveryRow): Promise<void> {
  const event = delivery.payload;
  switch (event.kind) {
    case "text":
      return acceptText(host, delivery, { ...event, isEdit: false });
    case "edited":
      return acceptText(host, delivery, { ...event, isEdit: true });
    case "operator":
      return acceptOperator(host, delivery, event);
    case "deleted":
    case "own-text":
    case "head-moved":
    case "conversation":
    case "reach":
    case "nudge":
      return acceptHappening(host, delivery, event);
  }
}

async function postpone(tx: Tx, host: Host, delivery: DeliveryRow): Promise<void> {
  const { retryFirstMs, acceptRetryMaxMs, acceptForMs } = host.timing;
  if (tx.now - delivery.receivedAt > acceptForMs) {
    await finishDelivery(tx, delivery.id, "given-up");
    return;
  }
  const backoffMs = Math.min(retryFirstMs * 2 ** Math.min(delivery.attempts, 20), acceptRetryMaxMs);
  await postponeDelivery(tx, delivery, tx.now + backoffMs);
}
