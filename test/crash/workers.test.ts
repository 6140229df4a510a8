// Workers that share a ledger (spec 2.1, 2.5, 5.1, 7.1), as real processes on one PostgreSQL: whoever is killed, ended,
// stopped or blocked, its mandate goes on elsewhere from its saved files, and comes to its one end.

import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, expect, onTestFinished, test } from "vitest";
import type { Ledger } from "../../app/ledger/ledger.ts";
import { listMandates, type MandateRow } from "../../app/ledger/mandates.ts";
import { openLedger } from "../../app/ledger/store/open.ts";
import { turnsOf } from "../../app/ledger/turns.ts";
import { endAllLeftovers } from "../../runners/processes.ts";
import { createAccount, install } from "../fakes/github/acts/accounts.ts";
import { comment, openIssue } from "../fakes/github/acts/conversations.ts";
import { createRelease } from "../fakes/github/acts/releases.ts";
import { allow, createRepository } from "../fakes/github/acts/repositories.ts";
import { startGitHub } from "../fakes/github/github.ts";
import { isPull } from "../fakes/github/world.ts";
import { temporaryFolder } from "../fakes/repository.ts";
import { startPostgres } from "../services/postgres.ts";
import { isAlive, launch, started, type Launch, type Launched } from "./on-github.ts";
import { linesOf, longTestMs, until } from "./process.ts";

const postgres = await startPostgres();
afterAll(() => postgres.stop());

/** Long enough for a busy machine to renew, and short enough to wait for. */
const leases = { leaseMs: 5_000, loseMs: 4_000 };

type WorkerOptions = Pick<Launch, "timing" | "nodeOptions" | "environment">;

interface Member extends Launched {
  readonly home: string;
}

/** Sends a signal; resolves with the exit code when it is gone. */
async function end({ child, ended }: Launched, name: "SIGKILL" | "SIGTERM") {
  child.kill(name);
  await ended;
  return child.exitCode;
}

/** A server that takes no turns, and workers that come when a test lets them. */
async function openField(steps: (traces: string) => readonly object[]) {
  const folder = temporaryFolder();
  const traces = join(folder, "traces");
  mkdirSync(traces);
  const github = await startGitHub();
  const databaseUrl = await postgres.createDatabase();
  const members: Member[] = [];
  let ledger: Ledger | null = null;
  onTestFinished(async () => {
    await Promise.all(members.map((member) => end(member, "SIGKILL")));
    // Steps of a killed worker live on, as on a machine of its own.
    for (const { home } of members) await endAllLeftovers(join(home, "work"));
    await ledger?.close();
    await github.close();
  });
  const { world } = github;
  const org = createAccount(world, "org", "Organization");
  const ada = createAccount(world, "ada");
  const policy = JSON.stringify({ tasks: { rollout: { steps: steps(traces) } } });
  const files = { "README.md": "A door.\n", ".holdfast.yml": policy };
  const door = createRepository(world, { owner: org, name: "door", files });
  allow(door, ada, "write");
  install(world, { account: org, repositories: [door] });

  async function start(kind: Launch["kind"], options: WorkerOptions & { slots: number }) {
    const home = join(folder, `home-${members.length}`);
    const timing = { ...leases, ...options.timing };
    const launched = launch(github, { ...options, timing, kind, home, databaseUrl });
    const member: Member = Object.assign(launched, { home });
    members.push(member);
    await started(github, member);
    return member;
  }

  await start("server", { slots: 0 });
  const opened = await openLedger(databaseUrl, { aheadMs: 0 });
  ledger = opened;
  const issue = openIssue(world, { repository: door, by: ada, title: "Build it" });
  comment(world, { issue, by: ada, body: "@holdfast run rollout" });

  async function mandate(): Promise<MandateRow | undefined> {
    return (await opened.read((sql) => listMandates(sql, { limit: 10 })))[0];
  }

  function said(): string {
    return members.map((member) => `--- ${member.home}\n${member.said}`).join("\n");
  }

  return {
    traces,
    startWorker: (options: WorkerOptions = {}) => start("worker", { ...options, slots: 1 }),
    release: () => void createRelease(world, { repository: door, by: ada, tag: "v1" }),
    /** The mandate, once it is in this state. */
    becomes: (status: string) =>
      until(
        `the mandate becomes ${status}`,
        async () => {
          const found = await mandate();
          return found?.status === status && found;
        },
        said,
      ),
    traced: (name: string, count: number) =>
      until(
        `${name} is traced ${count} times`,
        async () => linesOf(join(traces, name)).length >= count,
        said,
      ),
    /** Those that began to work: a busy machine may lose one before. */
    turns: async () => {
      const { id = "" } = (await mandate()) ?? {};
      const turns = await opened.read((sql) => turnsOf(sql, id));
      return turns.filter(({ promptGivenAt }) => promptGivenAt !== null);
    },
    /** Kinds of the comments in the issue once they stay as they are, the files that were published, and as what. */
    async end() {
      // What is doubled may come last.
      await pause(leases.leaseMs);
      await github.settled();
      const ours = world.comments.filter(
        (one) => one.issue === issue && one.author === world.app.bot && !one.isDeleted,
      );
      const branch = door.git.resolve(`refs/heads/${(await mandate())?.branch}`) ?? "main";
      return {
        told: ours.map(({ body }) => /<!-- holdfast:(\w+)/.exec(body)?.[1]),
        words: ours.map(({ body }) => body).join("\n"),
        pulls: world.issues.filter(isPull).length,
        files: door.git
          .git(["ls-tree", "--name-only", branch])
          .split("\n")
          .filter((name) => name.endsWith(".txt")),
      };
    },
  };
}

