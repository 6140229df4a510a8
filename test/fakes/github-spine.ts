// The product on a GitHub in one process: signed webhooks over HTTP into a real ledger, real Git over HTTP, real tasks,
// real pump; only the process is not its own. Times are shortened. Holds no expectation.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { openGitHub } from "../../app/forge/github/github.ts";
import { verifyGitHub } from "../../app/forge/github/webhooks.ts";
import { RunningTurns, type Host } from "../../app/host.ts";
import { serve } from "../../app/http.ts";
import { receiveWebhooks } from "../../app/intake/receive.ts";
import { reconcile } from "../../app/intake/reconcile.ts";
import { findRepository } from "../../app/ledger/conversations.ts";
import { listMandates, type MandateRow } from "../../app/ledger/mandates.ts";
import { nextOutboxAt } from "../../app/ledger/outbox.ts";
import { openSqlite } from "../../app/ledger/sqlite/sqlite.ts";
import type { Log } from "../../app/log.ts";
import { EmbeddedDriver } from "../../app/scheduler/embedded.ts";
import { openPump } from "../../app/scheduler/pump.ts";
import { sweep } from "../../app/scheduler/sweep.ts";
import { Timing } from "../../app/settings.ts";
import { parseComment } from "../../policies/commands/comment.ts";
import { hourMs } from "../../policies/durations.ts";
import { openRunner } from "../../runners/runner.ts";
import { createAccount, install } from "./github/acts/accounts.ts";
import { allow, createRepository } from "./github/acts/repositories.ts";
import { startGitHub, type GitHub } from "./github/github.ts";
import type { Account, Comment, Issue, Repository } from "./github/world.ts";

export const webhookSecret = "a secret of the tests, long enough";
const mention = "holdfast";

export interface GitHubSpine {
  readonly github: GitHub;
  readonly host: Host;
  readonly org: Account;
  /** May write in `door`. */
  readonly ada: Account;
  readonly door: Repository;
  readonly home: string;
  /** Lines of the log, as they would be printed. */
  readonly logged: string[];
  readonly mandates: () => Promise<MandateRow[]>;
  /** Our comments in an issue, oldest first. */
  readonly ours: (issue: Issue) => Comment[];
  /** What the adapter keeps in mind for a minute is forgotten, as after that minute. */
  readonly later: () => void;
  /** Waits until all is at rest: nothing is due, running or on its way. */
  readonly rest: () => Promise<void>;
}

export const policy = `
tasks:
  build:
    steps:
      - run: echo made > made.txt
  wait:
    steps:
      - run: test -e ready || exit 75
        wait: { every: 30m, for: 6h, signals: [release.published] }
`;

export interface SpineOptions {
  readonly files?: Readonly<Record<string, string>>;
  readonly timing?: Partial<Timing>;
  readonly script?: string;
}

