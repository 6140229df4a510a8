// `holdfast explain` (spec 7.1, 7.3): a dry run of a comment. Says how it is read, who might run it and what would
// happen, with the rules that intake uses. Nothing happens: it opens no ledger and keeps nothing.

import { styleText } from "node:util";
import { stricter, type Level } from "../../policies/authority.ts";
import {
  commandTable,
  type Command,
  type CommandError,
  type ParsedComment,
} from "../../policies/commands/commands.ts";
import { resolveDeadline, type Deadline } from "../../policies/commands/deadline.ts";
import { formatDuration } from "../../policies/durations.ts";
import { Failure } from "../../policies/failure.ts";
import {
  defaultPolicy,
  permissionFor,
  policyFileName,
  taskNamed,
} from "../../policies/policy-file.ts";
import { checkInputs, stepLabel } from "../../policies/tasks.ts";
import { problemLine } from "../../policies/yaml-file.ts";
import { openParser } from "../intake/parser.ts";
import { momentIn } from "../notices/facts.ts";
import { refusalNotice, type Refusal } from "../notices/refusal.ts";
import {
  indent,
  jsonOf,
  lineOf,
  printable,
  said,
  troubleOf,
  type Ending,
} from "../notices/terminal.ts";
import type { Settings } from "../settings.ts";
import { seePolicy, withRunner, type PolicySeen } from "./policy-seen.ts";

export interface Explained {
  readonly body: string;
  /** Where its repository is looked for: a path in a repository. */
  readonly repo: string | undefined;
  readonly json: boolean;
  readonly now: number;
}

/** Exit code 1 where the comment has errors: nothing of it would run. */
export async function explain(settings: Settings, asked: Explained): Promise<Ending> {
  const parsed = await parse(asked.body, settings.mention);
  const policy = await policyAt(asked.repo);
  if ("ok" in policy) return policy;
  const { commands, errors } = parsed;
  const exitCode = errors.length === 0 ? 0 : 1;
  if (asked.json) {
    const read = commands.map((command) => {
      const { line, name, args, text } = command;
      return { line, name, args, text, needs: neededFor(command, policy).level };
    });
    return said(jsonOf({ commands: read, errors }), exitCode);
  }
  const view = { settings, policy, now: asked.now };
  const parts = [
    ...commands.map((command) => commandText(command, view)),
    ...errors.map(errorText),
    ...(commands.length + errors.length === 0 ? [withoutCommand(parsed, settings.mention)] : []),
    ...parsed.notes.map((note) => `Note: ${printable(note)}.`),
    ...policyNotes(policy),
    ...(errors.length > 0 ? ["All commands of a comment run, or none: here none would."] : []),
  ];
  return said(parts.join("\n\n"), exitCode);
}

async function parse(body: string, mention: string): Promise<ParsedComment> {
  const parser = openParser();
  try {
    const parsing = await parser.parse(body, { mention });
    if (parsing.ok) return parsing.comment;
    const problem = "this comment takes too long to read";
    const suggestion = "write the command in a short comment of its own";
    const errors = [{ line: 1, problem, suggestion }];
    return { commands: [], errors, mention: null, notes: [] };
  } finally {
    await parser.close();
  }
}

interface PolicyHere extends PolicySeen {
  /** False where the defaults stand in, because no repository is here to be read. */
  readonly isRead: boolean;
}

/** The policy file of the repository around a path; a path that was named must lead to one. */
async function policyAt(
  repo: string | undefined,
): Promise<PolicyHere | Extract<Ending, { ok: false }>> {
  try {
    return await withRunner(async (runner) => {
      const repository = await runner.inspect({ path: repo ?? ".", id: () => "explained" });
      return { ...(await seePolicy(runner, repository)), isRead: true };
    });
  } catch (error) {
    if (repo !== undefined || !(error instanceof Failure)) {
      return troubleOf("The repository could not be read.", error);
    }
    const nothing = { problems: [], hasFile: false, isUncommitted: false };
    return { ...nothing, policy: defaultPolicy, isRead: false };
  }
}

interface Needed {
  readonly level: Level;
  readonly users: readonly number[] | null;
}

/** The level after the policy file and the task had their say. */
function neededFor(command: Command, { policy }: PolicyHere): Needed {
  const { level, users } = permissionFor(command, policy);
  const task = command.name === "run" ? taskNamed(policy, command.args.task) : null;
  return { level: stricter(level, task?.needs ?? "none"), users };
}

interface View {
  readonly settings: Settings;
  readonly policy: PolicyHere;
  readonly now: number;
}

