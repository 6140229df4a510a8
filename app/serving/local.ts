// Local mode (spec 7.1, 8.2): ledger, local forge, scheduler and pages of one repository in one process. Everything that
// must outlive it is in the ledger.

import { defaultPolicy } from "../../policies/policy-file.ts";
import { taskExample } from "../../policies/tasks.ts";
import { problemLine } from "../../policies/yaml-file.ts";
import type { RepositoryFacts } from "../../runners/runner.ts";
import type { Person } from "../forge/forge.ts";
import { openIssue, writeComment } from "../forge/local-writing.ts";
import { openLocalForge } from "../forge/local.ts";
import { operator } from "../forge/operator.ts";
import { hashOf, type Host } from "../host.ts";
import { currentPolicy } from "../intake/policy.ts";
import { repositoryOf, saveRepository } from "../ledger/conversations.ts";
import type { TaskView } from "../web/dashboard.ts";
import { startWeb, type WebOptions } from "../web/routes.ts";
import { diffOf } from "./diff.ts";
import { embeddedDriver } from "./driver.ts";
import { closeAll, slotsHere, withParts, type Parts, type ServingOptions } from "./parts.ts";
import { schedule } from "./scheduling.ts";
import { welcome } from "./welcome.ts";

const self: Person = { id: "2", name: "holdfast", isBot: true };
/** Whoever is on this machine is the owner; nobody else is let in, whatever HOST says. */
const loopback = "127.0.0.1";

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

export interface ServeOptions extends ServingOptions {
  readonly path: string;
}

/** Serves one local repository. Throws Failure: what is missing is named by its code. */
export function serveLocal(options: ServeOptions): Promise<Serving> {
  return withParts(options, (parts) => start(parts, options));
}

async function start(parts: Parts, { path, port }: ServeOptions): Promise<Serving> {
  const { settings, home, runner, opened } = parts;
  const repository = await runner.inspect({ path, id: repositoryId });
  const owner = operator();
  let baseUrl: string | null = null;
  const host = makeHost(parts, { repository, owner, baseUrl: () => baseUrl });
  const web = await startWeb(webOptions(host, parts, { owner, repository, port }));
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
  const { mention } = settings;
  const firstIssue = await welcome(home.ledger, { repository, policy, self, mention });
  const slots = slotsHere();
  const scheduling = schedule(host, { kind: "server", slots, driver: embeddedDriver(host) });
  return {
    url: web.url,
    repository,
    firstIssue,
    tasks,
    isPolicyUncommitted: isUncommitted,
    runningCount: () => host.running.count,
    stop: async () => {
      await scheduling.stop();
      await closeAll(opened);
    },
  };
}

/** Named by its place: the same folder is the same repository at every start. */
function repositoryId(root: string): string {
  return `local-${hashOf(root).slice(0, 12)}`;
}

function nameOf(root: string): string {
  return root.split("/").findLast((part) => part !== "") ?? root;
}

function makeHost(
  parts: Parts,
  here: { repository: RepositoryFacts; owner: Person; baseUrl: () => string | null },
): Host {
  const { home, settings } = parts;
  const { repository, owner, baseUrl } = here;
  const forge = openLocalForge({
    ledger: home.ledger,
    owner,
    self,
    pageOf: (forgeId) => (forgeId === repository.id ? baseUrl() : null),
  });
  return {
    ...parts.host,
    forges: new Map([["local", forge]]),
    webhooks: new Map(),
    mayRun: () => true,
    mention: settings.mention,
    parse: (body) => parts.parse(body, settings.mention),
    recordUrl: (mandateId) => {
      const url = baseUrl();
      return url === null ? null : `${url}/m/${mandateId}`;
    },
  };
}

function webOptions(
  host: Host,
  { home, settings, log }: Parts,
  here: { owner: Person; repository: RepositoryFacts; port: number },
): WebOptions {
  const { ledger } = home;
  const { owner, repository, port } = here;
  return {
    ledger,
    log,
    host: loopback,
    port,
    publicUrl: null,
    token: home.secrets.pageToken,
    mention: () => settings.mention,
    timeZone: settings.timeZone,
    diff: (mandateId) => diffOf(host, mandateId),
    redact: host.redact,
    redis: () => null,
    isHeld: async () => null,
    routes: [],
    local: {
      repository: { id: repository.id, name: nameOf(repository.source) },
      selfId: self.id,
      tasks: () => taskView(host, repository.id),
      write: {
        comment: (comment) =>
          writeComment(ledger, { ...comment, repositoryId: repository.id, author: owner }),
        issue: (issue) =>
          openIssue(ledger, { ...issue, repositoryId: repository.id, author: owner }),
      },
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
