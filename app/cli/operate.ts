// `holdfast doctor` (spec 7.1, 8.3): looks at what Holdfast stands on, then at every invariant of the ledger.
// Repairs nothing; each problem comes with what to do about it.

import { styleText } from "node:util";
import { formatInstant, minuteMs } from "../../policies/durations.ts";
import { Failure } from "../../policies/failure.ts";
import { policyFileName, type PolicyFile } from "../../policies/policy-file.ts";
import { stallingSteps } from "../../policies/tasks.ts";
import { problemLine } from "../../policies/yaml-file.ts";
import { checkGit, type Runner } from "../../runners/runner.ts";
import { violations, type Violation } from "../doctor.ts";
import { openHome, type Home } from "../home.ts";
import { listRepositories, type RepositoryRow } from "../ledger/conversations.ts";
import { proveWritable } from "../ledger/facts.ts";
import { listMandates } from "../ledger/mandates.ts";
import { listProcesses } from "../ledger/shared/processes.ts";
import { schemaVersion } from "../ledger/sqlite/migrations.ts";
import { readManifest } from "../manifest.ts";
import { indent, jsonOf, printable, said, troubleOf, type Ending } from "../notices/terminal.ts";
import { isPostgres, type Settings } from "../settings.ts";
import { appChecks } from "../setup/app-checks.ts";
import { appFileOf } from "../setup/app-file.ts";
import { readAppKeys, type AppKeysDecision } from "../setup/app-keys.ts";
import { good, problem, type Check } from "../setup/check.ts";
import { connectionChecks, reachChecks } from "../setup/connection-checks.ts";
import { isServedBy, processChecks } from "../setup/process-checks.ts";
import { seePolicy, withRunner, type PolicySeen } from "./policy-seen.ts";

/** Exit code 1 where there is a problem; warnings are none. */
export async function doctor(settings: Settings, asked: { json: boolean }): Promise<Ending> {
  const checks = [nodeCheck(), await gitCheck(), ...(await homeChecks(settings))];
  checks.push(...(await githubChecks(settings)), isolation);
  const exitCode = checks.some(({ status }) => status === "problem") ? 1 : 0;
  return said(asked.json ? jsonOf(checks) : doctorText(checks), exitCode);
}

const isolation: Check = {
  check: "isolation",
  status: "warning",
  seen: "tasks run in a process group of their own with a clean environment; this version has no sandbox",
  help: "run it under an account that may do no more than its tasks should",
};

function nodeCheck(): Check {
  const needed = readManifest().engines.node.replace(">=", "");
  const { node } = process.versions;
  if (node.localeCompare(needed, "en", { numeric: true }) >= 0) return good("node", node);
  const seen = `${node}, and ${needed} or newer is needed`;
  return { check: "node", status: "problem", seen, help: "start it with bin/holdfast.js" };
}

async function gitCheck(): Promise<Check> {
  try {
    return good("git", await checkGit());
  } catch (error) {
    return trouble("git", error);
  }
}

function trouble(check: string, error: unknown): Check {
  const { why, help } = troubleOf("", error);
  return { check, status: "problem", seen: why, help };
}

async function homeChecks(settings: Settings): Promise<Check[]> {
  let home: Home;
  try {
    home = await openHome({ settings, mode: "use" });
  } catch (error) {
    const { check, ...told } = trouble("home", error);
    return [{ check, ...told, seen: `${settings.home}: ${told.seen}` }];
  }
  try {
    const checks = [good("home", `${home.folder} is writable`), await ledgerCheck(home, settings)];
    const now = home.ledger.now();
    const processes = await home.ledger.read(listProcesses);
    const isServed = home.holder !== null || isServedBy(processes, now);
    return [
      ...checks,
      ...(settings.redisUrl === null ? [] : [await redisCheck(settings.redisUrl)]),
      holderCheck(home, isServed),
      ...processChecks(processes, now),
      await clockCheck(home, settings),
      ...(await home.ledger.read((sql) => connectionChecks(sql, { now, isServed }))),
      ...(await repositoryChecks(home)),
      ...(await invariantChecks(home, isServed)),
    ];
  } finally {
    await home.close();
  }
}

/** Nothing where no App is set up: then GitHub is not wanted. */
async function githubChecks({ home }: Settings): Promise<Check[]> {
  const check = "github key";
  let decision: AppKeysDecision;
  try {
    decision = readAppKeys(home, process.env);
  } catch (error) {
    return [trouble(check, error)];
  }
  if (!decision.ok) {
    const help = "set what is named, or run `holdfast setup github`";
    return decision.problems.map((seen) => problem(check, seen, help));
  }
  if (decision.keys === null) return [];
  const { HOLDFAST_URL: url = "", PRIVATE_KEY_PATH: keyFile = "" } = process.env;
  const keyFiles = [appFileOf(home), keyFile].filter((file) => file !== "");
  return appChecks({
    keys: decision.keys,
    url: url === "" ? null : url,
    keyFiles,
    now: Date.now,
  });
}

async function ledgerCheck(home: Home, { ledgerUrl }: Settings): Promise<Check> {
  try {
    await home.ledger.write(proveWritable);
    const place = isPostgres(ledgerUrl) ? "PostgreSQL" : ledgerUrl.slice("file:".length);
    return good("ledger", `${place} is writable, schema ${schemaVersion}`);
  } catch (error) {
    return trouble("ledger", error);
  }
}

async function redisCheck(url: string): Promise<Check> {
  const { tryRedis } = await import("../scheduler/bullmq/redis.ts");
  try {
    await tryRedis(url);
    return good("redis", "it answers, and throws nothing away");
  } catch (error) {
    return trouble("redis", error);
  }
}

