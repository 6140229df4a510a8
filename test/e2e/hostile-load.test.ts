// The intake under attack (spec 6.2, 8.5): a process of its own is flooded while an honest forge sends. Every honest
// delivery is committed and answered in time, and neither memory nor the log grows with what was thrown at it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { unreadDeliveries } from "../../app/ledger/incoming/deliveries.ts";
import { openSqlite } from "../../app/ledger/sqlite/sqlite.ts";
import { deliveryHeaders, webhooks } from "../fakes/webhooks.ts";

const program = fileURLToPath(new URL("../fakes/intake-process.ts", import.meta.url));
const megabyte = 1024 * 1024;
/** All that a sender can know without the secret. */
const wrongHeaders = deliveryHeaders("something else");
const wrongLines = Object.entries(wrongHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
const wrongHead = `POST ${webhooks.path} HTTP/1.1\r\nhost: a\r\n${wrongLines.join("")}`;
/** After this GitHub gives up. */
const forgeMsLimit = 10_000;

interface Intake {
  readonly port: number;
  readonly folder: string;
  readonly url: string;
  /** All that it wrote to its log. */
  readonly log: () => string;
  /** What the process may be seen to hold at most, in megabytes, since this was last asked. */
  readonly peak: () => number;
  readonly end: () => Promise<void>;
}

async function startIntake(): Promise<Intake> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast hostile-"));
  const child = spawn(process.execPath, [program, folder], { stdio: "pipe" });
  const ended = once(child, "close");
  let log = "";
  child.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const port = Number(line.toString());
  async function end(): Promise<void> {
    child.stdin.end();
    await ended;
  }
  onTestFinished(async () => {
    await end();
    rmSync(folder, { recursive: true });
  });
  const url = `http://127.0.0.1:${port}${webhooks.path}`;
  return { port, folder, url, log: () => log, peak: () => peakOf(Number(child.pid)), end };
}

function peakOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

/** One honest delivery; the status that the forge hears before it gives up. */
async function deliver(intake: Intake, guid: string): Promise<number> {
  const body = JSON.stringify({ action: "opened", filler: "x".repeat(12_000) });
  // A connection of its own: one that was left idle may be ended by either side at any moment.
  const headers = { ...deliveryHeaders(body, { guid }), connection: "close" };
  const signal = AbortSignal.timeout(forgeMsLimit);
  return (await fetch(intake.url, { method: "POST", headers, body, signal })).status;
}

/** As many honest deliveries, ten at a time. */
async function deliverAll(intake: Intake, count: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let from = 0; from < count; from += 10) {
    const some = Array.from({ length: 10 }, (_, index) => deliver(intake, `guid-${from + index}`));
    statuses.push(...(await Promise.all(some)));
  }
  return statuses;
}

/** Sends that many megabytes unless it is cut off; the status it heard, if any. */
function pour(intake: Intake, megabytes: number, headers: Record<string, string>) {
  const body = Readable.from(Array.from({ length: megabytes }, () => Buffer.alloc(megabyte, 120)));
  return new Promise<number | undefined>((resolve) => {
    let status: number | undefined;
    const post = request(intake.url, { method: "POST", headers, agent: false }, (response) => {
      status = response.statusCode;
      response.resume();
    });
    post.on("error", () => {});
    post.on("close", () => {
      body.destroy();
      resolve(status);
    });
    body.pipe(post);
  });
}

/** Connections that send one byte after the other, until they are told to end. */
function drip(intake: Intake, count: number, head: string): () => void {
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(intake.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(head);
    return socket;
  });
  const timer = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write("x");
  }, 500);
  return () => {
    clearInterval(timer);
    for (const socket of sockets) socket.destroy();
  };
}

/** That many wrong signatures, fifty at a time, each on a connection of its own. */
async function forgeSignatures(intake: Intake, count: number): Promise<void> {
  let left = count;
  async function one(): Promise<void> {
    while (left > 0) {
      left -= 1;
      const socket = connect(intake.port, "127.0.0.1");
      socket.on("error", () => {});
      socket.end(`${wrongHead}content-length: 2\r\n\r\n{}`).resume();
      await new Promise((resolve) => socket.once("close", resolve));
    }
  }
  await Promise.all(Array.from({ length: 50 }, one));
}

async function committed(intake: Intake): Promise<number> {
  const ledger = openSqlite({ file: join(intake.folder, "ledger.sqlite"), now: Date.now });
  const rows = await ledger.read((sql) => unreadDeliveries(sql, Date.now(), 10_000));
  await ledger.close();
  return rows.length;
}

test("200 MB that nobody signed are refused unread, and leave memory as it was", async () => {
  const intake = await startIntake();
  await deliverAll(intake, 50);
  const before = intake.peak();
  const status = await pour(intake, 200, { "content-length": String(200 * megabyte) });
  expect(status).toBe(401);
  expect(intake.peak() - before).toBeLessThan(30);
  expect(await deliver(intake, "after")).toBe(202);
  await intake.end();
  expect(intake.log()).toMatch(/^{[^\n]*"cause":"unannounced","count":1[^\n]*}\n$/);
});

test("an honest forge is served in time whatever else is sent", async () => {
  const intake = await startIntake();
  await deliverAll(intake, 50);
  const before = intake.peak();
  const dripHeaders = drip(
    intake,
    150,
    "POST /api/github/webhooks HTTP/1.1\r\nhost: a\r\nx-long: ",
  );
  const dripBodies = drip(intake, 150, `${wrongHead}content-length: 1000000\r\n\r\n`);
  const hostile = Promise.all([
    pour(intake, 200, { "content-length": String(200 * megabyte) }),
    pour(intake, 200, { "transfer-encoding": "chunked", ...wrongHeaders }),
    pour(intake, 20, { "content-length": String(20 * megabyte), ...wrongHeaders }),
    forgeSignatures(intake, 5_000),
  ]);
  const statuses = await deliverAll(intake, 200);
  expect(await hostile).toEqual([401, 413, expect.toBeOneOf([401, 503]), undefined]);
  dripHeaders();
  dripBodies();
  expect(new Set(statuses)).toEqual(new Set([202]));
  // What bodies may weigh together, twice while they grow, and some.
  expect(intake.peak() - before).toBeLessThan(200);
  await intake.end();
  expect(Buffer.byteLength(intake.log())).toBeLessThan(20_000);
  expect(await committed(intake)).toBe(200);
});
