// The opponent in the benches of waits, as a process of its own (spec 8.5): plain BullMQ, one delayed job for each wait.
// Adds jobs, says so, and then notes when each of those that come due begins.

import { once } from "node:events";
import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";

export interface PlainOptions {
  readonly url: string;
  readonly count: number;
  /** When the first is due, after all were added. */
  readonly firstInMs: number;
  readonly apartMs: number;
}

/** What this process prints at its end. */
export interface Plain {
  readonly addMs: number;
  /** When each began, after it was due, in ms. */
  readonly late: readonly number[];
  /** When the last of them began, after the first was due. */
  readonly lastMs: number;
}

const batchLimit = 1_000;
const concurrency = 50;

const { url, count, firstInMs, apartMs } = JSON.parse(process.argv[2] ?? "") as PlainOptions;
const connection = new Redis(url, { maxRetriesPerRequest: null });
const queue = new Queue("plain", { connection });
const beganAt = Date.now();
/** Adding takes long, and what is due meanwhile would be late for that alone. */
const firstAt = beganAt + firstInMs;
for (let from = 0; from < count; from += batchLimit) {
  const size = Math.min(batchLimit, count - from);
  const jobs = Array.from({ length: size }, (_, index) => {
    const at = Math.floor(firstAt + (from + index) * apartMs);
    return {
      name: "wait",
      data: { w: from + index, at },
      opts: { delay: Math.max(0, at - Date.now()) },
    };
  });
  await queue.addBulk(jobs);
}
const addMs = Date.now() - beganAt;
console.log(JSON.stringify({ addMs }));
const late: number[] = [];
let lastMs = 0;
const worker = new Worker<{ at: number }>(
  "plain",
  async ({ data }) => {
    late.push(Date.now() - data.at);
    lastMs = Date.now() - firstAt;
  },
  { connection: connection.duplicate(), concurrency },
);
await once(process.stdin.resume(), "end");
await worker.close(true);
await queue.close();
connection.disconnect();
const plain: Plain = { addMs, late, lastMs };
console.log(JSON.stringify(plain));
process.exit(0);
