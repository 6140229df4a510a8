// The driver of many processes (spec 3.5): the embedded one, which alone loses nothing, and beside it hints in Redis that
// wake other machines. A hint names a row and its revision; whoever gets it looks at the ledger and at nothing else.
// Redis may be away, frozen, or empty at any moment: then everything is found by the timers and at the tick.

import { Queue, Worker } from "bullmq";
import type { Redis } from "ioredis";
import type { Hint, HintLane } from "../../ledger/looks/hints.ts";
import type { Log } from "../../log.ts";
import type { Driver } from "../driver.ts";
import { EmbeddedDriver, type EmbeddedOptions } from "../embedded.ts";
import { connectRedis, connectWaiting, refuseEviction } from "./redis.ts";

export interface BullmqOptions extends EmbeddedOptions {
  /** `redis://` or `rediss://`. */
  readonly url: string;
  /** Tells installations apart that share a Redis. */
  readonly installation: string;
  /** Hints that wake this process. */
  readonly lanes: readonly HintLane[];
  /** What can be hinted at now; `isTick` asks for all of it, otherwise what is new is enough. */
  readonly hints: (isTick: boolean) => Promise<readonly Hint[]>;
  readonly log: Log;
}

/** `refused`: it answers, and must not be used. */
export type RedisState = "ready" | "away" | "refused";

/** Hints handled at the same time: each is over at once. */
const concurrency = 32;
/** Hints in one command: more would stand in each other's way in memory. */
const batchLimit = 500;
/** A worker whose connection broke at the wrong moment would rest for 15 s, although Redis is there again. */
const runRetryDelay = 1_000;

export class BullmqDriver implements Driver {
  readonly #options: BullmqOptions;
  readonly #timer: EmbeddedDriver;
  readonly #redis: Redis;
  readonly #waiting: Redis;
  readonly #queues = new Map<HintLane, Queue>();
  #workers: Worker[] = [];
  #tick: NodeJS.Timeout | undefined;
  #told = new Set<string>();
  #asked: "new" | "all" | null = null;
  #telling: Promise<void> | null = null;
  #using: Promise<void> = Promise.resolve();
  #state: RedisState = "away";
  #isStopped = true;

  constructor(options: BullmqOptions) {
    this.#options = options;
    this.#timer = new EmbeddedDriver(options);
    this.#redis = connectRedis(options.url);
    this.#waiting = connectWaiting(options.url);
    for (const redis of [this.#redis, this.#waiting]) redis.on("error", () => this.#lose());
    this.#redis.on("close", () => this.#lose());
    this.#redis.on("ready", () => {
      this.#using = this.#using.then(() => this.#use());
    });
  }

  get state(): RedisState {
    return this.#state;
  }

  start(wake: () => Promise<void>): void {
    this.#isStopped = false;
    this.#timer.start(wake);
    this.#tick = setInterval(() => this.#tell(true), this.#options.tickMs);
    // Who is away comes later; `ready` says so.
    this.#redis.connect().catch(() => {});
  }

  arm(at: number | null): void {
    this.#timer.arm(at);
    this.#tell(false);
  }

  ring(): void {
    this.#timer.ring();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#tick);
    await this.#timer.stop();
    await this.#using;
    await this.#telling;
    await this.#closeQueues();
    this.#redis.disconnect();
    this.#waiting.disconnect();
  }

  #lose(): void {
    if (this.#state === "away" || this.#isStopped) return;
    this.#state = "away";
    this.#options.log.warn({}, "Redis is away; work goes on without its hints");
  }

  /** It is there, for the first time or again: whatever was hinted before may be gone. */
  async #use(): Promise<void> {
    try {
      await refuseEviction(this.#redis);
      if (this.#isStopped) return;
      await this.#closeQueues();
      this.#open();
      this.#state = "ready";
      this.#options.log.info({}, "Redis takes hints");
      this.#timer.ring();
      this.#tell(true);
    } catch (error) {
      this.#state = "refused";
      this.#options.log.error({ error }, "Redis cannot be used; work goes on without its hints");
    }
  }

  /** At once: nobody waits for what a hint does, and an absent Redis would be waited for. */
  async #closeQueues(): Promise<void> {
    const [workers, queues] = [this.#workers, [...this.#queues.values()]];
    this.#workers = [];
    this.#queues.clear();
    await Promise.allSettled(workers.map((worker) => worker.close(true)));
    await Promise.allSettled(queues.map((queue) => queue.close()));
  }

  /** Anew whenever Redis is there again: one that was cut off while it was being opened would stay useless for ever. */
  #open(): void {
    const { lanes, installation, log } = this.#options;
    const prefix = `{holdfast-${installation}}`;
    for (const lane of ["looks", "turns"] as const) {
      const queue = new Queue(lane, { connection: this.#redis, prefix });
      queue.on("error", (error) => log.debug({ error }, "a queue of hints"));
      this.#queues.set(lane, queue);
    }
    this.#workers = lanes.map((lane) => {
      const options = { connection: this.#waiting, prefix, concurrency, runRetryDelay };
      const worker = new Worker(lane, async () => this.#timer.ring(), options);
      worker.on("error", (error) => log.debug({ error }, "a worker of hints"));
      return worker;
    });
  }

  /** Never two at the same time; what is asked for meanwhile is one more. */
  #tell(isTick: boolean): void {
    this.#asked = isTick || this.#asked === "all" ? "all" : "new";
    this.#telling ??= this.#tellAsked().finally(() => (this.#telling = null));
  }

  async #tellAsked(): Promise<void> {
    while (this.#asked !== null && this.#state === "ready" && !this.#isStopped) {
      const isTick = this.#asked === "all";
      this.#asked = null;
      try {
        await this.#tellNow(isTick);
      } catch (error) {
        this.#options.log.debug({ error }, "hints were not taken");
      }
    }
  }

  async #tellNow(isTick: boolean): Promise<void> {
    const { hints, now } = this.#options;
    // What was flushed is told again, and what is told twice is one job.
    if (isTick) this.#told = new Set();
    const fresh = (await hints(isTick)).filter(({ id }) => !this.#told.has(id));
    for (const [lane, queue] of this.#queues) {
      const jobs = fresh
        .filter((hint) => hint.lane === lane)
        .map(({ id, at }) => ({ name: lane, data: {}, opts: jobOptions(id, at - now()) }));
      for (let from = 0; from < jobs.length; from += batchLimit) {
        await queue.addBulk(jobs.slice(from, from + batchLimit));
      }
    }
    for (const { id } of fresh) this.#told.add(id);
  }
}

/** Kept neither when it is done nor when it failed: an id that stays would swallow the same hint for ever. */
function jobOptions(jobId: string, delay: number) {
  const options = { jobId, removeOnComplete: true, removeOnFail: true };
  return delay > 0 ? { ...options, delay } : options;
}
