// A worker (spec 7.1): takes turns from a ledger that it shares with servers, on any machine, and does nothing else. What
// its turns have to say is sent by a server; what is saved of its checkouts, any other worker can go on with.

import { hourMs } from "../../policies/durations.ts";
import { connectedHost, keepConnected, type ConnectionOptions } from "./connection.ts";
import { openDriver } from "./driver.ts";
import { closeAll, slotsHere, withParts, type Parts, type ServingOptions } from "./parts.ts";
import { schedule } from "./scheduling.ts";

export interface WorkerOptions extends Omit<ServingOptions, "port">, ConnectionOptions {
  /** Turns at a time; null where nobody said how many. */
  readonly workers: number | null;
}

export interface Worker {
  readonly slots: number;
  runningCount(): number;
  stop(): Promise<void>;
}

/** Works until it is stopped. Throws Failure: what is missing is named by its code. */
export function work(options: WorkerOptions): Promise<Worker> {
  return withParts(options, (parts) => start(parts, options));
}

async function start(parts: Parts, options: WorkerOptions): Promise<Worker> {
  const { host, connection } = connectedHost(parts, options);
  const slots = options.workers ?? slotsHere();
  const keeping = keepConnected(host, { options, connection }, async () => hourMs);
  const { driver } = await openDriver(host, {
    redisUrl: options.settings.redisUrl,
    lanes: ["turns"],
  });
  const scheduling = schedule(host, {
    kind: "worker",
    slots,
    driver,
    rounds: [keeping.round],
    after: keeping.tried,
  });
  return {
    slots,
    runningCount: () => host.running.count,
    stop: async () => {
      await scheduling.stop();
      await closeAll(parts.opened);
    },
  };
}
