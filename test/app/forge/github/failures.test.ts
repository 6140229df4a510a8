// What GitHub's answers mean for a read and for a write (spec 6.3, 6.4), one call each: nothing is repeated but what was
// certainly not done, and no word of an answer gets into a failure (I11).
import nock from "nock";
import { describe, expect, test, vi } from "vitest";
import type { Client } from "../../../../app/forge/github/client.ts";
import { openPulls } from "../../../../app/forge/github/pulls.ts";
import { api, door, mockGitHub, place, type Mocked } from "./mocked.ts";

const canary = "canary-of-the-body";
const now = 1_800_000_000_000;
const limit = "You have exceeded a secondary rate limit.";

function readIssue(client: Client): Promise<unknown> {
  return client.read(door, (octokit, at) => octokit.rest.issues.get({ ...at, issue_number: 1 }));
}

function writeComment(client: Client): Promise<unknown> {
  return client.write(door, (octokit, at) =>
    octokit.rest.issues.createComment({ ...at, issue_number: 1, body: "x" }),
  );
}

/** The repository has been looked up, and the clock stands still. */
async function begin(): Promise<Mocked> {
  const mocked = mockGitHub();
  mocked.clock.at = now;
  mocked.mintAll();
  mocked.github.get("/repositories/42").reply(200, place);
  await mocked.places.find("42");
  return mocked;
}

interface Answer {
  readonly status: number;
  readonly message?: string;
  readonly headers?: Record<string, string>;
}

type Row = [name: string, answer: Answer, read: string | null, write: string, until?: number];

const rows: readonly Row[] = [
  ["400", { status: 400 }, "unavailable", "unavailable"],
  ["403 without a limit", { status: 403 }, "refused", "refused"],
  ["404", { status: 404 }, null, "refused"],
  ["409", { status: 409 }, null, "unavailable"],
  ["413", { status: 413 }, "unavailable", "unavailable"],
  ["410", { status: 410 }, null, "refused"],
  ["422", { status: 422 }, null, "refused"],
  ["423", { status: 423 }, "refused", "refused"],
  ["451", { status: 451 }, null, "unavailable"],
  ["500", { status: 500 }, "unavailable", "unsure"],
  ["502", { status: 502 }, "unavailable", "unsure"],
  ["503", { status: 503 }, "unavailable", "unsure"],
  ["504", { status: 504 }, "unavailable", "unsure"],
  [
    "403 that says when",
    { status: 403, headers: { "retry-after": "7" } },
    "limited",
    "limited",
    now + 7_000,
  ],
  [
    "429 that says when",
    { status: 429, headers: { "retry-after": "120" } },
    "limited",
    "limited",
    now + 120_000,
  ],
  ["429 that does not", { status: 429 }, "limited", "limited", now + 60_000],
  [
    "403 with nothing remaining",
    {
      status: 403,
      headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": `${now / 1_000 + 90}` },
    },
    "limited",
    "limited",
    now + 90_000,
  ],
  [
    "403 with nothing remaining until an instant that is past",
    {
      status: 403,
      headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": `${now / 1_000 - 90}` },
    },
    "limited",
    "limited",
    now + 60_000,
  ],
  [
    "403 that only its words tell a limit",
    { status: 403, message: limit },
    "limited",
    "limited",
    now + 60_000,
  ],
];

describe.each(rows)("%s", (_name, { status, message = canary, headers = {} }, ...expected) => {
  const [read, write, until] = expected;
  const body = { message, documentation_url: canary };

  test("to a read", async () => {
    const { client, github } = await begin();
    github.get("/repos/org/door/issues/1").reply(status, body, headers);
    if (read === null) {
      expect(await readIssue(client)).toBeNull();
      return;
    }
    const failure = await failureOf(readIssue(client));
    expect(failure).toMatchObject({ code: read, ...(until !== undefined && { until }) });
    expectSilent(failure);
  });

  test("to a write", async () => {
    const { client, github } = await begin();
    github.post("/repos/org/door/issues/1/comments").reply(status, body, headers);
    const failure = await failureOf(writeComment(client));
    expect(failure).toMatchObject({ code: write, ...(until !== undefined && { until }) });
    expectSilent(failure);
    if (write !== "limited") expect(failure.message).toContain(String(status));
  });
});

async function failureOf(call: Promise<unknown>): Promise<Error> {
  return call.then(
    () => new Error("nothing failed"),
    (error: Error) => error,
  );
}

function errorOf(code: string): Error {
  return Object.assign(new Error(canary), { code });
}

function expectSilent(failure: Error): void {
  const whole = `${failure.stack} ${JSON.stringify(failure)} ${String(failure.cause)}`;
  expect(whole).not.toContain("canary");
  expect(whole).not.toContain("ghs_");
}

