// GitHub's payloads as our events (spec 3.4, 6.2): every published example of what we listen to, our own texts and those
// that only look so, and payloads that are not what they promise.
import { createHash } from "node:crypto";
import examples from "@octokit/webhooks-examples" with { type: "json" };
import * as fc from "fast-check";
import nock from "nock";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { makeProbot } from "../../../../../app/forge/github/app.ts";
import { openReading } from "../../../../../app/forge/github/events/reading.ts";
import { verifyGitHub } from "../../../../../app/forge/github/webhooks.ts";
import type { ForgeEvent } from "../../../../../policies/events.ts";
import type { Failure } from "../../../../../policies/failure.ts";
import { privateKey } from "../mocked.ts";

type Json = Record<string, unknown>;

const self = { id: "901", name: "holdfast[bot]", isBot: true };
const appId = 77;
const isWanted = verifyGitHub("a secret of the tests").isWanted;
const published = (examples as unknown as { name: string; examples: Json[] }[])
  .filter(({ name }) => isWanted(name))
  .flatMap(({ name, examples: all }) => all.map((payload) => ({ name, payload })));

const probot = makeProbot({
  appId,
  privateKey,
  webhookSecret: "a secret of the tests",
  baseUrl: "https://api.github.com",
});
const read = openReading(probot, { connection: "github", appId, self });
let count = 0;

function reading(event: string, payload: unknown): Promise<ForgeEvent[]> {
  count += 1;
  return read({ guid: `guid-${count}`, event, body: JSON.stringify(payload) });
}

/** The first published example of `event.action`, with some of its parts changed. */
function example(name: string, change: Json = {}): Json {
  const [event, action] = name.split(".");
  const found = published.find(
    (one) => one.name === event && (action === undefined || one.payload["action"] === action),
  );
  if (found === undefined) throw new Error(`no example of ${name}`);
  return merged(found.payload, change);
}

