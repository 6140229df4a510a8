// What wakes a serving process (spec 3.5): its own timers, and with REDIS_URL also the hints of others.

import { minuteMs } from "../../policies/durations.ts";
import { Failure } from "../../policies/failure.ts";
import { hashOf, type Host } from "../host.ts";
import { comingEntries, comingWaits, type Hint, type HintLane } from "../ledger/looks/hints.ts";
import type { RedisState } from "../scheduler/bullmq/driver.ts";
import type { Driver } from "../scheduler/driver.ts";
import { EmbeddedDriver } from "../scheduler/embedded.ts";

/** How far ahead others are told of what comes: a million parked waits are a few thousand hints (3.5). */
const horizonMs = 10 * minuteMs;
const waitsLimit = 5_000;
const entriesLimit = 500;

export interface Waking {
  readonly driver: Driver;
  /** Null where there is no Redis. */
  readonly redis: () => RedisState | null;
}

export function embeddedDriver({ ledger, timing }: Host): EmbeddedDriver {
  return new EmbeddedDriver(timesOf({ ledger, timing }));
}

/** Throws Failure `redis-evicts` where Redis would throw hints away; one that does not answer is only missed. */
export async function openDriver(
  host: Host,
  { redisUrl, lanes }: { redisUrl: string | null; lanes: readonly HintLane[] },
): Promise<Waking> {
  if (redisUrl === null) return { driver: embeddedDriver(host), redis: () => null };
  // Loaded only where it is used: it would delay every start of everybody else.
  const [{ BullmqDriver }, { tryRedis }] = await Promise.all([
    import("../scheduler/bullmq/driver.ts"),
    import("../scheduler/bullmq/redis.ts"),
  ]);
  try {
    await tryRedis(redisUrl);
  } catch (error) {
    if (!(error instanceof Failure) || error.code === "redis-evicts") throw error;
    host.log.warn({ error }, "Redis does not answer; work goes on without its hints");
  }
  const driver = new BullmqDriver({
    ...timesOf(host),
    url: redisUrl,
    installation: hashOf(`redis ${host.markerKey}`).slice(0, 12),
    lanes,
    hints: (isTick) => hintsOf(host, isTick),
    log: host.log,
  });
  return { driver, redis: () => driver.state };
}

/** For `/readyz` (7.4): what was asked for is not all there, although nothing is lost by it. */
export function heldByRedis(redis: RedisState | null): string | null {
  return redis === null || redis === "ready" ? null : "redis-unreachable";
}

function timesOf({ ledger, timing }: Pick<Host, "ledger" | "timing">) {
  return {
    now: () => ledger.now(),
    revision: () => ledger.revision(),
    pollMs: timing.pollMs,
    tickMs: timing.sweepMs,
  };
}

/** Entries as soon as they are there; waits are due in a minute at the earliest, and the next tick is sooner. */
function hintsOf({ ledger }: Host, isTick: boolean): Promise<Hint[]> {
  const until = ledger.now() + horizonMs;
  return ledger.read(async (sql) => {
    const entries = await comingEntries(sql, { until, limit: entriesLimit });
    if (!isTick) return entries;
    return [...entries, ...(await comingWaits(sql, { until, limit: waitsLimit }))];
  });
}
