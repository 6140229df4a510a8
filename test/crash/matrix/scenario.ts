// One scenario of the matrix (spec 8.4): two mandates on a GitHub that stays, a process that is ended at one point and
// others that go on, judged by what GitHub shows and by what the ledger holds when all is over.

import { mkdirSync, rmSync, writeFileSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { violations } from "../../../app/doctor.ts";
import { openLedger } from "../../../app/ledger/store/open.ts";
import { createAccount, install } from "../../fakes/github/acts/accounts.ts";
import { comment, openIssue } from "../../fakes/github/acts/conversations.ts";
import { createRelease, publishRelease } from "../../fakes/github/acts/releases.ts";
import { allow, createRepository } from "../../fakes/github/acts/repositories.ts";
import { startGitHub, type GitHub } from "../../fakes/github/github.ts";
import { isPull, type Account, type Comment, type Repository } from "../../fakes/github/world.ts";
import type { Mutant } from "../../simulation/faults.ts";
import { isAlive, launch, started, type Launched } from "../on-github.ts";
import type { Planted } from "./plant.ts";
import { preludes, requests, type Point } from "./points.ts";

const plant = fileURLToPath(new URL("plant.ts", import.meta.url));

/** Where the processes of a scenario keep what they know. */
export interface Place {
  /** The home's own file where there is none. */
  readonly databaseUrl: string | undefined;
  readonly redisUrl: string | undefined;
  /** Whatever goes wrong beside the process that dies. */
  readonly trouble: () => Promise<void>;
}

export interface Wanted {
  readonly servers: 1 | 2;
  readonly point: Point | null;
  /** At which time the process comes by. */
  readonly hit: number;
  readonly mutant: Mutant | null;
  readonly patienceMs: number;
}

export interface Outcome {
  readonly isHit: boolean;
  readonly silent: number;
  readonly lost: number;
  readonly doubled: number;
  /** In words, for whoever has to find the fault; empty where all is well. */
  readonly found: readonly string[];
  /** What the processes printed. */
  readonly said: string;
}

/** What is doubled may come last: a message of which nobody knows whether it arrived is looked for twice. */
const toldMsLimit = 30_000;

export async function runScenario(place: Place, wanted: Wanted): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast matrix-"));
  const github = await startGitHub();
  const crew = openCrew(github, { folder, place, wanted });
  try {
    const world = openWorld(github, join(folder, "released"));
    await crew.begin();
    const asked = ask(github, world);
    const isOver = await crew.untilOver(asked, () => release(github, world));
    await untilAllIsTold(crew.databaseUrl);
    await crew.end();
    return await judge(github, { asked, isOver, crew });
  } finally {
    await crew.end();
    await github.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Door {
  readonly ada: Account;
  readonly door: Repository;
  /** The file that the waiting step looks for. */
  readonly released: string;
}

function openWorld({ world }: GitHub, released: string): Door {
  const org = createAccount(world, "org", "Organization");
  const ada = createAccount(world, "ada");
  const look = `test -e '${released}' || exit 75`;
  const policy = {
    tasks: {
      build: { steps: [{ run: "echo made > made.txt", repeat: "safe" }] },
      wait: {
        steps: [{ run: look, wait: { every: "30m", for: "6h", signals: ["release.published"] } }],
      },
    },
  };
  const files = { ".holdfast.yml": JSON.stringify(policy) };
  const door = createRepository(world, { owner: org, name: "door", files });
  allow(door, ada, "write");
  install(world, { account: org, repositories: [door] });
  return { ada, door, released };
}

function ask({ world }: GitHub, { ada, door }: Door): Comment[] {
  return ["build", "wait"].map((task) => {
    const issue = openIssue(world, { repository: door, by: ada });
    return comment(world, { issue, by: ada, body: `@holdfast run ${task}` });
  });
}

function release({ world }: GitHub, { ada, door, released }: Door): void {
  writeFileSync(released, "");
  publishRelease(world, createRelease(world, { repository: door, by: ada, tag: "v1" }));
}

type Crew = ReturnType<typeof openCrew>;

interface Crewman {
  readonly launched: Launched;
  /** When it was started. */
  readonly stage: number;
}

function openCrew(
  github: GitHub,
  { folder, place, wanted }: { folder: string; place: Place; wanted: Wanted },
) {
  const { point, hit, mutant, servers, patienceMs } = wanted;
  const all: Crewman[] = [];
  const said: Launched[] = [];
  const first = point === null ? undefined : preludes[point.kind];
  const stages = [first, point].filter((one) => one !== undefined && one !== null);
  /** Which of them is next; all that come by it die there. */
  let stage = 0;
  if (point?.kind === "postpone") {
    github.fault({
      on: ({ method, route }) => method === "GET" && route.endsWith("/comments/{comment_id}"),
      kind: "5xx-before",
      times: 2,
    });
  }

  function home(index: number): string {
    return join(folder, `home-${index}`);
  }

  async function start(index: number): Promise<void> {
    const next = stages[stage];
    const isCommit = next?.at === "commit";
    const planted: Planted = {
      ...(isCommit && { point: { kind: next.kind, when: next.when, hit: hitOf(stage) } }),
      ...(mutant !== null && { mutant }),
    };
    const launched = launch(github, {
      kind: "server",
      home: home(index),
      databaseUrl: place.databaseUrl,
      redisUrl: place.redisUrl,
      nodeOptions: ["--import", plant],
      environment: { HOLDFAST_PLANTED: JSON.stringify(planted) },
    });
    all[index] = { launched, stage };
    said.push(launched);
    await started(github, launched);
  }

  function hitOf(one: number): number {
    return one === stages.length - 1 ? hit : 1;
  }

  /** Whoever makes the request: from here nobody can tell them apart. */
  function watchRequests(): void {
    let seen = 0;
    github.fault({
      on: (request) => {
        const next = stages[stage];
        if (next?.at !== "request" || requests[next.kind]?.(request) !== true) return false;
        seen += 1;
        if (seen !== hitOf(stage)) return false;
        for (const { launched } of all) launched.child.kill("SIGKILL");
        return !next.isApplied;
      },
      kind: "reset-before",
    });
  }

  async function replaceDead(): Promise<void> {
    for (const [index, man] of all.entries()) {
      if (isAlive(man.launched)) continue;
      await man.launched.ended;
      stage = Math.max(stage, man.stage + 1);
      await place.trouble();
      await start(index);
    }
  }

  return {
    said,
    wasHit: () => stage >= stages.length,
    databaseUrl: place.databaseUrl ?? `file:${join(home(0), "ledger.sqlite")}`,
    async begin(): Promise<void> {
      mkdirSync(folder, { recursive: true });
      watchRequests();
      for (let index = 0; index < servers; index += 1) await start(index);
    },
    /** True when every mandate has its result in time. */
    async untilOver(asked: readonly Comment[], onWaiting: () => void): Promise<boolean> {
      const giveUpAt = Date.now() + patienceMs;
      let isReleased = false;
      while (Date.now() < giveUpAt) {
        await replaceDead();
        if (!isReleased && ours(github, asked[1]).some((body) => body.includes("It waits"))) {
          isReleased = true;
          onWaiting();
        }
        const isOver = asked.every((one) => countOf(ours(github, one), "result") > 0);
        if (isOver && (stage >= stages.length || mutant !== null)) return true;
        await pause(50);
      }
      return false;
    },
    async end(): Promise<void> {
      for (const { child } of said) child.kill("SIGKILL");
      await Promise.all(said.map(({ ended }) => ended));
    },
  };
}

function ours({ world }: GitHub, asked: Comment | undefined): string[] {
  return world.comments
    .filter(({ issue, author, isDeleted }) => {
      return issue === asked?.issue && author === world.app.bot && !isDeleted;
    })
    .map(({ body }) => body);
}

function countOf(bodies: readonly string[], kind: string): number {
  return bodies.filter((body) => body.includes(`<!-- holdfast:${kind}/`)).length;
}

async function judge(
  github: GitHub,
  { asked, isOver, crew }: { asked: readonly Comment[]; isOver: boolean; crew: Crew },
): Promise<Outcome> {
  const found: string[] = [];
  let [silent, lost, doubled] = [0, 0, 0];
  const { world } = github;
  for (const one of asked) {
    const bodies = ours(github, one);
    const [statuses, results] = [countOf(bodies, "status"), countOf(bodies, "result")];
    const reactions = world.reactions.filter(({ subject }) => subject === one);
    if (statuses === 0) lost += 1;
    else if (results === 0) silent += 1;
    if (statuses > 1 || results > 1 || reactions.length > 2) doubled += 1;
    if (statuses !== 1 || results !== 1) {
      found.push(`${one.body}: ${statuses} statuses, ${results} results`);
    }
  }
  const pulls = world.issues.filter(isPull).length;
  if (pulls > 1) doubled += 1;
  if (pulls !== 1) found.push(`${pulls} pull requests`);
  for (const { subject, what } of await brokenIn(crew.databaseUrl)) {
    silent += 1;
    found.push(`${subject}: ${what}`);
  }
  if (!isOver) found.push("not over in time");
  const said = crew.said.map((one, index) => `--- ${index}\n${one.said}`).join("\n");
  return { isHit: crew.wasHit(), silent, lost, doubled, found, said };
}

async function untilAllIsTold(databaseUrl: string): Promise<void> {
  const ledger = await openLedger(databaseUrl);
  const giveUpAt = Date.now() + toldMsLimit;
  try {
    for (let calm = 0; calm < 3 && Date.now() < giveUpAt;) {
      const open = await ledger.read((sql) =>
        sql.first("SELECT 1 AS one FROM outbox WHERE state IN ('pending', 'sending', 'unsure')"),
      );
      calm = open === undefined ? calm + 1 : 0;
      await pause(100);
    }
  } finally {
    await ledger.close();
  }
}

/** What is only late is no fault of a ledger that nobody serves any more. */
async function brokenIn(databaseUrl: string) {
  const ledger = await openLedger(databaseUrl);
  try {
    const found = await ledger.read((sql) => violations(sql, ledger.now()));
    return found.filter(({ isLate }) => !isLate);
  } finally {
    await ledger.close();
  }
}
