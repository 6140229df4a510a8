// The thread that renews leases (spec 2.1). It stops when the main loop is silent for a minute, and before a lease can
// run out unrenewed it ends the turn's processes: whoever claims next must not meet them.

import { parentPort, workerData } from "node:worker_threads";
import { openRunner } from "../../runners/runner.ts";
import { renewLease } from "../ledger/inbox.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { openLedger } from "../ledger/store/open.ts";
import type { LeaseLost, LeaseOrder, LeaseThreadData } from "./leases.ts";

interface Held {
  readonly entryId: number;
  readonly fence: number;
  readonly mandateId: string;
  /** Of the thread's own clock, which no correction moves. */
  renewedAt: number;
}

const silentMsLimit = 60_000;

const { ledgerUrl, home, timing, heartbeat } = workerData as LeaseThreadData;
let ledger: Ledger | null = null;
const runner = openRunner({ home, environment: {} });
const beats = new Int32Array(heartbeat);
const held = new Map<number, Held>();
let lastBeat = 0;
let lastBeatAt = performance.now();

parentPort?.on("message", (order: LeaseOrder) => {
  if (order.order === "release") held.delete(order.entryId);
  else held.set(order.entryId, { ...order, renewedAt: performance.now() });
});

setInterval(() => void tick(), timing.renewMs);

async function tick(): Promise<void> {
  const isAlive = isMainAlive();
  for (const lease of held.values()) {
    if (isAlive && (await renew(lease))) lease.renewedAt = performance.now();
    else if (performance.now() - lease.renewedAt >= timing.loseMs) await lose(lease);
  }
}

function isMainAlive(): boolean {
  const beat = Atomics.load(beats, 0);
  if (beat !== lastBeat) {
    lastBeat = beat;
    lastBeatAt = performance.now();
  }
  return performance.now() - lastBeatAt < silentMsLimit;
}

/** False when the lease was not renewed, whether it is lost or the ledger cannot be written now. */
async function renew(lease: Held): Promise<boolean> {
  try {
    ledger ??= await openLedger(ledgerUrl, { aheadMs: timing.clockAheadMs });
    const isOurs = await ledger.append((tx) => renewLease(tx, lease, timing.leaseMs));
    if (!isOurs) await lose(lease);
    return isOurs;
  } catch {
    return false;
  }
}

async function lose(lease: Held): Promise<void> {
  if (!held.delete(lease.entryId)) return;
  await runner.endLeftovers(lease.mandateId);
  parentPort?.postMessage({ entryId: lease.entryId } satisfies LeaseLost);
}
