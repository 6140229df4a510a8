// `holdfast start` as its own process (spec 7.1, 7.2, 7.4): how it starts, what it refuses, who is let in, how it ends.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { policy, webhookSecret } from "../fakes/github-spine.ts";
import { createAccount, install } from "../fakes/github/acts/accounts.ts";
import { comment, openIssue } from "../fakes/github/acts/conversations.ts";
import { allow, createRepository } from "../fakes/github/acts/repositories.ts";
import { startGitHub } from "../fakes/github/github.ts";
import { isPull } from "../fakes/github/world.ts";
import { temporaryFolder } from "../fakes/repository.ts";

const program = fileURLToPath(new URL("../../app/main.ts", import.meta.url));

interface Started {
  readonly said: () => string;
  /** The address of the pages with their key, once it is printed. */
  readonly url: Promise<URL>;
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
}

function start(environment: Readonly<Record<string, string>>): Started {
  const env = { PATH: process.env["PATH"], TZ: "UTC", ...environment };
  const child = spawn(process.execPath, [program, "start", "--port", "0"], { env, cwd: "/" });
  let said = "";
  const { promise: url, resolve } = Promise.withResolvers<URL>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const found = /http:\S+token=\w+/.exec(said)?.[0];
      if (found !== undefined) resolve(new URL(found));
    });
  }
  const ended = once(child, "close").then(() => child.exitCode);
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  return { said: () => said, url, child, ended };
}

function makeHome(settings: string): string {
  const home = join(temporaryFolder(), "home");
  mkdirSync(home);
  writeFileSync(join(home, "settings.yaml"), settings);
  return home;
}

interface Begin {
  readonly settings?: string;
  readonly policyText?: string;
}

/** A GitHub where the App is installed on org/door, and the environment that leads to it. */
async function begin({ settings, policyText = policy }: Begin = {}) {
  const github = await startGitHub();
  onTestFinished(() => github.close());
  const { world } = github;
  const org = createAccount(world, "org", "Organization");
  const ada = createAccount(world, "ada");
  const files = { ".holdfast.yml": policyText };
  const door = createRepository(world, { owner: org, name: "door", files });
  allow(door, ada, "write");
  install(world, { account: org, repositories: [door] });
  const environment = {
    HOLDFAST_HOME: makeHome(settings ?? "repositories: [org/door]\n"),
    APP_ID: String(world.app.id),
    PRIVATE_KEY: world.privateKey,
    WEBHOOK_SECRET: webhookSecret,
    GHE_HOST: github.host,
    GHE_PROTOCOL: "http",
    HOLDFAST_TIMING: JSON.stringify({ statusThrottleMs: 50, retryFirstMs: 50 }),
  };
  return { github, world, ada, door, environment };
}

describe("what stands in the way is told all at once, and nothing starts", () => {
  test.each([
    ["development", "known default"],
    ["short", "fewer than 16 characters"],
    ["", "WEBHOOK_SECRET must be given"],
  ])("the webhook secret %j", async (secret, words) => {
    const { environment } = await begin();
    const { ended, said } = start({ ...environment, WEBHOOK_SECRET: secret });
    expect(await ended).toBe(2);
    expect(said()).toContain(words);
  });

  test("variables, a settings file with errors, and keys that are not there", async () => {
    const settings =
      "repositories: [org/door]\nworker: 3\ngithub: { writes: { perSecond: fast } }\n";
    const wrong = { REDIS_URL: "cache:canary", PORT: "many" };
    const { ended, said } = start({ HOLDFAST_HOME: makeHome(settings), ...wrong });
    expect(await ended).toBe(2);
    expect(said()).toMatch(/REDIS_URL must be a redis:/);
    expect(said()).toMatch(/PORT must be a number/);
    expect(said()).not.toMatch(/canary|many/);
    expect(said()).toMatch(/settings\.yaml:2:1 worker: .*did you mean workers\?/);
    expect(said()).toMatch(/settings\.yaml:3:32 github\.writes\.perSecond/);
    expect(said()).not.toContain("fast}");
    expect(said()).toContain("there is no GitHub App");
  });

  test("a private key that is none", async () => {
    const { environment } = await begin();
    const { ended, said } = start({ ...environment, PRIVATE_KEY: "canary" });
    expect(await ended).toBe(2);
    expect(said()).toContain("PRIVATE_KEY must be a private key in PEM form");
    expect(said()).not.toContain("canary");
  });

  test("a home that another process serves", async () => {
    const { environment } = await begin();
    const first = start(environment);
    await first.url;
    const second = start(environment);
    expect(await second.ended).toBe(1);
    expect(second.said()).toMatch(/serves|another/);
  });
});

