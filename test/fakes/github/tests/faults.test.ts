// What goes wrong on the way to the fake GitHub (spec 8.4), what it remembers of requests, and that it holds whoever
// asks to the description.

import { describe, expect, onTestFinished, test } from "vitest";
import { comment, openIssue } from "../acts/conversations.ts";
import type { Fault } from "../faults.ts";
import { startGitHub } from "../github.ts";
import { door, jwtOf, openScene, refusalOf, type Scene } from "./scene.ts";

const route = "POST /repos/{o}/{r}/issues/{n}/comments";
const path = "/repos/org/door/issues/1/comments";

async function post(scene: Scene, body: string, signal?: AbortSignal): Promise<Response> {
  const headers = { authorization: `Bearer ${await scene.token()}` };
  const text = JSON.stringify({ body });
  const way = { method: "POST", headers, body: text, ...(signal !== undefined && { signal }) };
  return fetch(`${scene.github.url}${path}`, way);
}

async function openBroken(fault: Omit<Fault, "on">): Promise<Scene> {
  const scene = await openScene();
  openIssue(scene.world, { repository: scene.door, by: scene.ada });
  scene.github.fault({ on: route, ...fault });
  return scene;
}

describe("a request", () => {
  test.each<[Omit<Fault, "on">, number, number]>([
    [{ kind: "5xx-before" }, 502, 0],
    [{ kind: "5xx-before", status: 503 }, 503, 0],
    [{ kind: "5xx-after" }, 502, 1],
    [{ kind: "404-lag" }, 404, 0],
    [{ kind: "401" }, 401, 0],
    [{ kind: "secondary-limit" }, 403, 0],
    [{ kind: "secondary-limit", status: 429, retryAfter: 7 }, 429, 0],
    [{ kind: "primary-limit" }, 403, 0],
  ])(
    "met by %j is answered %i and applied %i times, the next is well",
    async (fault, status, count) => {
      const scene = await openBroken(fault);
      expect((await post(scene, "one")).status).toBe(status);
      expect(scene.world.comments).toHaveLength(count);
      expect((await post(scene, "two")).status).toBe(201);
      expect(scene.world.comments).toHaveLength(count + 1);
    },
  );

  test.each<[Fault["kind"], number]>([
    ["timeout-before", 0],
    ["timeout-after", 1],
  ])("met by %s gets no answer and is applied %i times", async (kind, count) => {
    const scene = await openBroken({ kind });
    const end = new AbortController();
    const answer = post(scene, "one", end.signal).catch((error: unknown) => error);
    await expect
      .poll(() => scene.github.requests.some(({ route: name }) => isPost(name)))
      .toBe(true);
    end.abort();
    expect(await answer).toBeInstanceOf(DOMException);
    expect(scene.world.comments).toHaveLength(count);
  });

  test.each<[Fault["kind"], number]>([
    ["reset-before", 0],
    ["reset-after", 1],
  ])("met by %s loses its connection and is applied %i times", async (kind, count) => {
    const scene = await openBroken({ kind });
    await expect(post(scene, "one")).rejects.toThrow("fetch failed");
    expect(scene.world.comments).toHaveLength(count);
  });

  test("past a limit hears when to come again, where the fault says so", async () => {
    const scene = await openBroken({ kind: "secondary-limit", retryAfter: 7 });
    expect((await post(scene, "one")).headers.get("retry-after")).toBe("7");
    scene.github.fault({ on: route, kind: "secondary-limit" });
    expect((await post(scene, "one")).headers.get("retry-after")).toBeNull();
    scene.github.fault({ on: route, kind: "primary-limit" });
    const { headers } = await post(scene, "one");
    expect(headers.get("x-ratelimit-remaining")).toBe("0");
    const resetMs = Number(headers.get("x-ratelimit-reset")) * 1000;
    expect(resetMs).toBeGreaterThan(scene.world.now());
  });

  test("is met as often as said, by a question as by a route, until faults are cleared", async () => {
    const scene = await openBroken({ kind: "5xx-before", times: 2 });
    expect((await post(scene, "a")).status).toBe(502);
    expect((await post(scene, "b")).status).toBe(502);
    expect((await post(scene, "c")).status).toBe(201);
    scene.github.fault({ on: ({ body }) => body.includes("bad"), kind: "5xx-before", times: 9 });
    expect((await post(scene, "good")).status).toBe(201);
    expect((await post(scene, "bad")).status).toBe(502);
    scene.github.clearFaults();
    expect((await post(scene, "bad")).status).toBe(201);
  });
});

