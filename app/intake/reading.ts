// Reading raw deliveries (spec 6.2): what each speaks of, worked out after it was answered. What means nothing to us
// ends here, before it takes any slot or asks the forge anything.

import type { ForgeEvent } from "../../policies/events.ts";
import { Failure } from "../../policies/failure.ts";
import type { Host } from "../host.ts";
import { changeConnection } from "../ledger/incoming/connections.ts";
import {
  finishDelivery,
  postponeDelivery,
  readDelivery,
  stillUnread,
  unreadDeliveries,
  type RawDelivery,
} from "../ledger/incoming/deliveries.ts";
import { commit } from "../turn/persist.ts";

const batchLimit = 100;

type Read =
  | { readonly raw: RawDelivery; readonly events: readonly ForgeEvent[] }
  /** Not what its event promises: nothing can follow from it, today or later. */
  | { readonly raw: RawDelivery; readonly outcome: "bad-delivery" }
  /** Its connection is not there yet. */
  | { readonly raw: RawDelivery; readonly outcome: "later" };

/** Reads what has come in; returns how many deliveries were looked at. */
export async function readDeliveries(host: Host): Promise<number> {
  const now = host.ledger.now();
  const raws = await host.ledger.read((sql) => unreadDeliveries(sql, now, batchLimit));
  if (raws.length === 0) return 0;
  const read = await Promise.all(raws.map((raw) => readOne(host, raw)));
  await commit(host, async (tx) => {
    const unread = await stillUnread(tx, raws);
    const fresh = raws.filter(({ attempts }) => attempts === 0);
    for (const name of new Set(fresh.map(({ connection }) => connection))) {
      await changeConnection(tx, name, { lastDeliveryAt: tx.now });
    }
    for (const one of read.filter(({ raw }) => unread.has(raw.id))) {
      if ("events" in one) await readDelivery(tx, one.raw, one.events);
      else if (one.outcome === "later") {
        await postponeDelivery(tx, one.raw, tx.now + host.timing.retryFirstMs);
      } else await finishDelivery(tx, one.raw.id, one.outcome);
    }
  });
  return raws.length;
}

async function readOne(host: Host, raw: RawDelivery): Promise<Read> {
  const webhooks = host.webhooks.get(raw.connection);
  if (webhooks === undefined) return { raw, outcome: "later" };
  try {
    return { raw, events: await webhooks.read(raw) };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { connection, guid, event } = raw;
    host.log.warn({ connection, guid, event, error }, "a delivery could not be read");
    return { raw, outcome: "bad-delivery" };
  }
}