test("a signed comment goes all the way to a draft pull request, and SIGTERM ends it in order", async () => {
  const { github, world, ada, door, environment } = await begin();
  const server = start(environment);
  const { origin } = await server.url;
  github.setHook({ url: `${origin}/api/github/webhooks`, secret: webhookSecret });
  const issue = openIssue(world, { repository: door, by: ada });
  comment(world, { issue, by: ada, body: `@${world.app.slug} run build` });
  await expect
    .poll(() => github.created.map(({ body }) => body).join("\n"), { timeout: 60_000 })
    .toContain("is done");
  const [pull] = world.issues.filter(isPull);
  expect(pull?.pull.isDraft).toBe(true);
  server.child.kill("SIGTERM");
  expect(await server.ended).toBe(0);
  expect(server.said()).toContain("Everything is kept");
  expect(server.said()).not.toContain(webhookSecret);
});

test("SIGTERM lets a running turn end, starts nothing more, and the next start goes on", async () => {
  const marks = temporaryFolder();
  const [started, mayEnd] = [join(marks, "started"), join(marks, "may-end")];
  const step = `touch '${started}'; until [ -e '${mayEnd}' ]; do sleep 0.05; done; echo 1 > done.txt`;
  const policyText = `tasks: { build: { steps: [{ run: "${step}" }] } }`;
  const { github, world, ada, door, environment } = await begin({ policyText });
  const first = start(environment);
  const { origin } = await first.url;
  github.setHook({ url: `${origin}/api/github/webhooks`, secret: webhookSecret });
  const issue = openIssue(world, { repository: door, by: ada });
  comment(world, { issue, by: ada, body: `@${world.app.slug} run build` });
  await expect.poll(() => existsSync(started), { timeout: 60_000 }).toBe(true);
  first.child.kill("SIGTERM");
  await expect.poll(first.said, { timeout: 30_000 }).toContain("a running turn may take up to");
  writeFileSync(mayEnd, "");
  expect(await first.ended).toBe(0);
  expect(world.issues.filter(isPull)).toEqual([]);
  start(environment);
  await expect
    .poll(() => github.created.filter(({ body }) => body.includes("is done")).length, {
      timeout: 60_000,
    })
    .toBe(1);
  expect(world.issues.filter(isPull)).toHaveLength(1);
}, 180_000);

test("SIGTERM ends it at once while GitHub does not answer", async () => {
  const { github, environment } = await begin();
  github.fault({ on: () => true, kind: "5xx-before", times: 1_000 });
  const server = start(environment);
  await server.url;
  server.child.kill("SIGTERM");
  expect(await server.ended).toBe(0);
});

test("while GitHub does not answer webhooks are taken, and done when it does", async () => {
  const { github, world, ada, door, environment } = await begin();
  github.fault({ on: () => true, kind: "5xx-before", times: 3 });
  const server = start(environment);
  const { origin } = await server.url;
  expect((await fetch(`${origin}/readyz`)).status).toBe(503);
  github.setHook({ url: `${origin}/api/github/webhooks`, secret: webhookSecret });
  const issue = openIssue(world, { repository: door, by: ada });
  comment(world, { issue, by: ada, body: `@${world.app.slug} run build` });
  await github.settled();
  expect(github.deliveries.map(({ status }) => status)).toEqual([202, 202]);
  await expect
    .poll(() => github.created.map(({ body }) => body).join("\n"), { timeout: 90_000 })
    .toContain("is done");
  expect((await fetch(`${origin}/readyz`)).status).toBe(200);
}, 120_000);

test("a repository that settings do not name runs nothing, and the person is told which setting", async () => {
  const { github, world, ada, door, environment } = await begin({ settings: "repositories: []\n" });
  const server = start(environment);
  const { origin } = await server.url;
  github.setHook({ url: `${origin}/api/github/webhooks`, secret: webhookSecret });
  const issue = openIssue(world, { repository: door, by: ada });
  comment(world, { issue, by: ada, body: `@${world.app.slug} run build` });
  await expect
    .poll(() => github.created.map(({ body }) => body).join("\n"), { timeout: 30_000 })
    .toContain("`repositories` in settings.yaml");
});

test("the pages let in who has the key, by cookie or bearer, and nobody else", async () => {
  const { environment } = await begin();
  const server = start(environment);
  const url = await server.url;
  const token = url.searchParams.get("token") ?? "";
  const { origin } = url;
  const [closed, probe, bearer, other, cookie] = await Promise.all([
    fetch(`${origin}/`),
    fetch(`${origin}/healthz`),
    fetch(`${origin}/`, { headers: { authorization: `Bearer ${token}` } }),
    fetch(`${origin}/`, { headers: { authorization: `Bearer ${token.slice(1)}x` } }),
    fetch(url, { redirect: "manual" }),
  ]);
  expect([closed.status, probe.status, bearer.status, other.status]).toEqual([401, 200, 200, 401]);
  expect(await bearer.text()).toContain("all repositories");
  expect(cookie.headers.get("set-cookie")).toMatch(/HttpOnly; SameSite=Strict/);
  const written = await fetch(`${origin}/new`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, origin },
    body: "title=x",
  });
  expect(written.status).toBe(404);
});
