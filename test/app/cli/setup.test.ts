// `holdfast setup github` as a person calls it (spec 7.1): a real process, a small GitHub, and no key in any output.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { appFileOf, readAppFile } from "../../../app/setup/app-file.ts";
import { temporaryFolder } from "../../fakes/repository.ts";
import { goodCode, openGitHubApp, pem, publicUrl, webhookSecret } from "../setup/github-app.ts";
import { holdfast } from "./holdfast.ts";

const program = fileURLToPath(new URL("../../../bin/holdfast.js", import.meta.url));
const asked = ["setup", "github", "--url", publicUrl];

interface Run {
  readonly child: ChildProcess;
  readonly address: string;
  output(): string;
  ended(): Promise<number | null>;
}

/** Resolves when it has said which address to open. */
async function start(home: string, host: string, ...more: string[]): Promise<Run> {
  const env = {
    PATH: process.env["PATH"],
    HOLDFAST_HOME: home,
    GHE_HOST: host,
    GHE_PROTOCOL: "http",
    LOG_LEVEL: "trace" as const,
  };
  const child = spawn(process.execPath, [program, ...asked, ...more], { cwd: "/", env });
  onTestFinished(() => void child.kill("SIGKILL"));
  const exit = once(child, "close");
  let output = "";
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  function hear(chunk: Buffer): void {
    output += chunk.toString("utf8");
    const address = /http:\/\/127\.0\.0\.1:\d+\/start\/[\w-]+/.exec(output)?.[0];
    if (address !== undefined && output.includes("Ctrl-C")) resolve(address);
  }
  child.stdout?.on("data", hear);
  child.stderr?.on("data", hear);
  child.once("close", () => reject(new Error(`it ended at once: ${output}`)));
  const address = await promise;
  return { child, address, output: () => output, ended: async () => (await exit)[0] };
}

/** What a browser does: opens the page, and comes back from GitHub with a code. */
async function comeBack(address: string, code = goodCode): Promise<Response> {
  const page = await (await fetch(address)).text();
  const state = /settings\/apps\/new\?state=([\w-]+)/.exec(page)?.[1] ?? "";
  return fetch(new URL(`/callback?state=${state}&code=${code}`, address));
}

test("it makes an App, keeps its keys for the owner alone and says what is next", async () => {
  const github = await openGitHubApp();
  const home = join(temporaryFolder(), "home");
  const run = await start(home, github.host);
  const answer = await comeBack(run.address);
  expect(answer.status).toBe(200);
  expect(await run.ended()).toBe(0);
  const keys = { appId: "4711", privateKey: pem, webhookSecret, baseUrl: github.api };
  expect(readAppFile(home)).toEqual(keys);
  expect(statSync(appFileOf(home)).mode & 0o777).toBe(0o600);
  expect(run.output()).toContain("https://github.example/apps/holdfast/installations/new");
  expect(run.output()).toContain("holdfast start");
  const shown = run.output() + (await answer.text());
  for (const canary of [webhookSecret, "PRIVATE KEY", pem.slice(40, 80), goodCode]) {
    expect(shown).not.toContain(canary);
  }
});

test("it replaces no keys unasked, and with --force only when there are new ones", async () => {
  const github = await openGitHubApp();
  const home = join(temporaryFolder(), "home");
  await holdfast({ home }, "status");
  const before = JSON.stringify({ appId: "1", privateKey: pem, webhookSecret });
  writeFileSync(appFileOf(home), before);
  const { exitCode, stderr } = await holdfast({ home }, ...asked);
  expect(exitCode).toBe(1);
  expect(stderr).toContain("--force");
  expect(stderr).not.toContain(webhookSecret);
  const refused = await start(home, github.host, "--force");
  await comeBack(refused.address, "used-already");
  expect(await refused.ended()).toBe(1);
  expect(readFileSync(appFileOf(home), "utf8")).toBe(before);
  const forced = await start(home, github.host, "--force");
  await comeBack(forced.address);
  expect(await forced.ended()).toBe(0);
  expect(readAppFile(home)?.appId).toBe("4711");
});

test("Ctrl-C ends it and leaves nothing behind", async () => {
  const home = join(temporaryFolder(), "home");
  const run = await start(home, (await openGitHubApp()).host);
  run.child.kill("SIGINT");
  expect(await run.ended()).toBe(1);
  expect(run.output()).toContain("GitHub is not set up.");
  expect(existsSync(appFileOf(home))).toBe(false);
});

test.each([
  [["--url", "http://holdfast.example"], "https://holdfast.example"],
  [["--url", "https://holdfast.example/below"], "without a path"],
  [["--url", "https://me:s3cret@holdfast.example"], "https://holdfast.example"],
  [[], "HOLDFAST_URL"],
  [["--url", publicUrl, "--org", "a/b"], "its login"],
  [["--url", publicUrl, "--ghe", "https://git.example"], "--ghe git.example"],
  [["--url", publicUrl, "--name", "x".repeat(35)], "at most 34"],
])("%j is wrong usage", async (options, fitting) => {
  const home = join(temporaryFolder(), "home");
  const { exitCode, stderr } = await holdfast({ home }, "setup", "github", ...options);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(fitting);
  expect(stderr).not.toContain("s3cret");
  expect(existsSync(home)).toBe(false);
});