function commandText(command: Command, view: View): string {
  const { line, name, text } = command;
  const { level, users } = neededFor(command, view.policy);
  const only = users === null ? "" : `, and only the accounts ${users.join(", ")}`;
  const args = Object.entries(command.args).filter(([, value]) => value !== null);
  const words = args.map(([key, value]) => {
    return `${key} ${typeof value === "string" ? value : JSON.stringify(value)}`;
  });
  return [
    styleText("bold", `Line ${line}: ${lineOf(text === "" ? name : text)}`),
    `  Read as: ${lineOf([name, ...words].join(", "), 500)}`,
    `  Who may: ${level === "admin" ? "admin" : `${level} and above`}${only}`,
    `  What would happen: ${indent(printable(effectOf(command, view))).trim()}`,
  ].join("\n");
}

function effectOf(command: Command, view: View): string {
  const { settings, policy } = view;
  const rows = commandTable.filter((row) => row.keyword === command.name);
  const { mention } = settings;
  if (!rows.some((row) => row.inVersion)) {
    return refused({ kind: "not-in-version", keyword: command.name }, mention);
  }
  if (["do", "run", "retry"].includes(command.name) && policy.problems.length > 0) {
    return `The policy file has errors: the last good one would count, and nothing would start where there never was one.`;
  }
  if (command.name === "run") return runEffect(command, view);
  if (command.name === "do") return requestEffect(command, view);
  return [...new Set(rows.map((row) => row.effect))].join(", or ");
}

function refused(refusal: Refusal, mention: string): string {
  return `the answer would be:\n${refusalNotice(refusal, mention)}`;
}

function runEffect(command: Extract<Command, { name: "run" }>, view: View): string {
  const { policy, mention } = { policy: view.policy.policy, mention: view.settings.mention };
  const { task: name, inputs, deadline } = command.args;
  const task = taskNamed(policy, name);
  if (task === null) {
    if (!view.policy.isRead) return `a mandate for the task ${name}, if the repository declares it`;
    const tasks = Object.keys(policy.tasks);
    return refused({ kind: "unknown-task", task: name, tasks }, mention);
  }
  const checked = checkInputs(task, inputs);
  if (!checked.ok) {
    const { problems } = checked;
    return refused({ kind: "wrong-inputs", task: name, problems }, mention);
  }
  const steps = task.steps.map((step, index) => `${index + 1}. ${lineOf(stepLabel(step))}`);
  return [`a mandate for the task ${name}${deadlineText(deadline, view)}`, ...steps].join("\n");
}

function requestEffect(command: Extract<Command, { name: "do" }>, view: View): string {
  const { settings, policy } = view;
  const { explicit, deadline, grant } = command.args;
  if (grant !== null && !Object.hasOwn(policy.policy.grants, grant)) {
    return `it is refused: the policy file has no grant ${grant}`;
  }
  const made =
    settings.script === null
      ? refused({ kind: "no-agent", tasks: Object.keys(policy.policy.tasks) }, settings.mention)
      : `a mandate${deadlineText(deadline, view)}`;
  if (explicit) return made;
  return `an answer, where exactly one mandate of the conversation asks a person; else:\n${made}`;
}

function deadlineText(deadline: Deadline | null, { settings, policy, now }: View): string {
  const { deadlineMs, deadlineMsLimit } = policy.policy.limits;
  const { timeZone } = settings;
  const at = deadline === null ? now + deadlineMs : resolveDeadline(deadline, { now, timeZone });
  if (at === null || at <= now) return ": refused, because its deadline has passed already";
  if (at > now + deadlineMsLimit) {
    return `: refused, because its deadline is beyond the maximum of ${formatDuration(deadlineMsLimit)}`;
  }
  return `, with the deadline ${momentIn(at, timeZone)}`;
}

function errorText({ line, problem, suggestion }: CommandError): string {
  const head = styleText("bold", `Line ${line}: ${lineOf(problem, 500)}`);
  return `${head}\n  What fits: ${lineOf(suggestion, 500)}`;
}

function withoutCommand({ mention }: ParsedComment, name: string): string {
  return mention === null
    ? `There is no command in it: a line begins with @${name} or /holdfast, outside of code, quotes, lists and headings.`
    : "There is no command in it. It is an answer, where exactly one mandate of the conversation asks a person.";
}

function policyNotes({ isRead, hasFile, isUncommitted, problems }: PolicyHere): string[] {
  if (!isRead) return ["No repository was found here (--repo <path>), so the defaults are shown."];
  return [
    ...(isUncommitted
      ? [`Note: ${policyFileName} is not committed as it is; only the committed one counts.`]
      : []),
    ...(hasFile || isUncommitted ? [] : [`There is no ${policyFileName}, so the defaults count.`]),
    ...problems.map((problem) => printable(problemLine(problem))),
  ];
}
