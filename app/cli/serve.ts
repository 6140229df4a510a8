// `holdfast local` (spec 7.1): serves one local repository until it is asked to stop, and says what can be tried.

import { styleText } from "node:util";
import { formatDuration } from "../../policies/durations.ts";
import { openLog } from "../log.ts";
import { serveLocal, type Serving } from "../serving.ts";
import type { Settings } from "../settings.ts";

/** Resolves when the process was asked to end and everything is saved. */
export async function local(settings: Settings, path: string): Promise<void> {
  const log = openLog(settings.logLevel, []);
  // Listened for from the beginning: whoever asks during the start is obeyed when it is over.
  const asked = new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
  const serving = await serveLocal({ settings, path, log });
  process.stdout.write(greeting(serving, settings.mention));
  await asked;
  process.stdout.write(farewell(serving.runningCount(), settings.timing.drainMs));
  await serving.stop();
  process.stdout.write("Stopped. Everything is kept and goes on at the next start.\n");
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
