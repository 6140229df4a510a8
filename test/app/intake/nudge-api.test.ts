// `POST /api/nudges` (spec 3.4) over real HTTP: who may ring where, what is refused and how, and that a stored nudge wakes
// the waits that it is for and no others.

import { createHash } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { serve } from "../../../app/http.ts";
import { acceptDeliveries } from "../../../app/intake/accept.ts";
import { nudgeRoute } from "../../../app/intake/nudge-api.ts";
import { changeMandate } from "../../../app/ledger/mandates.ts";
import { armWait, liveWait } from "../../../app/ledger/waits.ts";
import { minuteMs } from "../../../policies/durations.ts";
import { openBareHost } from "../../fakes/host.ts";
import { aWait, plant, startAt } from "../../fakes/ledger.ts";

const token = "a-token-of-the-tests-long-enough";
const tokens = [
  {
    name: "registry",
    sha256: createHash("sha256").update(token).digest("hex"),
    repositories: ["org/Door"],
  },
];

async function begin() {
  const { host, clock } = openBareHost();
  const { ledger } = host;
  const route = nudgeRoute({ ledger, connection: "local", tokens });
  const server = await serve({
    port: 0,
    host: "127.0.0.1",
    routes: [route],
    problem: ({ status }) => ({ status, body: "problem" }),
  });
  onTestFinished(() => server.close());

  async function wait(number: number, signals: readonly { event: string }[]): Promise<string> {
    return ledger.write(async (tx) => {
      const { id } = await plant(tx, { number, entry: null });
      await tx.run("UPDATE repository SET name = 'org/door'");
      await armWait(tx, { mandateId: id, turnId: null }, { ...aWait, signals });
      await changeMandate(tx, id, { status: "waiting" });
      return id;
    });
  }

  async function post(body: unknown, headers: Record<string, string> = {}) {
    const answer = await fetch(`${server.url}/api/nudges`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    return { status: answer.status, text: await answer.text() };
  }

  async function dueAt(id: string): Promise<number | undefined> {
    await acceptDeliveries(host);
    return (await ledger.read((sql) => liveWait(sql, id)))?.dueAt;
  }

  return { clock, wait, post, dueAt };
}

const nudge = { repository: "org/door", event: "registry.pushed", ref: "v1.2" };

test("a nudge wakes the waits that listen for it at once, and no others", async () => {
  const { wait, post, dueAt } = await begin();
  const listening = await wait(1, [{ event: "registry.pushed" }]);
  const other = await wait(2, [{ event: "release.published" }]);
  expect(await post(nudge)).toEqual({ status: 202, text: '{"stored":true}\n' });
  expect(await dueAt(listening)).toBe(startAt);
  expect(await dueAt(other)).toBe(aWait.dueAt);
});

test("a mandate that is named is rung at alone, whatever it listens for", async () => {
  const { wait, post, dueAt } = await begin();
  const named = await wait(1, [{ event: "release.published" }]);
  const other = await wait(2, [{ event: "registry.pushed" }]);
  expect((await post({ ...nudge, mandate: named })).status).toBe(202);
  expect(await dueAt(named)).toBe(startAt);
  expect(await dueAt(other)).toBe(aWait.dueAt);
});

test("the same key is one nudge", async () => {
  const { wait, post } = await begin();
  await wait(1, []);
  const key = { "idempotency-key": "build-7" };
  expect((await post(nudge, key)).text).toBe('{"stored":true}\n');
  expect((await post(nudge, key)).text).toBe('{"stored":false}\n');
});

test.each([
  ["no token", { authorization: "" }, 401],
  ["another token", { authorization: "Bearer something else" }, 401],
  ["the hash of the token", { authorization: `Bearer ${tokens[0]?.sha256}` }, 401],
  ["a key that is none", { "idempotency-key": "two words" }, 422],
])("%s is refused", async (_, headers, status) => {
  const { wait, post } = await begin();
  await wait(1, []);
  expect((await post(nudge, headers)).status).toBe(status);
});

test.each([
  ["no JSON", "{", 422, /no JSON/],
  ["no event", { repository: "org/door" }, 422, /event/],
  ["an unknown key", { ...nudge, until: "tomorrow" }, 422, /until/],
  ["a reference of two words", { ...nudge, ref: "a b" }, 422, /ref: expected a name/],
  [
    "a repository that the token does not name",
    { ...nudge, repository: "org/safe" },
    403,
    /may not/,
  ],
  ["a mandate that is not there", { ...nudge, mandate: "m-2222" }, 404, /no such mandate/],
  ["more than a nudge can be", `{"event":"${"x".repeat(20_000)}"}`, 413, /./],
])("%s is refused, and says so", async (...[, body, status, words]) => {
  const { wait, post } = await begin();
  await wait(1, []);
  const answer = await post(body);
  expect([answer.status, answer.text]).toEqual([status, expect.stringMatching(words)]);
});

test("a repository of the token that nobody knows here is not found", async () => {
  const { post } = await begin();
  expect((await post(nudge)).status).toBe(404);
});

test("a hundred nudges are one recheck, and after sixty in a minute the sender is told to wait", async () => {
  const { clock, wait, post, dueAt } = await begin();
  const id = await wait(1, [{ event: "registry.pushed" }]);
  const statuses: number[] = [];
  for (let count = 0; count < 100; count += 1) statuses.push((await post(nudge)).status);
  expect(statuses.filter((status) => status === 202)).toHaveLength(60);
  expect(statuses.filter((status) => status === 429)).toHaveLength(40);
  expect(await dueAt(id)).toBe(startAt);
  clock.at += minuteMs;
  expect((await post(nudge)).status).toBe(202);
});
