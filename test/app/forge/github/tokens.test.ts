// Installation tokens (spec 6.5): for one repository and one use with the least it needs, kept for 55 minutes at most,
// never for git; and what follows when none can be had (1.7).
import { describe, expect, test } from "vitest";
import type { Use } from "../../../../app/forge/github/tokens.ts";
import { minuteMs } from "../../../../policies/durations.ts";
import { mockGitHub } from "./mocked.ts";

const asked = { account: "7", forgeId: "42", use: "read" } as const;
const installation = "/app/installations/7";
const minting = `${installation}/access_tokens`;
const whole = {
  metadata: "read",
  issues: "write",
  pull_requests: "write",
  contents: "write",
  checks: "write",
  statuses: "read",
  actions: "read",
  packages: "read",
  deployments: "read",
};

const reading = Object.fromEntries(Object.keys(whole).map((name) => [name, "read"]));

test.each<[Use, object]>([
  ["read", reading],
  ["write", { metadata: "read", issues: "write", pull_requests: "write", checks: "write" }],
  ["git-read", { metadata: "read", contents: "read" }],
  ["git-write", { metadata: "read", contents: "write" }],
])(
  "to %s it is asked for that repository and those permissions alone",
  async (use, permissions) => {
    const { tokens, minted, mintAll } = mockGitHub();
    mintAll(whole);
    await tokens.token({ ...asked, use });
    expect(minted).toEqual([{ account: "7", body: { repository_ids: [42], permissions } }]);
  },
);

test("what the installation was not granted is not asked for", async () => {
  const { tokens, minted, mintAll } = mockGitHub();
  mintAll({ metadata: "read", issues: "write", pull_requests: "read" });
  await tokens.token({ ...asked, use: "write" });
  const permissions = { metadata: "read", issues: "write", pull_requests: "read" };
  expect(minted).toMatchObject([{ body: { permissions } }]);
});

test("what is granted less than before is asked for less", async () => {
  const { tokens, github, clock } = mockGitHub();
  const less = { metadata: "read", issues: "read" };
  const bodies: unknown[] = [];
  github
    .get(installation)
    .reply(200, { id: 7, permissions: whole })
    .post(minting, (body) => bodies.push(body) > 0)
    .reply(201, { token: "one" })
    .post(minting, (body) => bodies.push(body) > 0)
    .reply(422, { message: "not granted" })
    .get(installation)
    .reply(200, { id: 7, permissions: less })
    .post(minting, (body) => bodies.push(body) > 0)
    .reply(201, { token: "two" });
  expect(await tokens.token({ ...asked, use: "git-read" })).toBe("one");
  clock.at += minuteMs;
  expect(await tokens.token({ ...asked, use: "write" })).toBe("two");
  expect(bodies.at(-1)).toEqual({ repository_ids: [42], permissions: less });
});

test("it is kept for 55 minutes, and told before it is used", async () => {
  const { tokens, minted, mintAll, clock, secrets } = mockGitHub();
  mintAll();
  const token = await tokens.token(asked);
  expect(secrets).toEqual([token]);
  clock.at += 55 * minuteMs - 1;
  expect(await tokens.token(asked)).toBe(token);
  clock.at += 1;
  expect(await tokens.token(asked)).not.toBe(token);
  expect(minted).toHaveLength(2);
});

test("another use, repository or installation has another one", async () => {
  const { tokens, mintAll } = mockGitHub();
  mintAll();
  const all = [asked, { ...asked, use: "write" as const }, { ...asked, forgeId: "43" }];
  const found = await Promise.all(
    [...all, { ...asked, account: "8" }].map((one) => tokens.token(one)),
  );
  expect(new Set(found).size).toBe(4);
});

test("those who ask at once share one", async () => {
  const { tokens, minted, mintAll } = mockGitHub();
  mintAll();
  const found = await Promise.all(Array.from({ length: 20 }, () => tokens.token(asked)));
  expect(new Set(found).size).toBe(1);
  expect(minted).toHaveLength(1);
});

test.each<Use>(["git-read", "git-write"])("for %s it is minted anew each time", async (use) => {
  const { tokens, minted, mintAll } = mockGitHub();
  mintAll();
  const one = await tokens.token({ ...asked, use });
  expect(await tokens.token({ ...asked, use })).not.toBe(one);
  expect(minted).toHaveLength(2);
});

test("one that was not taken is forgotten, others are not", async () => {
  const { tokens, mintAll } = mockGitHub();
  mintAll();
  const bad = await tokens.token(asked);
  const good = await tokens.token({ ...asked, forgeId: "43" });
  tokens.forget(String(bad));
  expect(await tokens.token(asked)).not.toBe(bad);
  expect(await tokens.token({ ...asked, forgeId: "43" })).toBe(good);
});

describe("where none can be had", () => {
  const body = { message: "canary" };

  test("an installation that is gone is nothing", async () => {
    const { tokens, github } = mockGitHub();
    github.get(installation).reply(404, body);
    expect(await tokens.token(asked)).toBeNull();
  });

  test("a repository that the installation does not reach is nothing", async () => {
    const { tokens, github } = mockGitHub();
    github.get(installation).twice().reply(200, { id: 7, permissions: whole });
    github.post(minting).twice().reply(422, body);
    expect(await tokens.token(asked)).toBeNull();
  });

  test.each([
    ["a suspended installation", 403, "unavailable"],
    ["a key that is not taken", 401, "unavailable"],
    ["a server in trouble", 502, "unavailable"],
    ["a limit", 429, "limited"],
  ])("%s is waited for", async (_name, status, code) => {
    const { tokens, github } = mockGitHub();
    github.get(installation).reply(200, { id: 7, permissions: whole });
    github.post(minting).reply(status, body);
    const failure: unknown = await tokens.token(asked).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code, retry: "later" });
    expect(String(failure)).not.toContain("canary");
  });

  test("it is asked for again the next time", async () => {
    const { tokens, github, mintAll } = mockGitHub();
    github.get(installation).replyWithError("gone");
    await expect(tokens.token(asked)).rejects.toMatchObject({ code: "unavailable" });
    mintAll();
    expect(await tokens.token(asked)).toMatch(/^ghs_/);
  });
});
