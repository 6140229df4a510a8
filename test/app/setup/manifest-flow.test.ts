// The manifest flow over real HTTP (spec 7.1): what comes back wrong, late, twice or under another name gets nothing.

import { once } from "node:events";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { placeOf, type CreatedApp } from "../../../app/setup/github-api.ts";
import { createApp, type FlowEnd } from "../../../app/setup/manifest-flow.ts";
import { readAppWish } from "../../../app/setup/manifest.ts";
import {
  goodCode,
  openGitHubApp,
  pem,
  publicUrl,
  webhookSecret,
  type GitHubApp,
} from "./github-app.ts";

interface Reply {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

interface Flow {
  readonly address: string;
  readonly origin: string;
  readonly state: string;
  readonly kept: CreatedApp[];
  readonly end: Promise<FlowEnd>;
  abort(): void;
  back(query: { state?: string; code?: string }): Promise<Reply>;
}

async function get(address: string, headers: Record<string, string> = {}): Promise<Reply> {
  const call = request(address, { headers, agent: false }).end();
  const [response] = await once(call, "response");
  const body = await text(response);
  return { status: response.statusCode, body, headers: response.headers };
}

function unescaped(markup: string): string {
  return markup.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");
}

function formOf(body: string): { action: URL; manifest: Record<string, unknown> } {
  const action = /<form action="([^"]+)" method="post">/.exec(body)?.[1] ?? "";
  const manifest = /name="manifest" value="([^"]+)"/.exec(body)?.[1] ?? "";
  return { action: new URL(unescaped(action)), manifest: JSON.parse(unescaped(manifest)) };
}

async function open(
  github: GitHubApp,
  options: { mayKeep?: boolean; organisation?: string } = {},
): Promise<Flow> {
  const controller = new AbortController();
  const kept: CreatedApp[] = [];
  const listening = Promise.withResolvers<string>();
  const end = createApp({
    place: placeOf(github.host, "http"),
    wish: readAppWish(),
    name: "holdfast",
    url: publicUrl,
    organisation: options.organisation ?? null,
    signal: controller.signal,
    onListening: listening.resolve,
    keep: (app) => {
      kept.push(app);
      return options.mayKeep ?? true;
    },
  });
  const address = await listening.promise;
  const { origin } = new URL(address);
  const { body } = await get(address);
  const state = formOf(body).action.searchParams.get("state") ?? "";
  return {
    address,
    origin,
    state,
    kept,
    end,
    abort: () => controller.abort(),
    back: ({ state: given = state, code = goodCode }) =>
      get(`${origin}/callback?${new URLSearchParams({ state: given, code }).toString()}`),
  };
}

test("the form goes to GitHub with a state and a way back to the loopback", async () => {
  const github = await openGitHubApp();
  const flow = await open(github);
  const { body, headers } = await get(flow.address);
  const { action, manifest } = formOf(body);
  expect(action.origin + action.pathname).toBe(`http://${github.host}/settings/apps/new`);
  expect(Buffer.from(flow.state, "base64url")).toHaveLength(32);
  expect(manifest).toMatchObject({
    name: "holdfast",
    redirect_url: `${flow.origin}/callback`,
    hook_attributes: { url: `${publicUrl}/api/github/webhooks` },
  });
  expect(new URL(flow.origin).hostname).toBe("127.0.0.1");
  expect(headers["content-security-policy"]).toContain(`form-action http://${github.host};`);
  expect(headers["cache-control"]).toBe("no-store");
  for (const { name, reason } of readAppWish().permissions) {
    expect(body).toContain(`<code>${name}</code>`);
    expect(unescaped(body)).toContain(reason);
  }
  flow.abort();
  await flow.end;
});

test("an organisation's App is made in its settings", async () => {
  const flow = await open(await openGitHubApp(), { organisation: "acme" });
  const { action } = formOf((await get(flow.address)).body);
  expect(action.pathname).toBe("/organizations/acme/settings/apps/new");
  flow.abort();
  await flow.end;
});

