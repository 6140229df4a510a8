// What keeps a serving process going (spec 3.5, 3.6): the pump at once, the sweep and other rounds at their intervals,
// and the orderly end of all of it.

import { randomInt } from "node:crypto";
import { minuteMs, secondMs } from "../../policies/durations.ts";
import type { Host } from "../host.ts";
import { keepHouse } from "../housekeeping.ts";
import { nextOutboxAt } from "../ledger/outbox.ts";
import { forgetProcess, showProcess } from "../ledger/shared/processes.ts";
import { readManifest } from "../manifest.ts";
import { deliverMessages } from "../outbox/deliver.ts";
import type { Driver } from "../scheduler/driver.ts";
import { openPump } from "../scheduler/pump.ts";
import { sweep } from "../scheduler/sweep.ts";

export interface Scheduling {
  /** Ends in order: nothing new starts, running turns get their grace, what they did is saved, messages go out. */
  stop(): Promise<void>;
}

/** What is done again and again, beside the pump. */
export interface Round {
  readonly firstMs: number;
  /** Resolves to when it is to be done again, in ms; soon when `signal` says that it need not be. */
  readonly act: (signal: AbortSignal) => Promise<number>;
}

/** When a round is tried again that failed where none should. */
const failedRoundMs = minuteMs;
/** How long messages may still go out at the end; what takes longer goes out after the next start. */
const flushMsLimit = 5 * secondMs;

export interface ScheduleOptions {
  /** A worker takes turns; a server does everything. */
  readonly kind: "server" | "worker";
  /** Turns this process runs at the same time. */
  readonly slots: number;
  readonly driver: Driver;
  readonly rounds?: readonly Round[];
  /** The pump does nothing before this: what it began without a forge would only be put off. */
  readonly after?: Promise<void>;
}

/** Starts the pump, the sweep, and the rounds that are asked for. */
export function schedule(
  host: Host,
  { kind, slots, driver, rounds = [], after = Promise.resolve() }: ScheduleOptions,
): Scheduling {
  const { timing, ledger, log } = host;
  let isEnding = false;
  const pump = openPump(host, driver, {
    // What a repository's policy asks for is the limit, over all processes.
    perRepository: Infinity,
    isWorker: kind === "worker",
    quietUntil: ledger.now() + timing.quietMs,
    get slots() {
      return isEnding ? 0 : slots;
    },
  });
  void after.then(() => {
    if (!isEnding) driver.start(() => pump.wake());
  });
  const own = ownRounds(host, { driver, kind, slots });
  const repeating = [...own, ...rounds].map((round) => repeat(host, round));
  return {
    stop: async () => {
      isEnding = true;
      const ended = repeating.map((one) => one.stop());
      const grace = setTimeout(() => host.running.cancelAll("drain"), timing.drainMs);
      await driver.stop();
      await pump.idle();
      await host.running.idle();
      clearTimeout(grace);
      await Promise.all(ended);
      await atTheEnd(host, kind).catch((error: unknown) => log.warn({ error }, "not all was told"));
    },
  };
}

/** What every process does at its intervals: it shows itself, cleans up, and sweeps where that is its kind. */
function ownRounds(
  host: Host,
  { driver, kind, slots }: Pick<ScheduleOptions, "driver" | "kind" | "slots">,
): Round[] {
  const { timing, ledger, log } = host;
  const cleaning: Round = {
    firstMs: timing.quietMs,
    act: async () => {
      await keepHouse(host).catch((error: unknown) => log.warn({ error }, "cleaning up failed"));
      return timing.sweepMs;
    },
  };
  const sweeping: Round = {
    firstMs: timing.quietMs,
    act: async (signal) => {
      await sweep(host).catch((error: unknown) => log.error({ error }, "the sweep failed"));
      driver.ring();
      return cleaning.act(signal);
    },
  };
  const showing: Round = {
    firstMs: 0,
    act: async () => {
      const self = { id: host.worker, kind, version: readManifest().version, slots };
      await ledger.append((tx) => showProcess(tx, self));
      return timing.sweepMs;
    },
  };
  return kind === "server" ? [showing, sweeping] : [showing, cleaning];
}

async function atTheEnd(host: Host, kind: ScheduleOptions["kind"]): Promise<void> {
  if (kind === "server") await flush(host);
  await host.ledger.append((tx) => forgetProcess(tx, host.worker));
}

/** What the last turns had to say. A forge that does not take it now gets it later. */
async function flush(host: Host): Promise<void> {
  const until = host.ledger.now() + flushMsLimit;
  for (let now = host.ledger.now(); now < until; now = host.ledger.now()) {
    if ((await deliverMessages(host)) > 0) continue;
    const next = await host.ledger.read(nextOutboxAt);
    if (next === null || next > until) return;
    await host.sleep(Math.max(next - now, host.timing.pollMs));
  }
}

/** Acts again and again when the round says so, give or take a tenth; never twice at the same time. */
function repeat({ log }: Host, { firstMs, act }: Round): { stop(): Promise<void> } {
  let timer: NodeJS.Timeout;
  let running = Promise.resolve();
  const ended = new AbortController();
  function plan(afterMs: number): void {
    timer = setTimeout(() => {
      running = act(ended.signal)
        .catch((error: unknown) => {
          log.error({ error }, "a round failed");
          return failedRoundMs;
        })
        .then((everyMs) => {
          if (!ended.signal.aborted) plan(everyMs * (0.9 + randomInt(200) / 1_000));
        });
    }, afterMs);
  }
  plan(firstMs);
  return {
    stop: async () => {
      ended.abort();
      clearTimeout(timer);
      await running;
    },
  };
}
