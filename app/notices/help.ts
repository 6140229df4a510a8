// The answer to `help` (spec 1.4): the commands that this person may use here, from the one command table.
// Never lists what the caller did not find permitted.

import type { CommandRow } from "../../policies/commands/commands.ts";
import { listOf, paragraphs } from "./facts.ts";
import { code } from "./neutralise.ts";

export interface TaskHelp {
  readonly name: string;
  readonly inputs: readonly string[];
}

/** `allowed`: rows of the command table this person may use; `tasks`: those they may run. */
export function helpNotice(
  allowed: readonly CommandRow[],
  tasks: readonly TaskHelp[],
  mention: string,
): string {
  const rows = allowed.filter((row) => row.inVersion);
  if (rows.length === 0) return "There is no command that you may use here.";
  return paragraphs([
    "Begin a line of a new comment with one of these. You may use them here:",
    [
      "| command | what it does | example |",
      "| --- | --- | --- |",
      ...rows.map(
        ({ form, effect, example }) =>
          `| \`@${mention} ${form}\` | ${effect} | \`@${mention} ${example}\` |`,
      ),
    ].join("\n"),
    tasksOf(tasks, mention),
    "`<…>` is needed and `[…]` may be left out. Words that are no command count as a request.",
    "Durations are written `90s`, `30m`, `6h`, `3d` or `1h30m`. A comment that was edited starts nothing.",
  ]);
}

function tasksOf(tasks: readonly TaskHelp[], mention: string): string | null {
  if (tasks.length === 0) return null;
  const lines = tasks.map(({ name, inputs }) =>
    code([`@${mention} run ${name}`, ...inputs.map((key) => `${key}=…`)].join(" ")),
  );
  return `Tasks of this repository:\n\n${listOf(lines)}`;
}
