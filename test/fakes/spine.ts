// The whole spine in one process for tests: real ledger on disk, real git, real tasks, local forge; only the clock is
// the test's, and time passes when it says so.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { openIssue, writeComment } from "../../app/forge/local-writing.ts";
import { openLocalForge } from "../../app/forge/local.ts";
import { RunningTurns, type Host } from "../../app/host.ts";
import { saveRepository } from "../../app/ledger/conversations.ts";
import { addDelivery } from "../../app/ledger/incoming/deliveries.ts";
import { latestComments, listIssues } from "../../app/ledger/issues.ts";
import { listMandates, type MandateRow } from "../../app/ledger/mandates.ts";
import { openSqlite } from "../../app/ledger/sqlite/sqlite.ts";
import { turnsOf } from "../../app/ledger/turns.ts";
import { waitsOf } from "../../app/ledger/waits.ts";
import { pumpOnce } from "../../app/scheduler/pump.ts";
import { sweep } from "../../app/scheduler/sweep.ts";
import { Timing } from "../../app/settings.ts";
import { parseComment } from "../../policies/commands/comment.ts";
import { minuteMs } from "../../policies/durations.ts";
import { openRunner } from "../../runners/runner.ts";

const owner = { id: "1", name: "maintainer", isBot: false };
const self = { id: "2", name: "holdfast", isBot: true };
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };

function nothing(): void {}

/** 2026-12-01 09:00 UTC. */
const startAt = Date.UTC(2026, 11, 1, 9);

export interface SpineOptions {
  /** A real repository with a commit on `main`. */
  readonly source: string;
  readonly script?: string;
  /** A home that another spine has left, and the instant at which this one comes; by default a new one. */
  readonly after?: { readonly home: string; readonly now: number };
}

/** Opens the spine over a repository; `restart` is a crash: everything but disk and repository is gone. */
export async function openSpine(options: SpineOptions) {
  const home = options.after?.home ?? mkdtempSync(join(tmpdir(), "holdfast-spine-"));
  const repositoryId = basename(dirname(options.source)).replace(/\W/g, "-");
  let now = options.after?.now ?? startAt;
  let requests = 0;
  let host = await start();

  async function start(): Promise<Host> {
    const ledger = openSqlite({ file: join(home, "ledger.sqlite"), now: () => now });
    await ledger.write((tx) =>
      saveRepository(tx, {
        id: repositoryId,
        connection: "local",
        forgeId: repositoryId,
        name: "demo",
        source: options.source,
        defaultBranch: "main",
      }),
    );
    const forge = openLocalForge({ ledger, owner, self, pageOf: () => null });
    return {
      ledger,
      forges: new Map([["local", forge]]),
      webhooks: new Map(),
      mayRun: () => true,
      runner: openRunner({ home, environment: process.env }),
      leases: { hold: () => ({ release: nothing }) },
      running: new RunningTurns(),
      timing: Timing.parse({}),
      log: silent,
      redact: (text) => text,
      worker: "test",
      homeId: null,
      mention: "holdfast",
      timeZone: "UTC",
      script: options.script ?? null,
      markerKey: "k".repeat(64),
      random: Math.random,
      parse: async (body) => parseComment(body, { mention: "holdfast" }),
      recordUrl: () => null,
      sleep: () => setImmediate(),
    };
  }

  /** Works on everything that is due now, running turns included. */
  async function settle(): Promise<void> {
    const driver = { start: nothing, arm: nothing, ring: nothing, stop: async () => {} };
    do {
      await host.running.idle();
    } while (await pumpOnce(host, driver, { slots: 2, perRepository: 2 }));
  }

  return {
    home,
    now: () => now,
    host: () => host,
    settle,
    /** Lets time pass, a minute at a time at most, and does what comes due. */
    async pass(ms: number): Promise<void> {
      const until = now + ms;
      while (now < until) {
        now = Math.min(until, now + minuteMs);
        await sweep(host);
        await settle();
      }
    },
    /** Lets time pass at once, as a machine that slept does. */
    async jump(ms: number): Promise<void> {
      now += ms;
      await sweep(host);
      await settle();
    },
    async issue(title: string, body = "Please."): Promise<number> {
      requests += 1;
      const requestKey = `i${requests}`;
      const issue = { repositoryId, title, body, author: owner, requestKey };
      const opened = await openIssue(host.ledger, issue);
      if (!opened.ok) throw new Error(opened.reason);
      return opened.number;
    },
    async say(number: number, body: string): Promise<void> {
      requests += 1;
      const requestKey = `c${requests}`;
      const comment = { repositoryId, number, body, author: owner, requestKey };
      const written = await writeComment(host.ledger, comment);
      if (!written.ok) throw new Error(written.reason);
      await settle();
    },
    /** A command given at the machine itself, as `holdfast stop` and its kin write it. */
    async order(number: number, command: string): Promise<void> {
      requests += 1;
      const guid = `operator:${requests}`;
      const at = { connection: "local", forgeId: repositoryId, number };
      const payload = { kind: "operator", ...at, command, byName: "root" } as const;
      await host.ledger.write((tx) => addDelivery(tx, { connection: "local", guid, payload }));
      await settle();
    },
    mandates: (): Promise<MandateRow[]> =>
      host.ledger.read((sql) => listMandates(sql, { limit: 100 })),
    turns: (id: string) => host.ledger.read((sql) => turnsOf(sql, id)),
    waits: (id: string) => host.ledger.read((sql) => waitsOf(sql, id)),
    issues: () => host.ledger.read((sql) => listIssues(sql, repositoryId, 100)),
    /** What Holdfast wrote in a conversation, oldest first, without its hidden markers. */
    async told(number: number): Promise<string[]> {
      const comments = await host.ledger.read((sql) =>
        latestComments(sql, { repositoryId, number }, 200),
      );
      const own = comments.filter((comment) => comment.authorId === self.id);
      return own.map((comment) => comment.body.replace(/\s*<!--.*?-->/gs, ""));
    },
    async restart(): Promise<void> {
      await host.ledger.close();
      host = await start();
    },
    /** Ends as a process does that was asked to; the home stays for the next one. */
    async leave(): Promise<{ home: string; now: number }> {
      await host.running.idle();
      await host.ledger.close();
      return { home, now };
    },
    async close(): Promise<void> {
      await host.running.idle();
      await host.ledger.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

export type Spine = Awaited<ReturnType<typeof openSpine>>;
