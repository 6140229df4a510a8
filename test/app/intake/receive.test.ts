// Receiving webhooks (spec 6.2; I4), over HTTP on a ledger on disk.
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { serve } from "../../../app/http.ts";
import { receiveWebhooks, type ReceiveOptions } from "../../../app/intake/receive.ts";
import { unreadDeliveries } from "../../../app/ledger/incoming/deliveries.ts";
import type { Ledger } from "../../../app/ledger/ledger.ts";
import { openSqlite } from "../../../app/ledger/sqlite/sqlite.ts";
import { Failure } from "../../../policies/failure.ts";
import { deliveryHeaders, sign, webhooks } from "../../fakes/webhooks.ts";

interface Server {
  readonly url: string;
  readonly ledger: Ledger;
  readonly logged: object[];
  readonly counts: Readonly<Record<string, number>>;
}

async function open(change: Partial<ReceiveOptions> = {}): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast receive-"));
  const ledger = openSqlite({ file: join(folder, "ledger.sqlite"), now: Date.now });
  const logged: object[] = [];
  const log = { debug() {}, info() {}, error() {}, warn: (fields: object) => logged.push(fields) };
  const options = { ledger, log: log as unknown as ReceiveOptions["log"], ...change };
  const receiver = receiveWebhooks(webhooks, options);
  const serving = await serve({
    port: 0,
    host: "127.0.0.1",
    routes: [receiver.route],
    guard: () => ({ status: 403, body: "pages have another guard" }),
    problem: ({ status }) => ({ status, body: "problem" }),
  });
  onTestFinished(async () => {
    await serving.close();
    await ledger.close();
    rmSync(folder, { recursive: true });
  });
  return { url: serving.url + webhooks.path, ledger, logged, counts: receiver.counts };
}

function post(
  { url }: Server,
  {
    body = "{}",
    ...delivery
  }: { body?: string; guid?: string; event?: string; signature?: string } = {},
): Promise<number> {
  const headers = deliveryHeaders(body, delivery);
  return fetch(url, { method: "POST", headers, body }).then(({ status }) => status);
}

/** A ledger whose commits wait. */
function heldBack(ledger: Ledger, until: Promise<void>): Ledger {
  return {
    ...ledger,
    now: () => Date.now(),
    append: async (change) => {
      await until;
      return ledger.append(change);
    },
  };
}

function stored({ ledger }: Server) {
  return ledger.read((sql) => unreadDeliveries(sql, Date.now(), 10_000));
}

test("a signed delivery is stored as it came, byte for byte", async () => {
  const server = await open();
  const body = '{"text": "é 🦀 \\u0000",   "spaces": 1}\n';
  expect(await post(server, { body, guid: "g-1" })).toBe(202);
  expect(await stored(server)).toMatchObject([{ guid: "g-1", event: "issues", body }]);
});

test("the signature of the forge's own documentation is taken", async () => {
  const server = await open();
  const signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
  expect(await post(server, { body: "Hello, World!", signature })).toBe(202);
});

test.each([
  ["wrong", sign("another body")],
  ["of the older kind", "sha1=0000000000000000000000000000000000000000"],
  ["empty", "sha256="],
])("a signature that is %s is refused, and nothing is stored", async (_, signature) => {
  const server = await open();
  expect(await post(server, { signature })).toBe(401);
  expect(await stored(server)).toEqual([]);
});

/** What is answered to headers alone, before the connection ends. */
function ask(server: Server, headers: Record<string, string>): Promise<string> {
  const lines = Object.entries({ host: "a", ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    let text = "";
    socket.on("data", (chunk) => (text += chunk.toString()));
    socket.on("close", () => resolve(text));
    socket.write(`POST ${webhooks.path} HTTP/1.1\r\n${lines.join("")}\r\n`);
  });
}

