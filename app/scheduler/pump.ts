// The pump (spec 3.5): looks at what is due in the ledger, again and again until nothing is, and says when to look
// next. The order is the order of importance: accept, look, claim, deliver.

import type { Host } from "../host.ts";
import { acceptDeliveries } from "../intake/accept.ts";
import { nextDeliveryAt } from "../ledger/deliveries.ts";
import { claimEntries, nextInboxAt } from "../ledger/inbox.ts";
import { nextLookAt } from "../ledger/mandates.ts";
import { nextOutboxAt } from "../ledger/outbox.ts";
import { deliverMessages } from "../outbox/deliver.ts";
import { probeMessages } from "../outbox/probe.ts";
import { runEntry } from "../turn/turn.ts";
import type { Driver } from "./driver.ts";
import { lookAtDue } from "./looks.ts";

export interface PumpOptions {
  /** Turns this process runs at the same time. */
  readonly slots: number;
  readonly perRepository: number;
}

/** One pass over everything that is due; true when something was done and another pass is worth while. */
export async function pumpOnce(host: Host, driver: Driver, options: PumpOptions): Promise<boolean> {
  const accepted = await acceptDeliveries(host);
  const looked = await lookAtDue(host);
  const claimed = await startTurns(host, driver, options);
  const probed = await probeMessages(host);
  const delivered = await deliverMessages(host);
  return accepted + looked.count + claimed + probed + delivered > 0;
}

/** Pumps until nothing is due, then arms the driver for the next due row. */
export async function pump(host: Host, driver: Driver, options: PumpOptions): Promise<void> {
  while (await pumpOnce(host, driver, options));
  driver.arm(await nextDueAt(host));
}

async function startTurns(host: Host, driver: Driver, options: PumpOptions): Promise<number> {
  const slots = options.slots - host.running.count;
  if (slots <= 0) return 0;
  const limits = {
    worker: host.worker,
    leaseMs: host.timing.leaseMs,
    slots,
    perRepository: options.perRepository,
  };
  const claims = await host.ledger.write((tx) => claimEntries(tx, limits));
  for (const claim of claims) {
    host.running.start(claim.mandateId, async (turn) => {
      await runEntry(host, claim, turn);
      driver.ring();
    });
  }
  return claims.length;
}

/** The earliest due row of any kind; null when the ledger is at rest. */
async function nextDueAt(host: Host): Promise<number | null> {
  const now = host.ledger.now();
  const times = await host.ledger.read(async (sql) => [
    await nextDeliveryAt(sql),
    await nextLookAt(sql),
    await nextInboxAt(sql, now),
    await nextOutboxAt(sql),
  ]);
  const due = times.filter((at) => at !== null);
  return due.length === 0 ? null : Math.min(...due);
}
