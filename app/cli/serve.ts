// `holdfast local` and `holdfast start` (spec 7.1): serve until they are asked to stop, and say what can be tried.

import { styleText } from "node:util";
import { formatDuration } from "../../policies/durations.ts";
import { openLog } from "../log.ts";
import { misused, said, type Ending } from "../notices/terminal.ts";
import { openSecrets } from "../redact.ts";
import { readServerSettings } from "../server-settings.ts";
import { serveLocal, type Serving } from "../serving/local.ts";
import { serveGitHub, type Server } from "../serving/server.ts";
import { work } from "../serving/worker.ts";
import type { SettingsFile } from "../settings-file.ts";
import { isPostgres, type Settings } from "../settings.ts";

/** Resolves when the process was asked to end and everything is saved. */
export async function local(
  settings: Settings,
  { path, port }: { path: string; port: number },
): Promise<void> {
  const secrets = openSecrets();
  const log = openLog(settings.logLevel, secrets);
  const stopping = askedToStop();
  const serving = await serveLocal({ settings, path, port, log, secrets });
  process.stdout.write(greeting(serving, settings.mention));
  await stopping;
  await end(serving, settings);
}

/** Serves GitHub; resolves when the process was asked to end and everything is saved. */
export async function start(
  environment: NodeJS.ProcessEnv,
  asked: { port?: number; workers?: number },
): Promise<Ending> {
  const read = readServerSettings(environment);
  if (!read.ok) {
    const help = "correct what is named";
    return misused("Nothing was started.", read.problems.join("\n    "), help);
  }
  const { settings, file } = read;
  const secrets = openSecrets();
  const stopping = askedToStop();
  const server = await serveGitHub({
    ...read,
    port: asked.port ?? settings.port ?? startPort,
    workers: asked.workers ?? file.workers ?? null,
    log: openLog(settings.logLevel, secrets),
    secrets,
  });
  process.stdout.write(serverGreeting(server, file));
  await stopping;
  await end(server, settings);
  return said("");
}

/** Takes turns from a shared ledger; resolves when the process was asked to end and everything is saved. */
export async function worker(
  environment: NodeJS.ProcessEnv,
  asked: { workers?: number },
): Promise<Ending> {
  const read = readServerSettings(environment);
  const problems = read.ok
    ? isPostgres(read.settings.ledgerUrl)
      ? []
      : ["DATABASE_URL must be the postgres:// address of the servers' ledger"]
    : read.problems;
  if (!read.ok || problems.length > 0) {
    return misused("Nothing was started.", problems.join("\n    "), "correct what is named");
  }
  const { settings, file } = read;
  const secrets = openSecrets();
  const stopping = askedToStop();
  const log = openLog(settings.logLevel, secrets);
  const workers = asked.workers ?? file.workers ?? null;
  const working = await work({ ...read, workers, log, secrets });
  process.stdout.write(workerGreeting(working.slots));
  await stopping;
  await end(working, settings);
  return said("");
}

function workerGreeting(slots: number): string {
  const turns = slots === 1 ? "one turn" : `${slots} turns`;
  return `${styleText("bold", "Holdfast")} takes up to ${turns} at a time from the shared ledger.\nCtrl-C stops it; everything is kept, and other workers go on with it.\n`;
}

/** As Probot's. */
const startPort = 3_000;

/** Listened for from the beginning: whoever asks during the start is obeyed when it is over. */
function askedToStop(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
}

async function end(
  serving: { runningCount(): number; stop(): Promise<void> },
  { timing }: Settings,
): Promise<void> {
  process.stdout.write(farewell(serving.runningCount(), timing.drainMs));
  await serving.stop();
  process.stdout.write("Stopped. Everything is kept and goes on at the next start.\n");
}

function serverGreeting(server: Server, file: SettingsFile): string {
  const { repositories } = file;
  const named =
    repositories.length === 0
      ? "No repository may run tasks yet: name them under `repositories` in settings.yaml."
      : `Tasks may run in ${repositories.join(", ")}.`;
  return [
    `${styleText("bold", "Holdfast")} takes GitHub's webhooks at ${server.webhookUrl}.`,
    "",
    `  ${styleText("cyan", server.url)}`,
    "",
    "Open this address for the pages: it lets you in and nobody else.",
    named,
    "Ctrl-C stops it; everything is kept and goes on at the next start.",
    "",
  ].join("\n");
}

function farewell(count: number, drainMs: number): string {
  if (count === 0) return "\nStopping.\n";
  const turns = count === 1 ? "a running turn" : `${count} running turns`;
  return `\nStopping: ${turns} may take up to ${formatDuration(drainMs)} more, then what it is at is cut off and its files are saved.\n`;
}

function greeting(serving: Serving, mention: string): string {
  const { repository, url, tasks } = serving;
  const lines = [
    `${styleText("bold", "Holdfast")} serves ${repository.source} (default branch ${repository.defaultBranch}).`,
    "",
    `  ${styleText("cyan", url)}`,
    "",
    "Open this address: it lets you in and nobody else. Three things to try:",
    ...thingsToTry(tasks, mention).map((line, index) => `  ${index + 1}. ${line}`),
    "",
    ...notes(serving),
    "Ctrl-C stops it; everything is kept and goes on at the next start.",
    "",
  ];
  return lines.join("\n");
}

function thingsToTry(tasks: readonly string[], mention: string): string[] {
  const [first] = tasks;
  const status = "`npx holdfast status` in another terminal: what is going on.";
  if (first === undefined) {
    return [
      "Open issue #1: it shows the four lines of `.holdfast.yml` that make a first task.",
      `Commit that file and comment \`@${mention} run hello\`.`,
      status,
    ];
  }
  return [
    `Open issue #1 and comment \`@${mention} run ${first}\`.`,
    `Or from another terminal: \`npx holdfast comment 1 "@${mention} run ${first}"\`.`,
    status,
  ];
}

function notes({ isPolicyUncommitted, repository }: Serving): string[] {
  const all = [
    isPolicyUncommitted &&
      "Note: .holdfast.yml differs from the committed one; only the committed one on the default branch counts.",
    repository.hasSubmodules && "Note: submodules stay empty folders in the working copies.",
    repository.hasLargeFiles && "Note: files of Git LFS stay pointer files in the working copies.",
  ].filter((note) => note !== false);
  return all.length === 0 ? [] : [...all, ""];
}