test("who comes back with state and code ends it, and no page shows a key", async () => {
  const github = await openGitHubApp();
  const flow = await open(github);
  const { status, body } = await flow.back({});
  expect(status).toBe(200);
  expect(await flow.end).toMatchObject({ ok: true, app: { id: 4711, slug: "holdfast" } });
  expect(flow.kept).toMatchObject([{ pem, webhook_secret: webhookSecret }]);
  expect(github.codes).toEqual([goodCode]);
  expect(body).toContain("/apps/holdfast/installations/new");
  for (const canary of [webhookSecret, "PRIVATE KEY", goodCode]) expect(body).not.toContain(canary);
});

test("every run has its own state and its own address", async () => {
  const github = await openGitHubApp();
  const [one, other] = [await open(github), await open(github)];
  expect(one.state).not.toBe(other.state);
  const { pathname } = new URL(one.address);
  expect((await get(`${other.origin}${pathname}`)).status).toBe(403);
  expect((await other.back({ state: one.state })).status).toBe(403);
  expect(github.codes).toEqual([]);
  for (const flow of [one, other]) {
    flow.abort();
    expect(await flow.end).toEqual({ ok: false, why: "ended" });
  }
});

test.each<[string, { state?: string; code?: string }, number]>([
  ["another state", { state: "x".repeat(43) }, 403],
  ["no state", { state: "" }, 403],
  ["no code", { code: "" }, 400],
  ["a code that is a path", { code: "../../user" }, 400],
  ["a code without end", { code: "a".repeat(201) }, 400],
])("%s is refused, and the true one still works", async (_case, query, status) => {
  const github = await openGitHubApp();
  const flow = await open(github);
  expect((await flow.back(query)).status).toBe(status);
  expect(github.codes).toEqual([]);
  expect((await flow.back({})).status).toBe(200);
  expect(await flow.end).toMatchObject({ ok: true });
});

test("of two that come back at once one counts", async () => {
  const github = await openGitHubApp();
  const flow = await open(github);
  const replies = await Promise.all([flow.back({}), flow.back({})]);
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200, 410]));
  expect(github.codes).toEqual([goodCode]);
  expect(flow.kept).toHaveLength(1);
  await flow.end;
});

test("after the end nobody listens any more", async () => {
  const flow = await open(await openGitHubApp());
  flow.abort();
  expect(await flow.end).toEqual({ ok: false, why: "ended" });
  await expect(flow.back({})).rejects.toThrow("ECONNREFUSED");
  expect(flow.kept).toEqual([]);
});

test.each([["holdfast.evil.example"], ["localhost"], ["127.0.0.1"]])(
  "under the name %s there is nothing",
  async (host) => {
    const github = await openGitHubApp();
    const flow = await open(github);
    expect((await get(flow.address, { host })).status).toBe(421);
    const callback = `${flow.origin}/callback?state=${flow.state}&code=${goodCode}`;
    expect((await get(callback, { host })).status).toBe(421);
    expect(github.codes).toEqual([]);
    flow.abort();
    await flow.end;
  },
);

test("when GitHub does not answer, the same code may be tried again", async () => {
  const github = await openGitHubApp();
  github.conversions.push(502);
  const flow = await open(github);
  const { status, body } = await flow.back({});
  expect(status).toBe(502);
  expect(body).toContain("Reload this page");
  expect(body).not.toContain(webhookSecret);
  expect((await flow.back({})).status).toBe(200);
  expect(await flow.end).toMatchObject({ ok: true });
});

test("a code that GitHub does not take ends it", async () => {
  const flow = await open(await openGitHubApp());
  expect((await flow.back({ code: "used-already" })).status).toBe(502);
  expect(await flow.end).toEqual({ ok: false, why: "refused" });
  expect(flow.kept).toEqual([]);
});

test("keys that came in between are not replaced", async () => {
  const flow = await open(await openGitHubApp(), { mayKeep: false });
  expect((await flow.back({})).status).toBe(409);
  expect(await flow.end).toEqual({ ok: false, why: "kept" });
});
