// Many processes on one ledger (spec 3.5, 8.4): servers and workers, each with a home of its own, that are killed, asked
// to end and joined by new ones while mandates run. GitHub stays, and tells what came of it.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createAccount, install } from "../fakes/github/acts/accounts.ts";
import { comment, openIssue } from "../fakes/github/acts/conversations.ts";
import { createRelease, publishRelease } from "../fakes/github/acts/releases.ts";
import { allow, createRepository } from "../fakes/github/acts/repositories.ts";
import { startGitHub, type GitHub } from "../fakes/github/github.ts";
import type { Account, Comment, Repository } from "../fakes/github/world.ts";
import { isAlive, launch, started, type Launch, type Launched } from "./on-github.ts";
import { quickTiming } from "./process.ts";

const servers = 2;
const workers = 3;

export interface ManyOptions {
  /** An empty folder for homes and traces. */
  readonly folder: string;
  readonly databaseUrl: string;
  readonly redisUrl?: string | undefined;
  readonly mandates: number;
  /** Mean time between two blows, in ms. */
  readonly blowMs: number;
  readonly patienceMs: number;
  readonly random: () => number;
}

/** What GitHub shows at the end. */
export interface ManyEnd {
  readonly asked: number;
  /** How many mandates have this many results. */
  readonly results: Readonly<Record<number, number>>;
  readonly statuses: Readonly<Record<number, number>>;
  readonly killed: number;
  readonly ended: number;
  readonly started: number;
  /** What processes printed, for whoever has to find a fault. */
  readonly said: string;
}

type Kind = Launch["kind"];

const policy = JSON.stringify({
  limits: { concurrency: 64 },
  tasks: {
    note: { steps: [{ run: "sleep 0.2", repeat: "safe" }] },
    wait: {
      steps: [
        {
          run: "test -e 'RELEASED' || exit 75",
          wait: { every: "30m", for: "6h", signals: ["release.published"] },
        },
      ],
    },
  },
});

/** One in five mandates waits for the release that comes when all have been asked for. */
export async function runMany(options: ManyOptions): Promise<ManyEnd> {
  const github = await startGitHub();
  const world = openWorld(github, join(options.folder, "released"));
  const fleet = openFleet(github, options);
  try {
    for (let count = 0; count < servers; count += 1) await fleet.start("server");
    for (let count = 0; count < workers; count += 1) await fleet.start("worker");
    const peace = new AbortController();
    const striking = fleet.strikeUntil(peace.signal);
    const asked = await askFor(github, world, options);
    writeFileSync(world.released, "");
    release(github, world);
    // The last that were asked for, and those that wait for the release, are being worked on.
    await new Promise((resolve) => setTimeout(resolve, 5 * options.blowMs));
    peace.abort();
    await striking;
    // What came while nobody listened is asked for again at a start.
    await fleet.start("server");
    const giveUpAt = Date.now() + options.patienceMs;
    while (countOf(github, "result", asked).get(1) !== asked.length && Date.now() < giveUpAt) {
      await fleet.pause();
    }
    // What is doubled may come last.
    await fleet.settle();
    return {
      asked: asked.length,
      results: Object.fromEntries(countOf(github, "result", asked)),
      statuses: Object.fromEntries(countOf(github, "status", asked)),
      ...fleet.blows,
      said: fleet.said(),
    };
  } finally {
    await fleet.killAll();
    await github.close();
  }
}

interface Place {
  readonly ada: Account;
  readonly door: Repository;
  /** The file that waits look for. */
  readonly released: string;
}

function openWorld({ world }: GitHub, released: string): Place {
  const org = createAccount(world, "org", "Organization");
  const ada = createAccount(world, "ada");
  const files = { ".holdfast.yml": policy.replace("RELEASED", released) };
  const door = createRepository(world, { owner: org, name: "door", files });
  allow(door, ada, "write");
  install(world, { account: org, repositories: [door] });
  return { ada, door, released };
}

async function askFor(
  github: GitHub,
  { ada, door }: Place,
  { mandates }: ManyOptions,
): Promise<Comment[]> {
  const { world } = github;
  const asked: Comment[] = [];
  for (let index = 0; index < mandates; index += 1) {
    const issue = openIssue(world, { repository: door, by: ada, title: `Door ${index}` });
    const task = index % 5 === 0 ? "wait" : "note";
    asked.push(comment(world, { issue, by: ada, body: `@holdfast run ${task}` }));
    if (index % 10 === 9) await github.settled();
  }
  return asked;
}

function release({ world }: GitHub, { ada, door }: Place): void {
  const made = createRelease(world, { repository: door, by: ada, tag: "v1" });
  publishRelease(world, made);
}

/** How many of the issues that were asked in have how many of our comments of this kind. */
function countOf({ world }: GitHub, kind: string, asked: readonly Comment[]): Map<number, number> {
  const found = new Map(asked.map(({ issue }) => [issue, 0]));
  for (const { issue, author, body, isDeleted } of world.comments) {
    const known = found.get(issue);
    if (known === undefined || author !== world.app.bot || isDeleted) continue;
    if (body.includes(`<!-- holdfast:${kind}/`)) found.set(issue, known + 1);
  }
  const counts = new Map<number, number>();
  for (const count of found.values()) counts.set(count, (counts.get(count) ?? 0) + 1);
  return counts;
}

function openFleet(github: GitHub, options: ManyOptions) {
  const { random, blowMs } = options;
  const all: Launched[] = [];
  const blows = { killed: 0, ended: 0, started: 0 };

  function living(kind?: Kind): Launched[] {
    return all.filter((one) => isAlive(one) && (kind === undefined || one.kind === kind));
  }

  async function start(kind: Kind): Promise<void> {
    const { folder, databaseUrl, redisUrl } = options;
    const home = join(folder, `home-${all.length}`);
    const nodeOptions = ["--throw-deprecation"];
    const launched = launch(github, { kind, home, databaseUrl, redisUrl, nodeOptions });
    all.push(launched);
    blows.started += 1;
    await started(github, launched);
  }

  async function strike(): Promise<void> {
    const target = living()[Math.floor(random() * living().length)];
    const isKilled = random() < 0.5;
    if (target !== undefined) {
      target.child.kill(isKilled ? "SIGKILL" : "SIGTERM");
      blows[isKilled ? "killed" : "ended"] += 1;
    }
    if (living("server").length < servers) await start("server");
    if (living("worker").length < workers) await start("worker");
  }

  return {
    blows,
    start,
    said: () => all.map(({ said }, index) => `--- ${index}\n${said}`).join("\n"),
    pause: () => new Promise((resolve) => setTimeout(resolve, 200)),
    settle: () => new Promise((resolve) => setTimeout(resolve, 2 * quickTiming.leaseMs)),
    /** Strikes until the signal comes. */
    async strikeUntil(signal: AbortSignal): Promise<void> {
      for (;;) {
        await new Promise((resolve) => setTimeout(resolve, blowMs * (0.5 + random())));
        if (signal.aborted) return;
        await strike();
      }
    },
    async killAll(): Promise<void> {
      for (const { child } of all) child.kill("SIGKILL");
      await Promise.all(all.map(({ ended }) => ended));
    },
  };
}