describe("a call without a whole answer", () => {
  test.each([
    ["a connection that ends", errorOf("ECONNRESET"), "ECONNRESET"],
    ["a host that is not found", errorOf("ENOTFOUND"), "ENOTFOUND"],
    ["a failure without a name", new Error(canary), "no answer"],
  ])("%s leaves a write unsure and a read for later", async (_name, error, word) => {
    const { client, github } = await begin();
    github.get("/repos/org/door/issues/1").replyWithError(error);
    github.post("/repos/org/door/issues/1/comments").replyWithError(error);
    const read = await failureOf(readIssue(client));
    expect(read).toMatchObject({ code: "unavailable", message: expect.stringContaining(word) });
    const write = await failureOf(writeComment(client));
    expect(write).toMatchObject({ code: "unsure", message: expect.stringContaining(word) });
    expectSilent(read);
    expectSilent(write);
  });

  test("one that takes too long is given up", async () => {
    const { client, github } = await begin();
    github.post("/repos/org/door/issues/1/comments").reply(201, { id: 1, html_url: "u" });
    await client.write(door, (octokit, at) =>
      octokit.rest.issues.createComment({ ...at, issue_number: 1, body: "x" }),
    );
    const over = AbortSignal.abort(new DOMException("over", "TimeoutError"));
    const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(over);
    const failure = await failureOf(writeComment(client));
    timeout.mockRestore();
    expect(failure).toMatchObject({ code: "unsure", message: expect.stringMatching(/in time/) });
  });

  test.each([
    ["a page of HTML", "<html>It works!</html>", "text/html"],
    ["half of an answer", '{"id": 1, "html', "application/json"],
  ])("%s is no answer of GitHub's", async (_name, body, type) => {
    const { client, github } = await begin();
    const headers = { "content-type": type };
    github.get("/repos/org/door/issues/1").reply(200, body, headers);
    github.post("/repos/org/door/issues/1/comments").reply(200, body, headers);
    expect(await failureOf(readIssue(client))).toMatchObject({ code: "unavailable" });
    expect(await failureOf(writeComment(client))).toMatchObject({ code: "unsure" });
  });
});

describe("a write that is sent elsewhere", () => {
  test.each([301, 302, 307, 308])("%i is not followed, and not taken for done", async (status) => {
    const { client, github } = await begin();
    const elsewhere = nock("https://elsewhere.example")
      .post("/comments")
      .optionally()
      .reply(201, { id: 1 });
    const location = "https://elsewhere.example/comments";
    github.post("/repos/org/door/issues/1/comments").reply(status, { url: location }, { location });
    expect(await failureOf(writeComment(client))).toMatchObject({ code: "unavailable" });
    expect(elsewhere.activeMocks()).toHaveLength(1);
  });

  test("is written under the new name when it is tried again", async () => {
    const { client, github } = await begin();
    const location = `${api}/api/v3/repositories/42/issues/1/comments`;
    github.post("/repos/org/door/issues/1/comments").reply(307, {}, { location });
    expect(await failureOf(writeComment(client))).toMatchObject({ code: "unavailable" });
    github.get("/repositories/42").reply(200, { ...place, full_name: "org/gate" });
    github.post("/repos/org/gate/issues/1/comments").reply(201, { id: 1, html_url: "u" });
    expect(await writeComment(client)).toMatchObject({ id: 1 });
  });
});

describe("401", () => {
  test("is tried once more with a token that is new, writes too", async () => {
    const { client, github, minted, secrets } = await begin();
    const seen: unknown[] = [];
    github
      .post("/repos/org/door/issues/1/comments")
      .reply(401, { message: "Bad credentials" })
      .post("/repos/org/door/issues/1/comments")
      .matchHeader("authorization", (value) => seen.push(value) > 0)
      .reply(201, { id: 1, html_url: "u" });
    const before = minted.length;
    expect(await writeComment(client)).toMatchObject({ id: 1 });
    expect(minted.length - before).toBe(2);
    expect(String(seen[0])).toContain(secrets.at(-1));
  });

  test("a second time it is for later, and nothing was done", async () => {
    const { client, github } = await begin();
    github.get("/repos/org/door/issues/1").twice().reply(401, { message: canary });
    expect(await failureOf(readIssue(client))).toMatchObject({ code: "unavailable" });
    github.post("/repos/org/door/issues/1/comments").twice().reply(401, { message: canary });
    const failure = await failureOf(writeComment(client));
    expect(failure).toMatchObject({ code: "unavailable" });
    expectSilent(failure);
  });
});

describe("a mutation that GitHub answers with words", () => {
  const pull = {
    number: 5,
    state: "open",
    draft: true,
    node_id: "PR_5",
    html_url: "u",
    title: "t",
    head: { ref: "h" },
    base: { ref: "main" },
  };
  const change = { title: "t", body: "b" };

  test.each([
    ["NOT_FOUND", "refused"],
    ["FORBIDDEN", "refused"],
    ["RATE_LIMITED", "limited"],
    [undefined, "unsure"],
  ])("%s is %s", async (type, code) => {
    const { client, github } = await begin();
    github.patch("/repos/org/door/pulls/5").reply(200, pull);
    const errors = [{ type, message: canary }];
    nock(api).post("/api/graphql").reply(200, { data: null, errors });
    const failure = await failureOf(
      openPulls(client).editPull(door, 5, { ...change, isDraft: false }),
    );
    expect(failure).toMatchObject({ code });
    expectSilent(failure);
  });
});