function isPost(name: string): boolean {
  return name.startsWith("POST /repos/");
}

test("each request is remembered with its credential, headers, body and answer", async () => {
  const scene = await openScene();
  const { world } = scene;
  const issue = openIssue(world, { repository: scene.door, by: scene.ada });
  await post(scene, "hello");
  const [mint, request] = scene.github.requests;
  expect(mint).toMatchObject({ method: "POST", status: 201 });
  expect(request).toMatchObject({
    method: "POST",
    path: `/api/v3${path}`,
    route: "POST /repos/{owner}/{repo}/issues/{issue_number}/comments",
    authorization: `Bearer ${scene.github.tokens[0]?.value}`,
    body: `{"body":"hello"}`,
    status: 201,
  });
  expect(request?.headerNames).toContain("authorization");
  expect(world.comments).toMatchObject([{ issue, body: "hello" }]);
});

test("an answer that is still the same costs nothing", async () => {
  const scene = await openScene();
  const api = await scene.api();
  const { headers } = await api.rest.repos.get(door);
  const same = api.rest.repos.get({ ...door, headers: { "if-none-match": headers.etag ?? "" } });
  expect(await refusalOf(same)).toBe(304);
});

test("the code of a manifest is traded once for the App's keys", async () => {
  const { world, app } = await openScene();
  const { data } = await app.rest.apps.createFromManifest({ code: "c0de" });
  expect(data).toMatchObject({ id: world.app.id, slug: world.app.slug, pem: world.privateKey });
  expect(await refusalOf(app.rest.apps.createFromManifest({ code: "c0de" }))).toBe(404);
});

describe("the description", () => {
  test.each<[string, string, RegExp]>([
    ["a query that GitHub does not know", "GET /issues/1?colour=red", /colour is unknown/],
    ["a query of the wrong kind", "GET /issues?state=ajar", /state may not be ajar/],
    [
      "a member that GitHub leaves aside",
      `POST /issues/1/comments {"body":"a","to":1}`,
      /to is unknown/,
    ],
    ["a body without what it must have", "POST /issues/1/comments {}", /must have/],
    ["no body", "POST /issues/1/comments", /no body/],
    ["a route that is not there", "GET /doors", /no route/],
  ])("is broken by %s, which ends the test", async (_, ask, words) => {
    const scene = await openScene();
    openIssue(scene.world, { repository: scene.door, by: scene.ada });
    const [method = "", end = "", body] = ask.split(" ");
    const headers = { authorization: `Bearer ${await scene.token()}` };
    const text = body === undefined ? {} : { body };
    const url = `${scene.github.url}/repos/org/door${end}`;
    expect((await fetch(url, { method, headers, ...text })).ok).toBe(false);
    expect(scene.github.violations.splice(0).join()).toMatch(words);
  });

  test("makes close throw while something broke it", async () => {
    const github = await startGitHub();
    await fetch(`${github.url}/nowhere`);
    await expect(github.close()).rejects.toThrow("no route for GET /api/v3/nowhere");
  });

  test("is broken by an answer of the fake that lacks a field", async () => {
    const scene = await openScene();
    const { world, ada } = scene;
    const issue = openIssue(world, { repository: scene.door, by: ada });
    comment(world, { issue, by: ada, body: 7 as unknown as string });
    await (await scene.api()).rest.issues.listComments({ ...door, issue_number: 1 });
    expect(scene.github.violations.splice(0).join()).toMatch(/answered 200: \/0\/body must be/);
  });
});

test("the App's hook is shown without its secret, and the limits as they are", async () => {
  const { github, app, world } = await openScene();
  const hook = { url: "http://127.0.0.1:9/hook", secret: "s".repeat(20) };
  github.setHook(hook);
  expect((await app.rest.apps.getWebhookConfigForApp()).data).toMatchObject({ url: hook.url });
  const { data } = await app.rest.rateLimit.get();
  expect(data.rate.remaining).toBe(5000);
  expect(jwtOf(world).split(".")).toHaveLength(3);
  onTestFinished(() => github.setHook(null));
});
