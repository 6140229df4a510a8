// `holdfast doctor` in a home with a GitHub App (spec 7.1): a real process, a small GitHub, exit codes and JSON.

import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { appFileOf, writeAppFile } from "../../../app/setup/app-file.ts";
import type { Check } from "../../../app/setup/check.ts";
import { temporaryFolder } from "../../fakes/repository.ts";
import { openGitHubApp, pem, publicUrl, webhookSecret } from "../setup/github-app.ts";
import { holdfast, type Called } from "./holdfast.ts";

const environment = { HOLDFAST_URL: publicUrl };

async function homeWithApp(baseUrl: string): Promise<string> {
  const home = join(temporaryFolder(), "home");
  await holdfast({ home }, "status");
  const keys = { appId: "4711", privateKey: pem, webhookSecret, baseUrl };
  writeAppFile(home, keys, { mayReplace: false });
  return home;
}

function checksOf({ stdout }: Called): Check[] {
  const checks = JSON.parse(stdout) as Check[];
  return checks.filter(({ check }) => check.startsWith("github"));
}

test("a home without an App says nothing of GitHub", async () => {
  const home = join(temporaryFolder(), "home");
  expect(checksOf(await holdfast({ home }, "doctor", "--json"))).toEqual([]);
});

test("an App that fits is good, and neither key nor secret is shown", async () => {
  const home = await homeWithApp((await openGitHubApp()).api);
  const called = await holdfast({ home, environment }, "doctor", "--json");
  expect(called.exitCode).toBe(0);
  expect(new Set(checksOf(called).map(({ status }) => status))).toEqual(new Set(["good"]));
  for (const canary of [webhookSecret, "PRIVATE KEY", pem.slice(40, 80)]) {
    expect(called.stdout + called.stderr).not.toContain(canary);
  }
});

test("a fault on GitHub ends with 1 and says what to do", async () => {
  const github = await openGitHubApp();
  github.answers.set("/app/installations", { status: 200, body: [] });
  const home = await homeWithApp(github.api);
  const { exitCode, stdout } = await holdfast({ home, environment }, "doctor");
  expect(exitCode).toBe(1);
  expect(stdout).toContain("github installations: the App is installed nowhere");
  expect(stdout).toContain("What to do: install it: https://github.example/apps/holdfast");
});

test("without a network it ends as with any other problem", async () => {
  const home = await homeWithApp("http://127.0.0.1:9/api/v3");
  chmodSync(appFileOf(home), 0o644);
  const called = await holdfast({ home, environment }, "doctor", "--json");
  expect(called.exitCode).toBe(1);
  const faults = checksOf(called).filter(({ status }) => status === "problem");
  expect(faults.map(({ check }) => check)).toEqual(["github key file", "github app"]);
});

test("an App from the environment is looked at as well", async () => {
  const github = await openGitHubApp();
  const home = join(temporaryFolder(), "home");
  const app = { APP_ID: "4711", PRIVATE_KEY: pem.replaceAll("\n", "\\n") };
  const server = { GHE_HOST: github.host, GHE_PROTOCOL: "http" };
  const some = { ...environment, ...app, ...server };
  const part = checksOf(await holdfast({ home, environment: some }, "doctor", "--json"));
  expect(part).toMatchObject([{ check: "github key", seen: "WEBHOOK_SECRET must be given" }]);
  const all = { ...some, WEBHOOK_SECRET: webhookSecret };
  const whole = checksOf(await holdfast({ home, environment: all }, "doctor", "--json"));
  expect(whole.map(({ status }) => status)).toEqual(whole.map(() => "good"));
  expect(whole.map(({ check }) => check)).toContain("github app");
});

test("a damaged file of keys is named", async () => {
  const home = await homeWithApp("http://127.0.0.1:9/api/v3");
  writeFileSync(appFileOf(home), pem);
  const called = await holdfast({ home, environment }, "doctor", "--json");
  expect(called.exitCode).toBe(1);
  expect(checksOf(called)).toMatchObject([{ check: "github key", status: "problem" }]);
  expect(called.stdout).not.toContain("PRIVATE KEY");
});

/** What the first column of the table about doctor names. */
function explained(): string[] {
  const file = new URL("../../../docs/operations.md", import.meta.url);
  const section = readFileSync(file, "utf8").split("### What doctor looks at")[1] ?? "";
  const rows = [...(section.split(/^#/m)[0] ?? "").matchAll(/^\| (`[^|]+)\|/gm)];
  return rows.flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, term]) => term ?? ""),
  );
}

test("docs/operations.md says what each line means", async () => {
  const github = await openGitHubApp();
  const home = await homeWithApp(github.api);
  const { stdout } = await holdfast({ home, environment }, "doctor", "--json");
  const names = (JSON.parse(stdout) as Check[]).map(({ check }) => check);
  expect(names.length).toBeGreaterThan(12);
  const terms = [...explained(), "invariants"];
  expect(names.filter((name) => !terms.some((term) => `${name} `.startsWith(`${term} `)))).toEqual(
    [],
  );
});
