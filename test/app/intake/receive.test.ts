// Receiving webhooks (spec 6.2; I4), over HTTP on a ledger on disk.
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Webhooks } from "../../../app/forge/webhooks.ts";
import { serve } from "../../../app/http.ts";
import { receiveWebhooks, type ReceiveOptions } from "../../../app/intake/receive.ts";
import { unreadDeliveries } from "../../../app/ledger/deliveries.ts";
import type { Ledger } from "../../../app/ledger/ledger.ts";
import { openSqlite } from "../../../app/ledger/sqlite/sqlite.ts";
import { Failure } from "../../../policies/failure.ts";

const secret = "It's a Secret to Everybody";

function sign(body: string | Buffer): string {
  return `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
}

/** A forge that signs with HMAC-SHA256, as most do. */
const webhooks: Webhooks = {
  connection: "github",
  path: "/hook",
  announced: (header) => {
    const [guid, event, signature] = [header("x-guid"), header("x-event"), header("x-signature")];
    if (guid === undefined || event === undefined || signature === undefined) return null;
    return { guid, event, signature };
  },
  isSigned: ({ signature }, body) => {
    const [one, two] = [Buffer.from(signature), Buffer.from(sign(body))];
    return one.length === two.length && timingSafeEqual(one, two);
  },
  isWanted: (event) => event !== "star",
  read: async () => [],
};

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
  return { url: `${serving.url}/hook`, ledger, logged, counts: receiver.counts };
}

function post(
  { url }: Server,
  { body = "{}", guid = randomUUID(), event = "issues", signature = sign(body) } = {},
): Promise<number> {
  const headers = { "x-guid": guid, "x-event": event, "x-signature": signature };
  return fetch(url, { method: "POST", headers, body }).then(({ status }) => status);
}

/** A ledger whose commits wait. */
function heldBack(ledger: Ledger, until: Promise<void>): Ledger {
  return {
    ...ledger,
    now: () => Date.now(),
    write: async (change) => {
      await until;
      return ledger.write(change);
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

test("without the headers of a delivery the body is not even read", async () => {
  const server = await open();
  const port = Number(new URL(server.url).port);
  const heard = await new Promise<string>((resolve) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.on("data", (chunk) => (text += chunk.toString()));
    socket.on("close", () => resolve(text));
    socket.write("POST /hook HTTP/1.1\r\nhost: a\r\ncontent-length: 200000000\r\n\r\n");
  });
  expect(heard).toMatch(/^HTTP\/1.1 401 /);
  expect(heard).toMatch(/connection: close/i);
});

test("what is larger than the forge ever sends is refused unread", async () => {
  const server = await open();
  const port = Number(new URL(server.url).port);
  const heard = await new Promise<string>((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("data", (chunk) => resolve(chunk.toString()));
    const headers = "x-guid: g\r\nx-event: issues\r\nx-signature: s";
    socket.write(
      `POST /hook HTTP/1.1\r\nhost: a\r\n${headers}\r\ncontent-length: 26214401\r\n\r\n`,
    );
  });
  expect(heard).toMatch(/^HTTP\/1.1 413 /);
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
    write: () => Promise.reject(full),
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
