// Waits at scale (spec 8.5): how late rechecks are with a million parked, ten thousand of one instant, what a million
// costs, and how soon the first is claimed after a start; each against plain BullMQ with a job for every wait.

import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { startRedis } from "../../test/services/redis.ts";
import { isNoisy, measureFsync } from "../disk.ts";
import { atMost, below, median, quantile, told, type Row } from "../row.ts";
import type { Plain } from "./bullmq-process.ts";
import { startChild } from "./child.ts";
import type { Scheduled } from "./scheduling-process.ts";
import { seedParked } from "./seed.ts";

const million = 1_000_000;
const burstCount = 10_000;
const lookedMs = 8_000;
/** 300 in eight seconds, and the last of a million seven hours later. */
const apartMs = lookedMs / 300;
const sweepsCount = 9;

interface Ours extends Scheduled {
  /** After they were due, in ms. */
  readonly late: readonly number[];
  readonly lastMs: number;
  readonly bytes: number;
  readonly redisBytes: number;
  /** From the start of the process to the first claim. */
  readonly startMs: number;
}

/** Runs ours on `count` parked waits until those of the first seconds are claimed. */
async function runOurs(run: { count: number; apartMs: number; isPast?: boolean }): Promise<Ours> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast bench-"));
  const redis = await startRedis();
  try {
    const file = join(folder, "ledger.sqlite");
    const firstDueAt = Date.now() + 24 * 3_600_000;
    await seedParked(file, { count: run.count, firstDueAt, apartMs: run.apartMs });
    const bytes = statSync(file).size;
    const startedAt = Date.now();
    const leadMs = run.isPast === true ? 0 : 4_000;
    const aheadMs = firstDueAt - startedAt - leadMs;
    const sweeps = run.isPast === true ? 0 : sweepsCount;
    const options = { file, redisUrl: redis.url, aheadMs, sweeps };
    const child = await startChild("scheduling-process.ts", options);
    await pause(leadMs + lookedMs);
    const redisBytes = await redis.usedBytes();
    const scheduled = (await child.end()) as Scheduled;
    const durable = new Map(scheduled.commits);
    const claims = claimsIn(file).map(({ at, dueAt }) => ({
      dueAt,
      durableAt: durable.get(at) ?? at,
    }));
    const last = Math.max(...claims.map(({ durableAt }) => durableAt));
    const first = Math.min(...claims.map(({ durableAt }) => durableAt));
    return {
      ...scheduled,
      late: claims.map(({ dueAt, durableAt }) => durableAt - dueAt),
      lastMs: last - firstDueAt,
      bytes,
      redisBytes,
      startMs: first - (startedAt + aheadMs),
    };
  } finally {
    await redis.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function claimsIn(file: string): { at: number; dueAt: number }[] {
  const database = new DatabaseSync(file, { readOnly: true });
  const rows = database
    .prepare(
      `SELECT i.created_at AS at, w.due_at AS due_at FROM inbox i JOIN wait w ON w.id = i.wait_id
       WHERE i.kind = 'recheck' AND w.state = 'claimed'`,
    )
    .all();
  database.close();
  return rows.map(({ at, due_at: dueAt }) => ({ at: Number(at), dueAt: Number(dueAt) }));
}

interface Theirs extends Plain {
  readonly redisBytes: number;
}

/** Runs plain BullMQ; adding takes some 150 µs for each job here, and the first is due when all are there. */
async function runPlain(run: { count: number; apartMs: number }): Promise<Theirs> {
  const redis = await startRedis();
  try {
    const firstInMs = Math.ceil(run.count * 0.4) + 5_000;
    const options = { url: redis.url, count: run.count, firstInMs, apartMs: run.apartMs };
    const child = await startChild("bullmq-process.ts", options);
    const { addMs } = JSON.parse(child.ready) as { addMs: number };
    await pause(Math.max(0, firstInMs - addMs) + lookedMs);
    const redisBytes = await redis.usedBytes();
    return { ...((await child.end()) as Plain), redisBytes };
  } finally {
    await redis.close();
  }
}

function fsyncNoise(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "holdfast bench-"));
  const noisy = isNoisy(measureFsync(folder));
  rmSync(folder, { recursive: true, force: true });
  return noisy;
}

const megabyte = 1_024 * 1_024;

/** Both rows of a million parked waits: they cost the same minutes. */
export async function benchLateness(count = million): Promise<Row[]> {
  const noisy = fsyncNoise();
  const ours = await runOurs({ count, apartMs });
  const theirs = await runPlain({ count, apartMs });
  const [our99, their99] = [quantile(ours.late, 0.99), quantile(theirs.late, 0.99)];
  const late = {
    name: `lateness p99, ${count} parked`,
    unit: "ms",
    ours: our99,
    opponent: their99,
  };
  const memory = (ours.redisBytes || 1) / megabyte;
  const [ourRedis, theirRedis] = [memory, theirs.redisBytes / megabyte];
  const perGb = (count * 1e9) / ours.bytes;
  return [
    below(late, 0.5),
    atMost({ ...late, name: `${late.name}, absolute` }, 50, noisy),
    atMost(
      { name: `Redis, ${count} parked`, unit: "MB", ours: ourRedis, opponent: theirRedis },
      10,
      false,
    ),
    atMost(
      { name: `process, ${count} parked`, unit: "MB", ours: ours.peakMb, opponent: theirRedis },
      200,
      false,
    ),
    atMost(
      { name: `sweep, ${count} parked`, unit: "ms", ours: median(ours.sweepMs), opponent: their99 },
      50,
      noisy,
    ),
    told({
      name: `mandates per GB of disk (0.5 M wanted), waits per GB of Redis`,
      unit: "",
      ours: perGb,
      opponent: (count * 1e9) / theirs.redisBytes,
    }),
  ];
}

export async function benchBurst(count = burstCount): Promise<Row[]> {
  const rounds: { ours: number; opponent: number }[] = [];
  for (let round = 0; round < 3; round += 1) {
    const ours = await runOurs({ count, apartMs: 0 });
    const theirs = await runPlain({ count, apartMs: 0 });
    if (ours.late.length !== count || theirs.late.length !== count) {
      throw new Error(`${ours.late.length} and ${theirs.late.length} of ${count} were claimed`);
    }
    rounds.push({ ours: ours.lastMs, opponent: theirs.lastMs });
  }
  const ours = median(rounds.map((round) => round.ours));
  const opponent = median(rounds.map((round) => round.opponent));
  return [below({ name: `${count} due at once, last claimed`, unit: "ms", ours, opponent }, 0.25)];
}

/** Redis is empty at each start: ours looks into its ledger, plain BullMQ has to be told all of it again. */
export async function benchRestart(counts: readonly number[] = [100_000, million]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const count of counts) {
    const noisy = fsyncNoise();
    const ours = await runOurs({ count, apartMs, isPast: true });
    const theirs = await runPlain({ count, apartMs });
    const name = `first claim after a start, ${count} parked`;
    const measured = { name, unit: "ms", ours: ours.startMs, opponent: theirs.addMs };
    rows.push(atMost(measured, count > 100_000 ? 3_000 : 1_000, noisy));
  }
  return rows;
}