const whole = { told: ["status", "result"], pulls: 1 };

test(
  "what one worker made before a wait, another goes on with when the first is dead",
  async () => {
    const field = await openField((traces) => [
      { run: `echo ran >> '${traces}/first'; echo 1 > one.txt` },
      {
        run: `test -e '${traces}/ready' || exit 75`,
        wait: { every: "30m", for: "6h", signals: ["release.published"] },
      },
      { run: "cat one.txt one.txt > two.txt" },
    ]);
    const first = await field.startWorker();
    await field.becomes("waiting");
    await end(first, "SIGKILL");
    await field.startWorker();
    writeFileSync(join(field.traces, "ready"), "");
    field.release();
    await field.becomes("completed");
    expect(await field.end()).toMatchObject({ ...whole, files: ["one.txt", "two.txt"] });
    expect(linesOf(join(field.traces, "first"))).toHaveLength(1);
    expect(await field.turns()).toHaveLength(2);
  },
  longTestMs,
);

/** Two steps; the second waits in its first run for whoever ends it, and looks before it acts. */
function twoSteps(traces: string) {
  return [
    { run: `echo ran >> '${traces}/first'; echo 1 > one.txt` },
    {
      run: [
        `echo ran >> '${traces}/second'`,
        `if [ ! -e '${traces}/go' ]; then echo half > half.txt; sleep 120; fi`,
        "cat one.txt one.txt > two.txt",
      ].join("\n"),
      repeat: "safe",
    },
  ];
}

test(
  "a worker killed within a step is missed, and another goes on from the step before",
  async () => {
    const field = await openField(twoSteps);
    const first = await field.startWorker();
    await field.traced("second", 1);
    await field.startWorker();
    writeFileSync(join(field.traces, "go"), "");
    await end(first, "SIGKILL");
    await field.becomes("completed");
    // What was half done is lost with the worker that did it.
    expect(await field.end()).toMatchObject({ ...whole, files: ["one.txt", "two.txt"] });
    expect(linesOf(join(field.traces, "first"))).toHaveLength(1);
    expect(linesOf(join(field.traces, "second"))).toHaveLength(2);
    expect(await field.turns()).toMatchObject([{ end: { kind: "died" } }, {}]);
  },
  longTestMs,
);

test(
  "a worker that is asked to end hands over what it cannot finish, with its files",
  async () => {
    const field = await openField(twoSteps);
    const first = await field.startWorker({ timing: { drainMs: 200 } });
    await field.traced("second", 1);
    writeFileSync(join(field.traces, "go"), "");
    expect(await end(first, "SIGTERM")).toBe(0);
    await field.startWorker();
    await field.becomes("completed");
    const files = ["half.txt", "one.txt", "two.txt"];
    expect(await field.end()).toMatchObject({ ...whole, files });
    expect(linesOf(join(field.traces, "first"))).toHaveLength(1);
    const cut = { end: { kind: "cancelled", by: "drain" } };
    expect(await field.turns()).toMatchObject([cut, { end: { kind: "completed" } }]);
  },
  longTestMs,
);

