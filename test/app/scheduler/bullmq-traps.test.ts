// What the driver relies on in BullMQ and its client, asked of the installed versions (spec 3.5): where a new version
// answers otherwise, the driver has to be looked at before anything else.

import { setTimeout as pause } from "node:timers/promises";
import { Queue, Worker, type JobsOptions } from "bullmq";
import type { Redis } from "ioredis";
import { afterAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { connectRedis, connectWaiting } from "../../../app/scheduler/bullmq/redis.ts";
import { startRedis } from "../../services/redis.ts";

const redis = await startRedis();
afterAll(() => redis.close());
beforeEach(() => redis.flush());

const slow = { timeout: 10_000, interval: 20 };
const gone: JobsOptions = { removeOnComplete: true, removeOnFail: true };

function client(make: (url: string) => Redis): Redis {
  const made = make(redis.url);
  made.on("error", () => {});
  onTestFinished(() => made.disconnect());
  return made;
}

async function openQueue(connection = client(connectRedis)): Promise<Queue> {
  if (connection.status === "wait") await connection.connect();
  const queue = new Queue("traps", { connection });
  queue.on("error", () => {});
  onTestFinished(() => queue.close());
  return queue;
}

/** Runs jobs as the driver does, and notes their ids. */
function openWorker(act: (id: string) => Promise<void> = async () => {}): string[] {
  const ran: string[] = [];
  const worker = new Worker(
    "traps",
    async ({ id = "" }) => {
      ran.push(id);
      await act(id);
    },
    { connection: client(connectWaiting) },
  );
  worker.on("error", () => {});
  onTestFinished(() => worker.close(true));
  return ran;
}

test("an id with a colon, or one that is a number, is refused", async () => {
  const queue = await openQueue();
  for (const jobId of ["w:1", "12"]) {
    await expect(queue.add("x", {}, { ...gone, jobId })).rejects.toThrow(/jobId|id/i);
  }
  await expect(queue.add("x", {}, { ...gone, jobId: "w_1_2" })).resolves.toBeDefined();
});

test("an id that waits already is not added again, and nobody is told", async () => {
  const queue = await openQueue();
  for (let times = 0; times < 3; times += 1) await queue.add("x", {}, { ...gone, jobId: "w_1_2" });
  expect(await queue.getJobCounts("waiting", "delayed")).toMatchObject({ waiting: 1, delayed: 0 });
});

test("an id whose job is kept is swallowed for ever; one that is removed runs again", async () => {
  const queue = await openQueue();
  const ran = openWorker();
  for (const [jobId, kept] of [
    ["w_kept_1", {}],
    ["w_gone_1", gone],
  ] as const) {
    for (let times = 0; times < 2; times += 1) {
      await queue.add("x", {}, { ...kept, jobId });
      await expect.poll(() => ran.includes(jobId), slow).toBe(true);
      await pause(100);
    }
  }
  expect(ran).toEqual(["w_kept_1", "w_gone_1", "w_gone_1"]);
});

test("an id that is added while its job runs is swallowed: what came meanwhile is not in it", async () => {
  const queue = await openQueue();
  const { promise, resolve } = Promise.withResolvers<void>();
  const ran = openWorker(() => promise);
  await queue.add("x", {}, { ...gone, jobId: "w_1_1" });
  await expect.poll(() => ran.length, slow).toBe(1);
  await queue.add("x", {}, { ...gone, jobId: "w_1_1" });
  resolve();
  await pause(300);
  expect(ran).toEqual(["w_1_1"]);
});

test("a delayed job never runs before its time", async () => {
  const queue = await openQueue();
  let ranAt = 0;
  openWorker(async () => void (ranAt = Date.now()));
  const at = Date.now() + 400;
  await queue.add("x", {}, { ...gone, jobId: "w_1_1", delay: 400 });
  await expect.poll(() => ranAt, slow).toBeGreaterThanOrEqual(at);
});

test("a job that always fails is tried once, and then its id is free", async () => {
  const queue = await openQueue();
  const ran = openWorker(() => Promise.reject(new Error("no")));
  for (let times = 1; times <= 2; times += 1) {
    await queue.add("x", {}, { ...gone, jobId: "w_1_1" });
    await expect.poll(() => ran.length, slow).toBe(times);
    await pause(100);
  }
});

test("without Redis an add is refused in seconds, and a queue that is opened anew adds again when it is back", async () => {
  const connection = client(connectRedis);
  const queue = await openQueue(connection);
  await redis.kill();
  const began = Date.now();
  await expect(queue.add("x", {}, { ...gone, jobId: "w_1_1" })).rejects.toThrow(Error);
  expect(Date.now() - began).toBeLessThan(5_000);
  await redis.start();
  await expect.poll(() => connection.status, slow).toBe("ready");
  const again = await openQueue(connection);
  await expect(again.add("x", {}, { ...gone, jobId: "w_1_1" })).resolves.toBeDefined();
});

test("a frozen Redis refuses an add in seconds", async () => {
  const queue = await openQueue();
  await redis.freeze();
  onTestFinished(() => redis.thaw());
  const began = Date.now();
  await expect(queue.add("x", {}, { ...gone, jobId: "w_1_1" })).rejects.toThrow(Error);
  expect(Date.now() - began).toBeLessThan(5_000);
});

test("a worker goes on after a flush, after an absence and after a freeze", async () => {
  const queue = await openQueue();
  const ran = openWorker();
  const troubles: readonly (() => Promise<void>)[] = [
    () => redis.flush(),
    async () => {
      await redis.kill();
      await redis.start();
    },
    async () => {
      await redis.freeze();
      await pause(500);
      await redis.thaw();
    },
  ];
  for (const [index, trouble] of troubles.entries()) {
    await trouble();
    const jobId = `w_${index}_1`;
    await expect
      .poll(async () => {
        await queue.add("x", {}, { ...gone, jobId }).catch(() => null);
        return ran.includes(jobId);
      }, slow)
      .toBe(true);
  }
});

test("Redis says what it does when it is full", async () => {
  await redis.configure("maxmemory-policy", "allkeys-lru");
  onTestFinished(() => redis.configure("maxmemory-policy", "noeviction"));
  const asking = client(connectRedis);
  await asking.connect();
  expect(await asking.info("memory")).toMatch(/^maxmemory_policy:allkeys-lru\r?$/m);
});
