// A serving process in local mode (spec 7.1, 8.2): ledger, local forge, scheduler and pages in one. Starts and stops
// them in order; everything that must outlive it is in the ledger.

import { randomInt } from "node:crypto";
import { cpus, hostname } from "node:os";
import { defaultPolicy, problemLine } from "../policies/policy-file.ts";
import { taskExample } from "../policies/tasks.ts";
import type { RepositoryFacts, Runner } from "../runners/runner.ts";
import { openRunner } from "../runners/runner.ts";
import type { Person } from "./forge/forge.ts";
import { openIssue, writeComment } from "./forge/local-writing.ts";
import { openLocalForge } from "./forge/local.ts";
import { operator } from "./forge/operator.ts";
import { openHome, type Home } from "./home.ts";
import { hashOf, RunningTurns, type Host } from "./host.ts";
import { keepHouse } from "./housekeeping.ts";
import { openParser, type Parser } from "./intake/parser.ts";
import { currentPolicy } from "./intake/policy.ts";
import { repositoryOf, saveRepository } from "./ledger/conversations.ts";
import { findMandate } from "./ledger/mandates.ts";
import type { Log } from "./log.ts";
import { EmbeddedDriver } from "./scheduler/embedded.ts";
import { openLeases, type LeaseKeeper } from "./scheduler/leases.ts";
import { openPump } from "./scheduler/pump.ts";
import { sweep } from "./scheduler/sweep.ts";
import type { Settings } from "./settings.ts";
import type { TaskView } from "./web/dashboard.ts";
import { startWeb } from "./web/routes.ts";
import { welcome } from "./welcome.ts";

const self: Person = { id: "2", name: "holdfast", isBot: true };
const slotsLimit = 4;

export interface Serving {
  readonly url: string;
  readonly repository: RepositoryFacts;
  /** The welcome issue, where this start made it. */
  readonly firstIssue: number | null;
  /** How each declared task is asked for. */
  readonly tasks: readonly string[];
  readonly isPolicyUncommitted: boolean;
  /** Turns that are running now. */
  runningCount(): number;
  /** Ends in order: nothing new starts, running turns get their grace, what they did is saved. */
  stop(): Promise<void>;
}

export interface ServeOptions {
  readonly settings: Settings;
  readonly path: string;
  readonly log: Log;
}

/** Serves one local repository. Throws Failure: what is missing is named by its code. */
export async function serveLocal(options: ServeOptions): Promise<Serving> {
  const { settings } = options;
  const runner = openRunner({ home: settings.home, environment: process.env });
  const home = openHome({ settings, mode: "serve" });
  const opened: { close(): Promise<void> }[] = [home];
  try {
    return await start(options, { home, runner, opened });
  } catch (error) {
    for (const one of opened.toReversed()) await one.close();
    throw error;
  }
}

interface Opening {
  readonly home: Home;
  readonly runner: Runner;
  readonly opened: { close(): Promise<void> }[];
}

async function start(options: ServeOptions, opening: Opening): Promise<Serving> {
  const { settings, log, path } = options;
  const { home, runner, opened } = opening;
  await runner.clear();
  const repository = await runner.inspect({ path, id: repositoryId });
  const owner = operator();
  let baseUrl: string | null = null;
  const parser = openParser();
  const leases = openLeases({
    ledgerFile: home.ledgerFile,
    home: home.folder,
    timing: settings.timing,
  });
  opened.push(parser, leases);
  const host = makeHost({
    settings,
    log,
    home,
    runner,
    parser,
    leases,
    owner,
    repository,
    baseUrl: () => baseUrl,
  });
  const web = await startWeb(webOptions(host, { home, settings, log, owner, repository }));
  opened.push(web);
  // Only now: a start that fails at its port leaves nothing behind.
  await home.ledger.write((tx) =>
    saveRepository(tx, {
      id: repository.id,
      connection: "local",
      forgeId: repository.id,
      name: nameOf(repository.source),
      source: repository.source,
      defaultBranch: repository.defaultBranch,
    }),
  );
  baseUrl = web.baseUrl;
  home.announce(web.baseUrl);
  const row = await home.ledger.read((sql) => repositoryOf(sql, repository.id));
  const { policy, isUncommitted } = await currentPolicy(host, row);
  const tasks = Object.entries(policy.tasks).map(([name, task]) => taskExample(name, task));
  const firstIssue = await welcome(home.ledger, {
    repository,
    policy,
    self,
    mention: settings.mention,
  });
  const scheduling = schedule(host, runner, log);
  return {
    url: web.url,
    repository,
    firstIssue,
    tasks,
    isPolicyUncommitted: isUncommitted,
    runningCount: () => host.running.count,
    stop: () => stop(host, { scheduling, opened }),
  };
}

/** Named by its place: the same folder is the same repository at every start. */
function repositoryId(root: string): string {
  return `local-${hashOf(root).slice(0, 12)}`;
}

function nameOf(root: string): string {
  return root.split("/").findLast((part) => part !== "") ?? root;
}