function merged(base: Json, change: Json): Json {
  const entries = Object.entries(change).map(([key, value]) => {
    const before = base[key];
    const isDeep = isObject(before) && isObject(value);
    return [key, isDeep ? merged(before, value) : value];
  });
  return { ...base, ...Object.fromEntries(entries) };
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

beforeAll(() => nock.disableNetConnect());
afterAll(() => nock.enableNetConnect());

/** What each event and action says to us; nothing where it is not here. */
const meant: Readonly<Record<string, readonly string[]>> = {
  "issue_comment.created": ["text comment"],
  "issue_comment.edited": ["edited comment"],
  "issue_comment.deleted": ["deleted comment"],
  "issues.opened": ["text issue"],
  "issues.deleted": ["conversation deleted"],
  "issues.locked": ["conversation locked"],
  "issues.unlocked": ["conversation unlocked"],
  "issues.reopened": ["conversation reopened"],
  "issues.transferred": ["conversation transferred"],
  "pull_request.closed": ["conversation closed", "nudge pull_request.closed"],
  "pull_request.reopened": ["conversation reopened"],
  "pull_request.locked": ["conversation locked"],
  "pull_request.unlocked": ["conversation unlocked"],
  "pull_request.synchronize": ["head-moved"],
  "pull_request_review_comment.created": ["text inline-comment"],
  "pull_request_review_comment.edited": ["edited inline-comment"],
  "pull_request_review_comment.deleted": ["deleted inline-comment"],
  "installation.created": ["reach open"],
  "installation.unsuspend": ["reach open"],
  "installation.new_permissions_accepted": ["reach open"],
  "installation.suspend": ["reach suspended"],
  "installation.deleted": ["reach gone"],
  "installation_repositories.added": ["reach open"],
  "installation_repositories.removed": ["reach gone"],
  "release.published": ["nudge release.published"],
  "release.edited": ["nudge release.edited"],
  "release.released": ["nudge release.released"],
  "package.published": ["nudge package.published"],
  "check_run.completed": ["nudge check_run.completed"],
  "check_suite.completed": ["nudge check_suite.completed"],
  "workflow_run.completed": ["nudge workflow_run.completed"],
  "deployment_status.created": ["nudge deployment_status"],
  "repository_dispatch.on-demand-test": ["nudge repository_dispatch"],
  push: ["nudge push"],
  status: ["nudge status"],
};

function wordsOf(event: ForgeEvent): string {
  switch (event.kind) {
    case "text":
    case "edited":
    case "deleted":
      return `${event.kind} ${event.text.kind}`;
    case "own-text":
    case "conversation":
    case "reach":
      return `${event.kind} ${event.change}`;
    case "nudge":
      return `nudge ${event.event}`;
    case "head-moved":
    case "operator":
      return event.kind;
  }
}

/** Where it depends on more than event and action. */
function meaningOf(name: string, { action, ...payload }: Json): readonly string[] {
  if (name === "create") return payload["ref_type"] === "tag" ? ["nudge create"] : [];
  if (name === "pull_request_review") {
    const { body } = payload["review"] as Json;
    return action === "submitted" && body ? ["text review"] : [];
  }
  return meant[typeof action === "string" ? `${name}.${action}` : name] ?? [];
}

describe("published payloads", () => {
  test.each(published)("%# $name $payload.action", async ({ name, payload }) => {
    const found = await reading(name, payload);
    expect(found.map(wordsOf)).toEqual(meaningOf(name, payload));
  });

  test("there is one of every event that means something, but for one", () => {
    const names = new Set(published.map(({ name }) => name));
    expect(names).not.toContain("registry_package");
    expect(names.size).toBe(18);
  });
});

const hello = { connection: "github", forgeId: "186853002" };
const by = { byId: "21031067", byName: "Codertocat" };
const headCommit = "ec26c3e57ca3a959ca5aad62de7213c562f8c821";
const nobody = { tag: null, branch: null, commit: null, number: null };

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

describe("what an event says in full", () => {
  test.each<[string, Json, ForgeEvent[]]>([
    [
      "issue_comment.created",
      { comment: { body: "@holdfast hello 🦀" } },
      [
        {
          kind: "text",
          text: { ...hello, kind: "comment", id: "492700400" },
          number: 1,
          bodyHash: hashOf("@holdfast hello 🦀"),
        },
      ],
    ],
    [
      "issues.opened",
      { issue: { body: null } },
      [
        {
          kind: "text",
          text: { ...hello, kind: "issue", id: "1" },
          number: 1,
          bodyHash: hashOf(""),
        },
      ],
    ],
    [
      "pull_request_review.submitted",
      { review: { body: "creaks" } },
      [
        {
          kind: "text",
          text: { ...hello, kind: "review", id: "2/237895671" },
          number: 2,
          bodyHash: hashOf("creaks"),
        },
      ],
    ],
    [
      "pull_request_review_comment.edited",
      {},
      [
        {
          kind: "edited",
          text: { ...hello, kind: "inline-comment", id: "284312630" },
          number: 2,
        },
      ],
    ],
    [
      "issues.edited",
      { changes: { body: { from: "before" } } },
      [{ kind: "edited", text: { ...hello, kind: "issue", id: "1" }, number: 1 }],
    ],
    ["issues.edited", { changes: { title: { from: "before" } } }, []],
    ["issue_comment.edited", { changes: { body: undefined } }, []],
    ["pull_request_review.submitted", { review: { body: null } }, []],
    ["pull_request_review.submitted", { review: { body: "" } }, []],
    [
      "pull_request.synchronize",
      {},
      [{ kind: "head-moved", ...hello, ...by, number: 2, commit: headCommit }],
    ],
    [
      "pull_request.closed",
      { pull_request: { merged: true } },
      [
        { kind: "conversation", ...hello, ...by, number: 2, change: "merged" },
        ...["pull_request.closed", "pull_request.merged"].map((event) => ({
          kind: "nudge" as const,
          ...hello,
          event,
          ...nobody,
          branch: "changes",
          commit: headCommit,
          number: 2,
        })),
      ],
    ],
    [
      "release.published",
      {},
      [{ kind: "nudge", ...hello, event: "release.published", ...nobody, tag: "0.0.1" }],
    ],
    [
      "push",
      { ref: "refs/heads/a/b", after: headCommit },
      [{ kind: "nudge", ...hello, event: "push", ...nobody, branch: "a/b", commit: headCommit }],
    ],
    [
      "push",
      { ref: "refs/tags/v1", after: "0".repeat(40) },
      [{ kind: "nudge", ...hello, event: "push", ...nobody, tag: "v1" }],
    ],
    [
      "create",
      { ref_type: "tag", ref: "v1" },
      [{ kind: "nudge", ...hello, event: "create", ...nobody, tag: "v1" }],
    ],
    ["create", { ref_type: "branch", ref: "a" }, []],
    [
      "check_run.completed",
      { check_run: { check_suite: { head_branch: null } } },
      [{ kind: "nudge", ...hello, event: "check_run.completed", ...nobody, commit: headCommit }],
    ],
    [
      "installation.suspend",
      {},
      [
        {
          kind: "reach",
          connection: "github",
          account: "16598467",
          ...by,
          forgeIds: null,
          change: "suspended",
        },
      ],
    ],
    [
      "repository.renamed",
      { action: "deleted" },
      [
        {
          kind: "reach",
          connection: "github",
          account: "1",
          ...by,
          forgeIds: ["186853261"],
          change: "gone",
        },
      ],
    ],
  ])("%s %j", async (name, change, expected) => {
    const [event = ""] = name.split(".");
    expect(await reading(event, example(name, change))).toEqual(expected);
  });

  test("a package rings under the name by which GitHub tells the App of it", async () => {
    const { package: one, ...rest } = example("package.published");
    const found = await reading("registry_package", { ...rest, registry_package: one });
    const version = { kind: "nudge", event: "registry_package.published", tag: "1.0.0" };
    expect(found).toMatchObject([version]);
  });

  test("whoever is not named did it by no known id", async () => {
    const found = await reading("issues", example("issues.locked", { sender: null }));
    expect(found).toMatchObject([{ byId: "0", byName: "nobody" }]);
  });
});

describe("what we do ourselves", () => {
  const ours = { id: 901, login: "holdfast[bot]" };
  const through = { performed_via_github_app: { id: appId } };

  test.each<[string, Json]>([
    ["issue_comment.created", { comment: { user: ours } }],
    ["issue_comment.created", { comment: through }],
    ["issues.opened", { issue: { user: ours } }],
    ["pull_request_review.submitted", { review: { user: ours, body: "words" } }],
    ["pull_request_review_comment.created", { comment: { user: ours } }],
    ["pull_request_review_comment.deleted", { comment: { user: ours } }],
    ["issue_comment.edited", { comment: { user: ours }, sender: ours }],
    ["issue_comment.deleted", { comment: { user: ours }, sender: ours }],
    ["check_run.completed", { check_run: { app: { id: appId } } }],
    ["check_suite.completed", { check_suite: { app: { id: appId } } }],
  ])("%s of ours says nothing: %j", async (name, change) => {
    const [event = ""] = name.split(".");
    expect(await reading(event, example(name, change))).toEqual([]);
  });

  test.each(["edited", "deleted"])("a comment of ours that somebody %s is told", async (change) => {
    const payload = example(`issue_comment.${change}`, { comment: { user: ours } });
    const expected = { kind: "own-text", ...hello, ...by, number: 1, id: "492700400", change };
    expect(await reading("issue_comment", payload)).toEqual([expected]);
  });

  test.each<[string, Json]>([
    ["our name", { user: { id: 5, login: "holdfast[bot]" } }],
    ["a name like a bot's", { user: { id: 5, login: "evil[bot]" } }],
    ["another App", { performed_via_github_app: { id: 78 } }],
    ["no author", { user: null }],
    ["another bot", { user: { id: 6, login: "dependabot[bot]", type: "Bot" } }],
  ])("a comment with %s is not ours", async (_name, comment) => {
    const found = await reading("issue_comment", example("issue_comment.created", { comment }));
    expect(found.map(wordsOf)).toEqual(["text comment"]);
  });
});

const bad = { name: "Failure", code: "bad-delivery", retry: "never" };

describe("payloads that are not what they promise", () => {
  test.each([
    "",
    "{",
    "null",
    "[]",
    '"text"',
    "7",
    "[".repeat(100_000),
    "\u0000",
    '{"action":"created"',
  ])("%# is no payload at all", async (body) => {
    await expect(read({ guid: "g", event: "issue_comment", body })).rejects.toMatchObject(bad);
  });

  const parts: readonly [string, string, Json][] = [
    ["no comment", "issue_comment.created", { comment: null }],
    ["no repository", "issue_comment.created", { repository: null }],
    ["no issue", "issue_comment.created", { issue: null }],
    ["a number that is a text", "issue_comment.created", { issue: { number: "1" } }],
    ["a number that is a path", "issue_comment.created", { issue: { number: "1/../../2" } }],
    ["half a number", "issues.opened", { issue: { number: 1.5 } }],
    ["an id that is an object", "issue_comment.created", { comment: { id: { a: 1 } } }],
    ["an id that is a path", "issue_comment.created", { comment: { id: "../1" } }],
    ["an id below zero", "issue_comment.created", { repository: { id: -1 } }],
    ["an id beyond all numbers", "issue_comment.created", { comment: { id: 1e300 } }],
    ["a body that is a list", "issue_comment.created", { comment: { body: ["x"] } }],
    ["an author that is a text", "issue_comment.created", { comment: { user: "ada" } }],
    ["a sender without an id", "issues.locked", { sender: { login: "ada", id: null } }],
    ["an action that is an object", "issue_comment.created", { action: { a: 1 } }],
    ["a head that is nothing", "pull_request.synchronize", { pull_request: { head: null } }],
    ["a tag that is an object", "release.published", { release: { tag_name: {} } }],
    ["a ref that is a number", "push", { ref: 7 }],
    ["no installation", "installation.created", { installation: null }],
    ["repositories that are a text", "installation.created", { repositories: "all" }],
    ["a repository without an id", "installation.created", { repositories: [{ name: "x" }] }],
  ];

  test.each(parts)("%s: %s %j", async (_name, name, change) => {
    const [event = ""] = name.split(".");
    await expect(reading(event, example(name, change))).rejects.toMatchObject(bad);
  });

  test("the failure holds no word of the payload", async () => {
    const payload = example("issue_comment.created", { comment: { id: "canary" }, canary: 1 });
    const failure: unknown = await reading("issue_comment", payload).catch((e: unknown) => e);
    const { stack, cause } = failure as Failure;
    expect(`${String(failure)} ${stack} ${String(cause)}`).not.toContain("canary");
  });

  test("names of what every object has are only names", async () => {
    const body = '{"__proto__": {"action": "created"}, "constructor": {"prototype": {"x": 1}}}';
    const read1 = read({ guid: "g", event: "issue_comment", body });
    await expect(read1).rejects.toMatchObject(bad);
    for (const action of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      expect(await reading("issues", example("issues.opened", { action }))).toEqual([]);
      expect(await reading("release", example("release.published", { action }))).toEqual([]);
    }
    for (const event of ["__proto__", "constructor", "ping", "no_such_event"]) {
      const found = await reading(event, {}).catch((error: unknown) => error);
      if (!Array.isArray(found)) expect(found).toMatchObject(bad);
    }
    expect(Object.prototype).not.toHaveProperty("x");
  });

  test("a megabyte of text is read as any other", async () => {
    const body = "@holdfast ".repeat(100_000);
    const found = await reading(
      "issue_comment",
      example("issue_comment.created", { comment: { body } }),
    );
    expect(found).toMatchObject([{ kind: "text", bodyHash: hashOf(body) }]);
  });

  test("whatever is changed in a payload gives events of known form, or a bad delivery", async () => {
    const anything = fc.oneof(
      fc.constantFrom(null, "", 0, -1, 1.5, true, "1", [], {}, [[]], { id: 1 }, { id: "1" }),
      fc.jsonValue({ maxDepth: 3 }),
    );
    const property = fc.asyncProperty(
      fc.nat(published.length - 1),
      fc.nat(),
      anything,
      async (index, pick, value) => {
        const one = published[index];
        if (one === undefined) return;
        const paths = pathsIn(one.payload);
        const payload = replaced(one.payload, paths[pick % paths.length] ?? [], value);
        const found = await reading(one.name, payload).catch((error: unknown) => error);
        if (found instanceof Error) expect(found).toMatchObject(bad);
        else for (const event of found as ForgeEvent[]) expectWhole(event);
      },
    );
    await fc.assert(property, { numRuns: 600 });
  });
});

/** The ways to the parts of a payload that we read, two levels deep. */
function pathsIn(payload: Json): string[][] {
  return Object.entries(payload).flatMap(([name, value]) => [
    [name],
    ...(isObject(value) ? Object.keys(value).map((inner) => [name, inner]) : []),
  ]);
}

function replaced(payload: Json, [first, ...rest]: readonly string[], value: unknown): Json {
  if (first === undefined) return payload;
  const inner = payload[first];
  const isLast = rest.length === 0 || !isObject(inner);
  return { ...payload, [first]: isLast ? value : replaced(inner, rest, value) };
}

/** No id but digits, no number but whole ones, no text but text. */
function expectWhole(event: ForgeEvent): void {
  const flat: Json = { ...event, ...("text" in event ? event.text : {}) };
  expect(flat["connection"]).toBe("github");
  if (flat["forgeId"] !== undefined) expect(flat["forgeId"]).toMatch(/^\d+$/);
  if (flat["id"] !== undefined) expect(flat["id"]).toMatch(/^(\d+\/)?\d+$/);
  if (event.kind !== "nudge" && "number" in flat)
    expect(flat["number"]).toSatisfy(Number.isInteger);
  if ("byId" in flat)
    expect([typeof flat["byId"], typeof flat["byName"]]).toEqual(["string", "string"]);
  if (event.kind !== "nudge") return;
  for (const part of [event.tag, event.branch, event.commit]) {
    expect(part === null || typeof part === "string").toBe(true);
  }
}

describe("Probot as the reader", () => {
  test("many deliveries read at once do not mix", async () => {
    const ids = Array.from({ length: 50 }, (_, index) => 1_000 + index);
    const found = await Promise.all(
      ids.map((id) =>
        reading("issue_comment", example("issue_comment.created", { comment: { id } })),
      ),
    );
    const told = found.map((events) => events.map((event) => "text" in event && event.text.id));
    expect(told).toEqual(ids.map((id) => [String(id)]));
  });

  test("one delivery that is read twice at once is told to both, once each", async () => {
    const body = JSON.stringify(example("issue_comment.created"));
    const twice = [1, 2].map(() => read({ guid: "same", event: "issue_comment", body }));
    const found = await Promise.all(twice);
    expect(found.map((events) => events.length)).toEqual([1, 1]);
  });

  test("asks nobody, prints nothing and leaves nothing behind, whatever REDIS_URL says", async () => {
    vi.stubEnv("REDIS_URL", "redis://127.0.0.1:1");
    const asked: unknown[] = [];
    nock.emitter.on("no match", (request) => asked.push(request));
    const said: unknown[] = [];
    const spies = [process.stdout, process.stderr].map((stream) =>
      vi.spyOn(stream, "write").mockImplementation((text) => said.push(text) > 0),
    );
    const unhandled: unknown[] = [];
    function note(error: unknown): void {
      unhandled.push(error);
    }
    process.on("unhandledRejection", note);
    const keys = { appId, privateKey, webhookSecret: "s", baseUrl: "https://api.github.com" };
    const another = openReading(makeProbot(keys), { connection: "github", appId, self });
    for (const { name, payload } of published) {
      await another({ guid: "g", event: name, body: JSON.stringify(payload) });
    }
    const wrong = { guid: "g", event: "issues", body: '{"action":"opened"}' };
    await expect(another(wrong)).rejects.toMatchObject(bad);
    await new Promise((resolve) => setImmediate(resolve));
    for (const spy of spies) spy.mockRestore();
    process.off("unhandledRejection", note);
    vi.unstubAllEnvs();
    expect({ asked, said, unhandled }).toEqual({ asked: [], said: [], unhandled: [] });
    const open = process.getActiveResourcesInfo();
    expect(open.filter((one) => /TCPServer|TCPSocket|TCPConnect/.test(one))).toEqual([]);
  });
});
