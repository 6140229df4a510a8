// The one door to Redis (spec 3.5): connections that fail at once instead of waiting for one that is away, and what is
// asked of a Redis before it is used. Nothing in it is worth keeping.

import { Redis } from "ioredis";
import { Failure } from "../../../policies/failure.ts";

/** A command that takes longer is taken for lost: a frozen Redis holds up nobody. */
const commandMsLimit = 2_000;
const connectMsLimit = 2_000;
const reconnectMsLimit = 2_000;

/** For commands: refused at once while Redis is away, and tried again by whoever finds that worth while. */
export function connectRedis(url: string): Redis {
  return new Redis(url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: commandMsLimit,
    connectTimeout: connectMsLimit,
    retryStrategy,
  });
}

/** For a worker, which waits in Redis for its next job: BullMQ asks for commands that are never given up. */
export function connectWaiting(url: string): Redis {
  return new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: null,
    connectTimeout: connectMsLimit,
    retryStrategy,
  });
}

function retryStrategy(times: number): number {
  return Math.min(100 * times, reconnectMsLimit);
}

/** Throws Failure `redis-evicts` where Redis would throw hints away to make room: some would run without their ids. */
export async function refuseEviction(redis: Redis): Promise<void> {
  const text = await redis.info("memory");
  const policy = /^maxmemory_policy:(\S+)/m.exec(text)?.[1] ?? "noeviction";
  if (policy === "noeviction") return;
  throw new Failure("redis-evicts", "never", {
    message: `its maxmemory-policy is ${policy}, and must be noeviction`,
  });
}

/**
 * Asks a Redis once whether it can be used, and lets go of it. Throws Failure `redis-evicts`, and `redis-unreachable`
 * where it does not answer.
 */
export async function tryRedis(url: string): Promise<void> {
  const redis = connectRedis(url);
  redis.on("error", () => {});
  try {
    await redis.connect();
    await refuseEviction(redis);
  } catch (error) {
    if (error instanceof Failure) throw error;
    const message = "Redis does not answer";
    throw new Failure("redis-unreachable", "later", { message, cause: error });
  } finally {
    redis.disconnect();
  }
}
