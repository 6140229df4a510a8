// What was acknowledged is on the disk (spec 8.2, 8.4): a tracer watches the syncs of the write-ahead log, and between
// each comment and its answer there must be at least one.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { need } from "../system.ts";
import {
  longTestMs,
  openBench,
  traceFolder,
  until,
  welcomeIssue,
  type Product,
} from "./process.ts";

const commentCount = 12;

test(
  "between a comment and its answer the ledger's log is synced",
  async (context) => {
    const strace = need(context, "strace");
    const bench = openBench({ policy: { tasks: {} } });
    const product = await bench.start();
    const tracer = await attach(strace, product);

    const moments: { sentAt: number; answeredAt: number }[] = [];
    for (let number = 0; number < commentCount; number += 1) {
      const sentAt = Date.now();
      await product.say(welcomeIssue, `comment ${number}`);
      moments.push({ sentAt, answeredAt: Date.now() });
    }
    await tracer.end();

    const times = tracer.syncs();
    for (const { sentAt, answeredAt } of moments) {
      expect(times.some((at) => at >= sentAt && at <= answeredAt)).toBe(true);
    }
    await product.kill();
    const stored = await bench.read((sql) => sql.all("SELECT id FROM local_comment"));
    expect(stored).toHaveLength(commentCount);
  },
  longTestMs,
);

/** Traces all threads of a running process. */
async function attach(strace: string, product: Product) {
  const trace = join(traceFolder(), "trace");
  const watch = ["-f", "-y", "-ttt", "-e", "trace=fsync,fdatasync", "-e", "signal=none"];
  const child = spawn(strace, [...watch, "-o", trace, "-p", String(product.pid)]);
  const gone = once(child, "close");
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString("utf8")));
  await until(
    "the tracer is attached",
    async () => said.includes("attached"),
    () => said,
  );
  return {
    async end(): Promise<void> {
      child.kill("SIGINT");
      await gone;
    },
    /** When each sync of the ledger's log began, epoch ms. */
    syncs(): number[] {
      const lines = readFileSync(trace, "utf8").split("\n");
      return lines
        .filter((line) => /f(?:data)?sync\(\d+<[^>]*ledger\.sqlite-wal>/.test(line))
        .map((line) => Math.floor(Number(/\d+\.\d+/.exec(line)?.[0]) * 1_000));
    },
  };
}
