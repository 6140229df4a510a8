// Leases of running turns (spec 2.1): renewed by a thread of its own, so that a blocked event loop does not lose them
// and a dead one does not keep them.

import { Worker } from "node:worker_threads";
import type { Leases } from "../host.ts";
import type { Claim } from "../ledger/inbox.ts";
import type { Timing } from "../settings.ts";

/** What the thread is told. */
export type LeaseOrder =
  | {
      readonly order: "hold";
      readonly entryId: number;
      readonly fence: number;
      readonly mandateId: string;
    }
  | { readonly order: "release"; readonly entryId: number };

/** What the thread tells: this lease is lost, and its processes have been ended. */
export interface LeaseLost {
  readonly entryId: number;
}

export interface LeaseThreadData {
  readonly ledgerUrl: string;
  readonly home: string;
  readonly timing: Timing;
  /** Counted up by the main thread while its event loop lives. */
  readonly heartbeat: SharedArrayBuffer;
}

const heartbeatMs = 1_000;

export interface LeaseKeeper extends Leases {
  close(): Promise<void>;
}

export function openLeases(place: {
  ledgerUrl: string;
  home: string;
  timing: Timing;
}): LeaseKeeper {
  const heartbeat = new SharedArrayBuffer(4);
  const beats = new Int32Array(heartbeat);
  const workerData: LeaseThreadData = { ...place, heartbeat };
  const thread = new Worker(new URL("lease-thread.ts", import.meta.url), { workerData });
  thread.unref();
  const lost = new Map<number, () => void>();
  thread.on("message", ({ entryId }: LeaseLost) => lost.get(entryId)?.());
  const timer = setInterval(() => Atomics.add(beats, 0, 1), heartbeatMs);
  timer.unref();
  return {
    hold: ({ entryId, fence, mandateId }: Claim, onLost) => {
      lost.set(entryId, onLost);
      const order: LeaseOrder = { order: "hold", entryId, fence, mandateId };
      thread.postMessage(order);
      return {
        release: () => {
          lost.delete(entryId);
          thread.postMessage({ order: "release", entryId } satisfies LeaseOrder);
        },
      };
    },
    close: async () => {
      clearInterval(timer);
      await thread.terminate();
    },
  };
}