/** An App that is installed on one repository of an organisation, and whoever writes there. */
export async function openGitHubSpine(options: SpineOptions = {}): Promise<GitHubSpine> {
  const github = await startGitHub();
  onTestFinished(() => github.close());
  const { world } = github;
  const org = createAccount(world, "org", "Organization");
  const ada = createAccount(world, "ada");
  const files = options.files ?? { "README.md": "A door.\n", ".holdfast.yml": policy };
  const door = createRepository(world, { owner: org, name: "door", files });
  allow(door, ada, "write");
  const home = mkdtempSync(join(tmpdir(), "holdfast github-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const logged: string[] = [];
  const clock = { aheadMs: 0 };
  const host = await openHost(github, { home, logged, clock, options });
  await start(github, host);
  install(world, { account: org, repositories: [door] });
  await github.settled();

  return {
    github,
    host,
    org,
    ada,
    door,
    home,
    logged,
    mandates: () => host.ledger.read((sql) => listMandates(sql, { limit: 100 })),
    ours: (issue) =>
      world.comments.filter(
        (one) => one.issue === issue && one.author === world.app.bot && !one.isDeleted,
      ),
    later: () => {
      clock.aheadMs += 61_000;
    },
    rest: () => rest(github, host),
  };
}

async function openHost(
  github: GitHub,
  parts: { home: string; logged: string[]; clock: { aheadMs: number }; options: SpineOptions },
): Promise<Host> {
  const { home, logged, clock, options } = parts;
  const ledger = openSqlite({ file: join(home, "ledger.sqlite"), now: Date.now });
  onTestFinished(() => ledger.close());
  const { world, url, origin } = github;
  const { forge, webhooks } = await openGitHub({
    keys: { appId: world.app.id, privateKey: world.privateKey, webhookSecret, baseUrl: url },
    webUrl: origin,
    now: () => Date.now() + clock.aheadMs,
    accountOf: async (forgeId) =>
      (await ledger.read((sql) => findRepository(sql, "github", forgeId)))?.account ?? null,
    onSecret: () => {},
    writeLimits: { perSecond: 1_000, perMinute: 10_000, perHour: 100_000 },
  });
  const log = openLog(logged);
  return {
    ledger,
    forges: new Map([["github", forge]]),
    webhooks: new Map([["github", webhooks]]),
    mayRun: (_, { isFork }) => !isFork,
    runner: openRunner({ home, environment: process.env }),
    leases: { hold: () => ({ release() {} }) },
    running: new RunningTurns(),
    timing: Timing.parse({
      statusThrottleMs: 50,
      probeAfterMs: 200,
      retryFirstMs: 50,
      unreachableRetryMs: 200,
      pollMs: 20,
      sweepMs: 500,
      ...options.timing,
    }),
    log,
    redact: (text) => text,
    worker: "test",
    homeId: null,
    mention,
    timeZone: "UTC",
    script: options.script ?? null,
    markerKey: "k".repeat(64),
    random: Math.random,
    parse: async (body) => parseComment(body, { mention }),
    recordUrl: () => null,
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  };
}

/** What cannot be printed as JSON is printed by its words. */
function openLog(logged: string[]): Log {
  function write(fields: object, message = ""): void {
    const words = Object.entries(fields).map(([name, value]) =>
      value instanceof Error ? `${name}=${value.stack}` : `${name}=${JSON.stringify(value)}`,
    );
    logged.push([message, ...words].join(" "));
  }
  return { debug: write, info: write, warn: write, error: write };
}

async function start(github: GitHub, host: Host): Promise<void> {
  const { ledger, log, timing } = host;
  const { route } = receiveWebhooks(verifyGitHub(webhookSecret), { ledger, log });
  const serving = await serve({
    port: 0,
    host: "127.0.0.1",
    routes: [route],
    problem: ({ status }) => ({ status, body: "problem" }),
  });
  const driver = new EmbeddedDriver({
    now: () => ledger.now(),
    revision: () => ledger.revision(),
    pollMs: timing.pollMs,
    tickMs: timing.sweepMs,
  });
  const pump = openPump(host, driver, { slots: 2, perRepository: 2 });
  driver.start(() => pump.wake());
  const tick = setInterval(() => void sweep(host).then(() => driver.ring()), timing.sweepMs);
  github.setHook({ url: `${serving.url}${route.path}`, secret: webhookSecret });
  await reconcile(host, { isStart: true });
  onTestFinished(async () => {
    clearInterval(tick);
    await driver.stop();
    await pump.idle();
    host.running.cancelAll("drain");
    await host.running.idle();
    await serving.close();
  });
}

async function rest(github: GitHub, host: Host): Promise<void> {
  for (let calm = 0; calm < 3;) {
    await github.settled();
    await host.sleep(30);
    const isAtRest = host.running.count === 0 && (await isQuiet(host));
    calm = isAtRest ? calm + 1 : 0;
  }
}

async function isQuiet({ ledger }: Host): Promise<boolean> {
  const now = ledger.now();
  return ledger.read(async (sql) => {
    const open = await sql.first<{ count: number }>(
      `SELECT (SELECT COUNT(*) FROM delivery WHERE handled_at IS NULL)
         + (SELECT COUNT(*) FROM inbox WHERE state IN ('queued', 'claimed'))
         + (SELECT COUNT(*) FROM outbox WHERE state = 'sending')
         + (SELECT COUNT(*) FROM mandate WHERE look_at <= ?) AS count`,
      now,
    );
    // What can be told tomorrow at the earliest keeps nothing awake.
    return open?.count === 0 && ((await nextOutboxAt(sql)) ?? Infinity) > now + hourMs;
  });
}
