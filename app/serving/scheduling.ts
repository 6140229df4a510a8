// What keeps a serving process going (spec 3.5, 3.6): the pump at once, the sweep and other rounds at their intervals,
// and the orderly end of all of it.

import { randomInt } from "node:crypto";
import type { Host } from "../host.ts";
import { keepHouse } from "../housekeeping.ts";
import { EmbeddedDriver } from "../scheduler/embedded.ts";
import { openPump, type PumpOptions } from "../scheduler/pump.ts";
import { sweep } from "../scheduler/sweep.ts";

export interface Scheduling {
  /** Something has changed that no commit tells of. */
  ring(): void;
  /** Ends in order: nothing new starts, running turns get their grace, what they did is saved, messages go out. */
  stop(): Promise<void>;
}

export interface Round {
  readonly firstMs: number;
  readonly everyMs: number;
  readonly act: () => Promise<void>;
}

/** Starts the pump, the sweep, and the rounds that are asked for. */
export function schedule(
  host: Host,
  { pumping, rounds = [] }: { pumping: PumpOptions; rounds?: readonly Round[] },
): Scheduling {
  const { timing, ledger, log } = host;
  const driver = new EmbeddedDriver({
    now: () => ledger.now(),
    revision: () => ledger.revision(),
    pollMs: timing.pollMs,
    tickMs: timing.sweepMs,
  });
  const pump = openPump(host, driver, pumping);
  driver.start(() => pump.wake());
  const sweeping: Round = {
    firstMs: timing.quietMs,
    everyMs: timing.sweepMs,
    act: async () => {
      await sweep(host).catch((error: unknown) => log.error({ error }, "the sweep failed"));
      await keepHouse(host).catch((error: unknown) => log.warn({ error }, "cleaning up failed"));
      driver.ring();
    },
  };
  const repeating = [sweeping, ...rounds].map((round) => repeat(host, round));
  return {
    ring: () => driver.ring(),
    stop: async () => {
      await Promise.all(repeating.map((one) => one.stop()));
      await driver.stop();
      await pump.idle();
      const grace = setTimeout(() => host.running.cancelAll("drain"), timing.drainMs);
      await host.running.idle();
      clearTimeout(grace);
    },
  };
}

/** Acts after its first time and then at every interval, give or take a tenth; never twice at the same time. */
function repeat({ log }: Host, { firstMs, everyMs, act }: Round): { stop(): Promise<void> } {
  let timer: NodeJS.Timeout;
  let running = Promise.resolve();
  let isStopped = false;
  function plan(afterMs: number): void {
    timer = setTimeout(() => {
      running = act()
        .catch((error: unknown) => log.error({ error }, "a round failed"))
        .then(() => {
          if (!isStopped) plan(everyMs * (0.9 + randomInt(200) / 1_000));
        });
    }, afterMs);
  }
  plan(firstMs);
  return {
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