function holderCheck({ holder }: Home, isServed: boolean): Check {
  if (holder === null && isServed) return good("server", "it runs elsewhere, on the same ledger");
  if (holder === null) {
    const seen = "no process serves this home, so nothing moves on";
    return {
      check: "server",
      status: "warning",
      seen,
      help: "run `holdfast local <repository>` or `holdfast start`",
    };
  }
  if (holder.pid === 0) return good("server", "a process is starting or stopping");
  const { pid, since } = holder;
  return good("server", `process ${pid} serves this home since ${formatInstant(since)}`);
}

/** What was written lies in the past, unless the machine's clock was set back. */
async function clockCheck(home: Home, settings: Settings): Promise<Check> {
  const now = home.ledger.now();
  const latest = await home.ledger.read((sql) => listMandates(sql, { limit: 100 }));
  const last = Math.max(0, ...latest.map(({ changedAt }) => changedAt));
  if (last > now + minuteMs) {
    const seen = `it shows ${formatInstant(now)}, and the ledger was written at ${formatInstant(last)}`;
    return { check: "clock", status: "problem", seen, help: "set the machine's clock right" };
  }
  const { clockAheadMs } = settings.timing;
  if (clockAheadMs === 0) return good("clock", formatInstant(now));
  const seen = `${formatInstant(now)}, set ${clockAheadMs} ms apart by HOLDFAST_TIMING`;
  return { check: "clock", status: "warning", seen, help: "unset it outside of rehearsals" };
}

async function repositoryChecks(home: Home): Promise<Check[]> {
  const rows = await home.ledger.read(listRepositories);
  return withRunner(async (runner) => {
    const checks: Check[] = [];
    for (const row of rows) checks.push(...(await repositoryCheck(runner, row)));
    return checks;
  });
}

async function repositoryCheck(runner: Runner, row: RepositoryRow): Promise<Check[]> {
  if (row.account !== null) return reachChecks(row);
  const check = `repository ${row.name}`;
  try {
    const { id, source, defaultBranch } = row;
    const seen = await seePolicy(runner, { id, source, defaultBranch });
    const reached = good(check, `${row.source} has commits on ${row.defaultBranch}`);
    return [reached, ...policyChecks(row, seen)];
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const told = trouble(check, error);
    return [{ ...told, seen: `${row.source}: ${told.seen}` }];
  }
}

function policyChecks(row: RepositoryRow, seen: PolicySeen): Check[] {
  const check = `policy ${row.name}`;
  const { policy, problems, hasFile, isUncommitted } = seen;
  const checks = problems.map((problem): Check => {
    const help = `mend it on ${row.defaultBranch}; until then the last good one counts`;
    return { check, status: "problem", seen: problemLine(problem), help };
  });
  if (isUncommitted) {
    const what = `${policyFileName} in the working folder differs from the committed one`;
    const help = `commit it on ${row.defaultBranch}: only what is committed there counts`;
    checks.push({ check, status: "warning", seen: what, help });
  }
  if (problems.length === 0) {
    const count = Object.keys(policy.tasks).length;
    const what = hasFile
      ? `${policyFileName} is read, ${count} ${count === 1 ? "task" : "tasks"}`
      : "no file, defaults";
    checks.unshift(good(check, what));
    if (policy.limits.cost === null && policy.limits.tokens === null) checks.push(uncapped(check));
    checks.push(...stallChecks(check, policy));
  }
  return checks;
}

function uncapped(check: string): Check {
  const seen = "neither cost nor tokens has a ceiling";
  return { check, status: "warning", seen, help: "set limits.cost or limits.tokens" };
}

/** A wait that is longer than its looks may show nothing new would surprise whoever wrote it. */
function stallChecks(check: string, policy: PolicyFile): Check[] {
  const { limit } = policy.stall;
  return Object.entries(policy.tasks).flatMap(([name, task]) =>
    stallingSteps(task, limit).map(({ index, looks }): Check => {
      const seen = `step ${index + 1} of ${name} may look ${looks} times, but ${limit} looks in a row that show nothing new block it (stalled)`;
      const help = "make `every` longer or `for` shorter, or raise stall.limit (at most 100)";
      return { check, status: "warning", seen, help };
    }),
  );
}

async function invariantChecks(home: Home, isServed: boolean): Promise<Check[]> {
  const found = await home.ledger.read((sql) => violations(sql, home.ledger.now()));
  if (found.length === 0) return [good("invariants", "every invariant holds")];
  return found.map((violation) => violationCheck(violation, isServed));
}

/** Where nobody serves the home, what is late is no fault of the ledger. */
function violationCheck(
  { invariant, subject, what, todo, isLate }: Violation,
  isServed: boolean,
): Check {
  const status = isLate && !isServed ? "warning" : "problem";
  return { check: `${invariant} ${subject}`, status, seen: what, help: todo };
}

const colours = { good: "green", warning: "yellow", problem: "red" } as const;

function doctorText(checks: readonly Check[]): string {
  const lines = checks.map(({ check, status, seen, help }) => {
    const head = `${styleText(colours[status], status.padEnd(8))} ${printable(`${check}: ${seen}`)}`;
    return help === null
      ? head
      : `${head}\n${indent(`What to do: ${printable(help)}`, " ".repeat(9))}`;
  });
  const count = checks.filter(({ status }) => status === "problem").length;
  const end =
    count === 0 ? "No problem was found." : `${count} ${count === 1 ? "problem" : "problems"}.`;
  return [...lines, "", end].join("\n");
}
