// What doctor says about an App (spec 7.1), against a small GitHub over real HTTP: all good, and each fault by itself.

import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { appChecks, type AppAsked } from "../../../app/setup/app-checks.ts";
import type { Check } from "../../../app/setup/check.ts";
import { temporaryFolder } from "../../fakes/repository.ts";
import {
  appBody,
  installationBody,
  openGitHubApp,
  pem,
  publicUrl,
  webhookSecret,
  wishedPermissions,
  type GitHubApp,
} from "./github-app.ts";

function asked(github: GitHubApp, change: Partial<AppAsked> = {}): AppAsked {
  const keys = { appId: "4711", privateKey: pem, webhookSecret, baseUrl: github.api };
  return { keys, url: publicUrl, keyFiles: [], now: Date.now, ...change };
}

function faultsOf(checks: readonly Check[]): string[] {
  const faults = checks.filter(({ status }) => status !== "good");
  expect(faults.filter(({ help }) => help === null || help === "")).toEqual([]);
  return faults.map(({ check, status, seen }) => `${status} ${check}: ${seen}`);
}

test("where everything fits, every line is good and says what was looked at", async () => {
  const checks = await appChecks(asked(await openGitHubApp()));
  expect(faultsOf(checks)).toEqual([]);
  expect(checks.map(({ check }) => check)).toEqual([
    "github secret",
    "github clock",
    "github app",
    "github permissions",
    "github events",
    "github webhook",
    "github installations",
    "github deliveries",
  ]);
});

interface Row {
  readonly fault: string;
  readonly path: string;
  readonly body: unknown;
  readonly status?: number;
  readonly said: readonly string[];
}

const hook = {
  url: `${publicUrl}/api/github/webhooks`,
  content_type: "json",
  insecure_ssl: "0",
};

function delivery(guid: string, statusCode: number): object {
  return { guid, delivered_at: new Date().toISOString(), status_code: statusCode };
}

const rows: readonly Row[] = [
  {
    fault: "a permission too low and one too many",
    path: "/app",
    body: {
      ...appBody(),
      permissions: { ...wishedPermissions(), contents: "read", administration: "write" },
    },
    said: [
      "problem github permissions: missing: contents: write (it has read)",
      "warning github permissions: more than is needed: administration: write",
    ],
  },
  {
    fault: "no event at all but a foreign one",
    path: "/app",
    body: { ...appBody(), events: ["star", ...(appBody()["events"] as string[]).slice(2)] },
    said: [
      "problem github events: missing: issues, issue_comment",
      "warning github events: more than is needed: star",
    ],
  },
  {
    fault: "the key of another App",
    path: "/app",
    body: { ...appBody(), id: 12 },
    said: ["problem github app: the key is that of App 12, not of 4711"],
  },
  {
    fault: "an App that is gone",
    path: "/app",
    status: 404,
    body: { message: "canary" },
    said: ["problem github app: GitHub does not take this key for App 4711 (status 404)"],
  },
  {
    fault: "a GitHub in trouble",
    path: "/app",
    status: 503,
    body: {},
    said: ["problem github app: GitHub answers with status 503"],
  },
  {
    fault: "a webhook without the path",
    path: "/app/hook/config",
    body: { ...hook, url: publicUrl },
    said: [`problem github webhook: its address is ${publicUrl} and has to be ${hook.url}`],
  },
  {
    fault: "no webhook",
    path: "/app/hook/config",
    body: {},
    said: [
      `problem github webhook: its address is not set and has to be ${hook.url}`,
      "problem github webhook: its content type is not application/json",
    ],
  },
  {
    fault: "a webhook that trusts anybody",
    path: "/app/hook/config",
    body: { ...hook, insecure_ssl: 1 },
    said: ["problem github webhook: it verifies no certificate"],
  },
  {
    fault: "no installation",
    path: "/app/installations",
    body: [],
    said: ["problem github installations: the App is installed nowhere"],
  },
  {
    fault: "a suspended installation",
    path: "/app/installations",
    body: [{ ...installationBody(), suspended_at: "2026-01-01T00:00:00Z" }],
    said: ["warning github installation acme: it is suspended: its mandates are held"],
  },
  {
    fault: "an installation that has not accepted a new permission",
    path: "/app/installations",
    body: [
      installationBody(),
      {
        ...installationBody(),
        account: null,
        permissions: { ...wishedPermissions(), checks: "read" },
      },
    ],
    said: [
      "problem github installation installation 9: it has not accepted: checks: write (it has read)",
    ],
  },
  {
    fault: "deliveries that never arrived, but for one",
    path: "/app/hook/deliveries",
    body: [delivery("a", 200), delivery("b", 502), delivery("a", 502), delivery("c", 0)],
    said: ["warning github deliveries: 2 of the last 4 did not arrive, the latest with status 502"],
  },
  {
    fault: "an answer that is none",
    path: "/app/installations",
    body: { message: "canary" },
    said: ["problem github installations: GitHub did not say"],
  },
];

