// Who we are on GitHub (spec 6.1, 6.2): asked for once, before anything is received or written.
import type nock from "nock";
import { expect, test } from "vitest";
import { openGitHub, type GitHub } from "../../../../app/forge/github/github.ts";
import { api, mockGitHub, privateKey } from "./mocked.ts";

const app = { id: 1, slug: "holdfast", name: "Holdfast", permissions: {}, events: [] };
const bot = { id: 901, login: "holdfast[bot]", type: "Bot" };
const named = "/users/holdfast%5Bbot%5D";

function open(webUrl = api): Promise<GitHub> {
  return openGitHub({
    keys: { appId: 1, privateKey, webhookSecret: "s".repeat(20), baseUrl: `${api}/api/v3` },
    webUrl,
    now: () => Date.now(),
    accountOf: async () => null,
    onSecret: () => {},
  });
}

/** The App is known, and this is where it is installed. */
function begin(installations: readonly object[]): nock.Scope {
  const { github } = mockGitHub();
  github.get("/app").reply(200, app);
  github.get("/app/hook/config").reply(200, { url: "https://bot.example/api/github/webhooks" });
  github.get("/app/installations?per_page=100").reply(200, installations);
  return github;
}

test("the App is itself by the numeric id of its account", async () => {
  begin([]).get(named).reply(200, bot);
  const { forge, app: facts } = await open();
  expect(forge.self).toEqual({ id: "901", name: "holdfast[bot]", isBot: true });
  expect(facts).toMatchObject({
    slug: "holdfast",
    hookUrl: expect.stringContaining("bot.example"),
  });
});

test.each([
  ["https://github.com", "5+ada@users.noreply.github.com"],
  ["https://ghe.example:8443", "5+ada@users.noreply.ghe.example"],
])("on %s a person's commits are %s", async (webUrl, email) => {
  begin([]).get(named).reply(200, bot);
  const { forge } = await open(webUrl);
  expect(forge.emailOf({ id: "5", name: "ada" })).toBe(email);
});

test.each([
  ["a key that is not taken", 401, "unavailable"],
  ["an App that is gone", 404, "unavailable"],
  ["a server in trouble", 502, "unavailable"],
  ["a limit", 429, "limited"],
])("%s is waited for", async (_name, status, code) => {
  const { github } = mockGitHub();
  github.get("/app").reply(status, { message: "canary" });
  const failure: unknown = await open().catch((error: unknown) => error);
  expect(failure).toMatchObject({ code, retry: "later" });
  expect(String(failure)).not.toContain("canary");
});

test("a limit on its tokens is still a limit", async () => {
  const github = begin([{ id: 7, suspended_at: null }]);
  github.get("/app/installations/7").reply(200, { id: 7, permissions: { metadata: "read" } });
  github.post("/app/installations/7/access_tokens").reply(429, {}, { "retry-after": "9" });
  await expect(open()).rejects.toMatchObject({ code: "limited" });
});