interface Parts {
  readonly settings: Settings;
  readonly log: Log;
  readonly home: Home;
  readonly runner: Runner;
  readonly parser: Parser;
  readonly leases: LeaseKeeper;
  readonly owner: Person;
  readonly repository: RepositoryFacts;
  readonly baseUrl: () => string | null;
}

function makeHost(parts: Parts): Host {
  const { settings, home, parser, repository, owner, baseUrl } = parts;
  const forge = openLocalForge({
    ledger: home.ledger,
    owner,
    self,
    pageOf: (forgeId) => (forgeId === repository.id ? baseUrl() : null),
  });
  return {
    ledger: home.ledger,
    forges: new Map([["local", forge]]),
    webhooks: new Map(),
    mayRun: () => true,
    runner: parts.runner,
    leases: parts.leases,
    running: new RunningTurns(),
    timing: settings.timing,
    log: parts.log,
    worker: `${hostname()}-${process.pid}`,
    mention: settings.mention,
    timeZone: settings.timeZone,
    script: settings.script,
    markerKey: home.secrets.markerKey,
    random: () => randomInt(2 ** 32) / 2 ** 32,
    parse: async (body) => {
      const parsing = await parser.parse(body, { mention: settings.mention });
      return parsing.ok ? parsing.comment : null;
    },
    recordUrl: (mandateId) => {
      const url = baseUrl();
      return url === null ? null : `${url}/m/${mandateId}`;
    },
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  };
}

function webOptions(
  host: Host,
  parts: Pick<Parts, "home" | "settings" | "log" | "owner" | "repository">,
): Parameters<typeof startWeb>[0] {
  const { home, settings, log, owner, repository } = parts;
  const { ledger } = home;
  return {
    ledger,
    log,
    port: settings.port,
    token: home.secrets.pageToken,
    repository: { id: repository.id, name: nameOf(repository.source) },
    mention: settings.mention,
    timeZone: settings.timeZone,
    selfId: self.id,
    tasks: async () => taskView(host, repository.id),
    diff: async (mandateId) => diffOf(host, mandateId),
    write: {
      comment: (comment) =>
        writeComment(ledger, { ...comment, repositoryId: repository.id, author: owner }),
      issue: (issue) => openIssue(ledger, { ...issue, repositoryId: repository.id, author: owner }),
    },
  };
}

async function taskView(host: Host, repositoryId: string): Promise<TaskView> {
  const row = await host.ledger.read((sql) => repositoryOf(sql, repositoryId));
  const now = await currentPolicy(host, row).catch(() => null);
  const policy = now?.policy ?? row.policy ?? defaultPolicy;
  return {
    tasks: Object.entries(policy.tasks).map(([name, task]) => ({
      name,
      inputs: Object.keys(task.inputs),
    })),
    problems: (now?.faults ?? []).map(problemLine),
    isUncommitted: now?.isUncommitted ?? false,
  };
}

async function diffOf(host: Host, mandateId: string): Promise<string | null> {
  const mandate = await host.ledger.read((sql) => findMandate(sql, mandateId));
  const base = mandate?.baseCommit ?? null;
  return base === null ? null : host.runner.diff({ mandateId, base });
}

interface Scheduling {
  stop(): Promise<void>;
}

/** The pump at once, the sweep when the first quiet time is over and at every jittered tick after. */
function schedule(host: Host, runner: Runner, log: Log): Scheduling {
  const { timing, ledger } = host;
  const driver = new EmbeddedDriver({
    now: () => ledger.now(),
    revision: () => ledger.revision(),
    pollMs: timing.pollMs,
    tickMs: timing.sweepMs,
  });
  const slots = Math.min(Math.max(cpus().length, 1), slotsLimit);
  const options = { slots, perRepository: slots };
  const pump = openPump(host, driver, options);
  driver.start(() => pump.wake());
  const tick = repeat(timing, async () => {
    await sweep(host).catch((error: unknown) => log.error({ error }, "the sweep failed"));
    await keepHouse(host, runner).catch((error: unknown) =>
      log.warn({ error }, "cleaning up failed"),
    );
    driver.ring();
  });
  return {
    stop: async () => {
      await tick.stop();
      await driver.stop();
      await pump.idle();
    },
  };
}

/** Calls `work` after the quiet time and then every sweep interval, give or take a tenth. */
function repeat(
  timing: { quietMs: number; sweepMs: number },
  work: () => Promise<void>,
): { stop(): Promise<void> } {
  let timer: NodeJS.Timeout;
  let running = Promise.resolve();
  let isStopped = false;
  function plan(afterMs: number): void {
    timer = setTimeout(() => {
      running = work().then(() => {
        if (!isStopped) plan(timing.sweepMs * (0.9 + randomInt(200) / 1_000));
      });
    }, afterMs);
  }
  plan(timing.quietMs);
  return {
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

async function stop(
  host: Host,
  parts: { scheduling: Scheduling; opened: readonly { close(): Promise<void> }[] },
): Promise<void> {
  await parts.scheduling.stop();
  const grace = setTimeout(() => host.running.cancelAll("drain"), host.timing.drainMs);
  await host.running.idle();
  clearTimeout(grace);
  for (const one of parts.opened.toReversed()) await one.close();
}