test.each(rows)("$fault", async ({ path, status = 200, body, said }) => {
  const github = await openGitHubApp();
  github.answers.set(path, { status, body });
  const checks = await appChecks(asked(github));
  expect(faultsOf(checks)).toEqual(said);
  expect(JSON.stringify(checks)).not.toContain("canary");
});

test("more installations than one page are all looked at", async () => {
  const github = await openGitHubApp();
  const suspended = {
    ...installationBody(),
    id: 101,
    account: { login: "last" },
    suspended_at: "x",
  };
  const all = [...Array.from({ length: 100 }, () => installationBody()), suspended];
  github.answers.set("/app/installations", { status: 200, body: all });
  const faults = faultsOf(await appChecks(asked(github)));
  expect(faults).toEqual([
    "warning github installation last: it is suspended: its mandates are held",
  ]);
});

test.each([
  [29_000, 0],
  [40_000, 1],
  [-40_000, 1],
])("a clock %i ms from GitHub's gives %i problems", async (clockAheadMs, count) => {
  const github = await openGitHubApp();
  github.clockAheadMs = clockAheadMs;
  const checks = await appChecks(asked(github));
  expect(
    checks.filter((one) => one.check === "github clock" && one.status === "problem"),
  ).toHaveLength(count);
});

test("a claim that GitHub refuses is a problem, and the clock is told beside it", async () => {
  const github = await openGitHubApp();
  const faults = faultsOf(await appChecks(asked(github, { now: () => Date.now() - 3_600_000 })));
  expect(faults).toHaveLength(2);
  expect(faults[0]).toMatch(/^problem github clock: this machine's clock is \d{4} s from/);
  expect(faults[1]).toContain("does not take this key for App 4711 (status 401)");
});

describe("what is wrong here is said without asking anybody", () => {
  test("a key that is none", async () => {
    const github = await openGitHubApp();
    const keys = { ...asked(github).keys, privateKey: pem.slice(0, 200) };
    const faults = faultsOf(await appChecks(asked(github, { keys })));
    expect(faults).toEqual(["problem github key: the private key is no RSA key in PEM form"]);
  });

  test("a weak secret, which is not shown", async () => {
    const github = await openGitHubApp();
    const keys = { ...asked(github).keys, webhookSecret: "hunter2" };
    const checks = await appChecks(asked(github, { keys }));
    expect(faultsOf(checks)).toEqual([
      "problem github secret: the webhook secret does not protect: it has fewer than 16 characters",
    ]);
    expect(JSON.stringify(checks)).not.toContain("hunter2");
  });

  test("a file of keys that others may read", async () => {
    const file = join(temporaryFolder(), "key.pem");
    writeFileSync(file, pem);
    chmodSync(file, 0o640);
    const faults = faultsOf(await appChecks(asked(await openGitHubApp(), { keyFiles: [file] })));
    expect(faults).toEqual([`problem github key file: ${file} is open to others (mode 0640)`]);
  });
});

test("a GitHub that does not answer is a problem with something to do", async () => {
  const github = await openGitHubApp();
  const keys = { ...asked(github).keys, baseUrl: "http://127.0.0.1:9/api/v3" };
  const faults = faultsOf(await appChecks(asked(github, { keys })));
  expect(faults).toEqual(["problem github app: GitHub does not answer"]);
});

test("without a public address the webhook is not compared, and that is said", async () => {
  const faults = faultsOf(await appChecks(asked(await openGitHubApp(), { url: null })));
  expect(faults).toEqual([
    `warning github webhook: posts to ${hook.url}, and nothing says whether that is here`,
  ]);
});