test.each(["x-github-delivery", "x-github-event", "x-hub-signature-256"])(
  "without %s the body is not even read, and the connection ends",
  async (missing) => {
    const server = await open();
    const { [missing]: _, ...headers } = deliveryHeaders("{}");
    const heard = await ask(server, { ...headers, "content-length": "200000000" });
    expect(heard).toMatch(/^HTTP\/1.1 401 /);
    expect(heard).toMatch(/connection: close/i);
    expect(server.counts).toMatchObject({ unannounced: 1 });
  },
);

test("what is larger than the forge ever sends is refused unread, and cut where its length is untold", async () => {
  const server = await open();
  const heard = await ask(server, { ...deliveryHeaders("{}"), "content-length": "26214401" });
  expect(heard).toMatch(/^HTTP\/1.1 413 /);
  const body = new Blob([Buffer.alloc(26_214_401)]).stream();
  const headers = deliveryHeaders("{}");
  const untold = await fetch(server.url, { method: "POST", headers, body, duplex: "half" });
  expect([untold.status, await untold.text()]).toEqual([413, "no delivery is that large"]);
  expect(server.counts).toMatchObject({ "too-large": 2 });
});

test("a signed delivery is taken whatever type its content is said to have", async () => {
  const server = await open();
  const headers = {
    ...deliveryHeaders("a=b"),
    "content-type": "application/x-www-form-urlencoded",
  };
  expect((await fetch(server.url, { method: "POST", headers, body: "a=b" })).status).toBe(202);
  expect(await stored(server)).toHaveLength(1);
});

test("I4: one GUID is one row, also when it comes a hundred times at once", async () => {
  const server = await open();
  const statuses = await Promise.all(
    Array.from({ length: 100 }, () => post(server, { guid: "same" })),
  );
  expect(new Set(statuses)).toEqual(new Set([202]));
  expect(await stored(server)).toHaveLength(1);
  expect(server.counts).toMatchObject({ stored: 1, duplicate: 99 });
});

test("an event that means nothing is answered and not stored", async () => {
  const server = await open();
  expect(await post(server, { event: "star" })).toBe(202);
  expect(await stored(server)).toEqual([]);
});

test("it is answered only after the commit", async () => {
  const server = await open();
  const held = Promise.withResolvers<void>();
  const other = await open({ ledger: heldBack(server.ledger, held.promise) });
  let isAnswered = false;
  const answer = post(other).then((status) => {
    isAnswered = true;
    return status;
  });
  await post(server);
  await post(server);
  expect(isAnswered).toBe(false);
  held.resolve();
  expect(await answer).toBe(202);
});

test("beyond the limit the forge is asked to come again, and nothing that was taken is lost", async () => {
  const server = await open();
  const held = Promise.withResolvers<void>();
  const busy = await open({ ledger: heldBack(server.ledger, held.promise), waitingLimit: 8 });
  const answers: number[] = [];
  const all = Array.from({ length: 20 }, async (_, index) => {
    answers.push(await post(busy, { guid: `g-${index}` }));
  });
  await expect.poll(() => answers).toEqual(Array.from({ length: 12 }, () => 503));
  held.resolve();
  await Promise.all(all);
  expect(answers.slice(12)).toEqual(Array.from({ length: 8 }, () => 202));
  expect(await stored(server)).toHaveLength(8);
});

test("a ledger that cannot be written is said so, not hidden", async () => {
  const full = new Failure("persistence-unavailable", "later", { message: "disk full" });
  const server = await open();
  const broken: Ledger = {
    ...server.ledger,
    now: () => Date.now(),
    append: () => Promise.reject(full),
  };
  expect(await post(await open({ ledger: broken }))).toBe(503);
});

test("a flood of wrong signatures is one line in the log, without a word of what was sent", async () => {
  const server = await open();
  const body = "SECRET-WORDS";
  await Promise.all(
    Array.from({ length: 500 }, () => post(server, { body, signature: sign("other") })),
  );
  expect(server.counts).toMatchObject({ "wrong-signature": 500 });
  expect(server.logged).toEqual([{ connection: "github", cause: "wrong-signature", count: 1 }]);
});