test(
  "a worker that is asked to end finishes what it can, and takes nothing new",
  async () => {
    const field = await openField((traces) => [
      { run: `echo ran >> '${traces}/ran'; sleep 2; echo 1 > one.txt` },
    ]);
    const first = await field.startWorker({ timing: { drainMs: 60_000 } });
    await field.traced("ran", 1);
    expect(await end(first, "SIGTERM")).toBe(0);
    expect(await field.turns()).toMatchObject([{ end: { kind: "completed" } }]);
    // Its publish is a turn of its own, and nobody is left for it.
    await field.becomes("queued");
    await field.startWorker();
    await field.becomes("completed");
    expect(await field.end()).toMatchObject({ ...whole, files: ["one.txt"] });
    expect(linesOf(join(field.traces, "ran"))).toHaveLength(1);
  },
  longTestMs,
);

test(
  "a blocked event loop keeps its claim: nothing runs twice",
  async () => {
    const field = await openField((traces) => [
      { run: `echo ran >> '${traces}/ran'; sleep 1; echo 1 > one.txt`, repeat: "safe" },
    ]);
    const blockMs = leases.leaseMs + 2_000;
    const block = `process.on("SIGUSR2", () => { const until = Date.now() + ${blockMs}; while (Date.now() < until); });`;
    const nodeOptions = [`--import=data:text/javascript,${encodeURIComponent(block)}`];
    const first = await field.startWorker({ nodeOptions });
    await field.traced("ran", 1);
    first.child.kill("SIGUSR2");
    await field.startWorker();
    await field.becomes("completed");
    expect(await field.end()).toMatchObject({ ...whole, files: ["one.txt"] });
    expect(linesOf(join(field.traces, "ran"))).toHaveLength(1);
    expect(await field.turns()).toHaveLength(1);
  },
  longTestMs,
);

test(
  "a worker that was stopped meanwhile is refused its result, and leaves the other's work alone",
  async () => {
    const field = await openField((traces) => [
      {
        run: `echo ran >> '${traces}/ran'; until [ -e '${traces}/go' ]; do sleep 0.1; done; echo 1 > one.txt`,
        repeat: "safe",
      },
    ]);
    const first = await field.startWorker();
    await field.traced("ran", 1);
    first.child.kill("SIGSTOP");
    await field.startWorker();
    await field.traced("ran", 2);
    first.child.kill("SIGCONT");
    await until("it has noticed", async () => first.said.includes("stale result refused"));
    writeFileSync(join(field.traces, "go"), "");
    await field.becomes("completed");
    expect(await field.end()).toMatchObject({ ...whole, files: ["one.txt"] });
    expect(linesOf(join(field.traces, "ran"))).toHaveLength(2);
    expect(await field.turns()).toMatchObject([
      { end: { kind: "died" } },
      { end: { kind: "completed" } },
    ]);
  },
  longTestMs,
);

test(
  "a mandate that takes three workers down before it begins is blocked, and a fourth is spared",
  async () => {
    const field = await openField(() => [{ run: "echo 1 > one.txt" }]);
    // The first thing that a turn does with git ends its worker.
    const programs = temporaryFolder();
    const git = join(programs, "git");
    const poisoned = `#!/bin/sh\nPATH=/usr/bin:/bin\n[ "$1" = --version ] || kill -KILL $PPID\nexec git "$@"\n`;
    writeFileSync(git, poisoned);
    chmodSync(git, 0o755);
    for (let count = 0; count < 3; count += 1) {
      const environment = { PATH: `${programs}:${process.env["PATH"]}` };
      const { child } = await field.startWorker({ environment });
      await until("it dies", async () => child.signalCode === "SIGKILL");
    }
    const healthy = await field.startWorker();
    await field.becomes("blocked");
    const { told, words } = await field.end();
    expect(told).toEqual(["status", "ask"]);
    expect(words).toContain("its worker was lost 3 times in a row before it began");
    expect(isAlive(healthy)).toBe(true);
    expect(existsSync(join(healthy.home, "work"))).toBe(false);
  },
  longTestMs,
);
