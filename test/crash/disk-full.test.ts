// A disk that is full (spec 2.1 step 5, 3.2, 8.4): a home on a small file system of its own, filled while a mandate
// waits and while a step runs. What cannot be written is held; nothing runs early or twice; room is all it takes.

import { closeSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { violations } from "../../app/doctor.ts";
import { turnsOf } from "../../app/ledger/turns.ts";
import { waitsOf } from "../../app/ledger/waits.ts";
import { holdfast } from "../app/cli/holdfast.ts";
import { mountSmallDisk } from "./as-root.ts";
import {
  linesOf,
  longTestMs,
  makeDue,
  mandateIn,
  openBench,
  startPast,
  traceFolder,
  until,
  untilAllIsTold,
  welcomeIssue,
  type Product,
} from "./process.ts";

const diskBytes = 12 * 1024 * 1024;

/** Takes the last byte of a disk; the way to give it back. */
function fill(home: string): () => void {
  const path = join(home, "filler");
  const file = openSync(path, "w");
  for (let size = 1024 * 1024; size >= 1; size = Math.floor(size / 2)) {
    const chunk = Buffer.alloc(size);
    while (isWritten(file, chunk));
  }
  closeSync(file);
  return () => rmSync(path);
}

function isWritten(file: number, chunk: Buffer): boolean {
  try {
    return writeSync(file, chunk) === chunk.length;
  } catch {
    return false;
  }
}

function untilUnwritable(product: Product): Promise<unknown> {
  return until("the ledger cannot be written", async () => {
    const { status, text } = await product.get("/readyz");
    return status === 503 && text === "persistence-unavailable\n";
  });
}

test(
  "a full disk holds the recheck and says so; with room again it runs once, by itself",
  async (context) => {
    const home = mountSmallDisk(context, diskBytes);
    const traces = traceFolder();
    const run = `echo look >> ${JSON.stringify(traces)}/looks; git rev-parse -q --verify refs/tags/v1 || exit 75`;
    const policy = {
      tasks: {
        rollout: {
          steps: [{ run, wait: { every: "30m", for: "6h" } }, { run: "echo v1 > ROLLOUT.md" }],
        },
      },
    };
    const bench = openBench({ policy, home });
    const product = await bench.start();
    await product.say(welcomeIssue, "@holdfast run rollout");
    const { id } = await mandateIn(bench, "run rollout", "waiting");
    await untilAllIsTold(bench);
    bench.repository.git(["tag", "v1"]);
    const dueAt = Date.now() + 8_000;
    makeDue(bench, dueAt);
    const makeRoom = fill(home);
    const [before] = await bench.read((sql) => waitsOf(sql, id));
    expect(before).toMatchObject({ state: "armed", dueAt });
    await untilUnwritable(product);
    const form = { body: "@holdfast status", key: "written once" };
    expect(await product.post(`/c/${welcomeIssue}`, form)).toBe(503);
    await until("its due time has passed", async () => Date.now() > dueAt + 1_000);
    await until("the recheck was tried", async () => product.said().includes("the pump failed"));

    expect(product.hasEnded()).toBe(false);
    expect(await bench.read((sql) => waitsOf(sql, id))).toEqual([before]);
    expect(linesOf(join(traces, "looks"))).toHaveLength(1);
    expect((await product.get(`/m/${id}`)).status).toBe(200);
    const health = await product.get("/health");
    expect(health.text).toContain("cannot be written");
    const status = await holdfast(bench, "status", "--json");
    expect(JSON.parse(status.stdout)).toMatchObject([{ id, status: "waiting", turns: 1 }]);
    const doctor = await holdfast(bench, "doctor");
    expect(doctor.exitCode).toBe(1);
    expect(doctor.stdout).toContain("disk full");

    makeRoom();
    await mandateIn(bench, "run rollout", "completed");
    expect(await product.post(`/c/${welcomeIssue}`, form)).toBe(303);
    expect(await product.post(`/c/${welcomeIssue}`, form)).toBe(303);
    await until("it is accepted, once", async () => {
      const taken = await bench.read((sql) =>
        sql.all("SELECT handled_at FROM delivery WHERE guid = 'comment:written once'"),
      );
      return taken.length === 1 && (taken[0] as { handledAt: number | null }).handledAt !== null;
    });
    await untilAllIsTold(bench);
    expect((await product.get("/readyz")).status).toBe(200);
    expect(linesOf(join(traces, "looks"))).toHaveLength(2);
    expect(await bench.read((sql) => turnsOf(sql, id))).toHaveLength(2);
    expect(await bench.told(/is done/)).toHaveLength(1);
    expect(await bench.pulls()).toHaveLength(1);
    expect(await bench.read((sql) => violations(sql, Date.now()))).toEqual([]);
  },
  longTestMs,
);

test(
  "what a step did while the disk was full is committed when there is room, and the step is not run again",
  async (context) => {
    const home = mountSmallDisk(context, diskBytes);
    const traces = traceFolder();
    const folder = JSON.stringify(traces);
    const run = `echo ran >> ${folder}/ran; until [ -e ${folder}/go ]; do sleep 0.1; done`;
    const bench = openBench({ policy: { tasks: { slow: { steps: [{ run }] } } }, home });
    const product = await bench.start();
    await product.say(welcomeIssue, "@holdfast run slow");
    await until("the step runs", async () => linesOf(join(traces, "ran")).length === 1);
    const makeRoom = fill(home);
    await untilUnwritable(product);
    writeFileSync(join(traces, "go"), "");
    await until("its end is tried", async () => product.said().includes("trying again"));
    makeRoom();

    const { id } = await mandateIn(bench, "run slow", "completed");
    await untilAllIsTold(bench);
    expect(linesOf(join(traces, "ran"))).toHaveLength(1);
    expect(await bench.read((sql) => turnsOf(sql, id))).toHaveLength(1);
    expect(await bench.told(/is done/)).toHaveLength(1);
  },
  longTestMs,
);

test(
  "a start on a full disk says so, loses nothing, and works when there is room",
  async (context) => {
    const home = mountSmallDisk(context, diskBytes);
    const bench = openBench({ policy: { tasks: {} }, home });
    const makeRoom = fill(home);
    const refused = await holdfast(bench, "local", bench.repository.path, "--port", "0");
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain("full");
    expect(refused.stderr).not.toContain("bug");
    makeRoom();
    expect(await (await bench.start()).end()).toBe(0);

    const makeRoomAgain = fill(home);
    const again = await holdfast(bench, "local", bench.repository.path, "--port", "0");
    expect(again.exitCode).toBe(1);
    expect(again.stderr).toContain("full");
    expect(again.stderr).not.toContain("bug");
    makeRoomAgain();
    const last = await startPast(bench, 0);
    expect((await last.get("/readyz")).status).toBe(200);
  },
  longTestMs,
);
