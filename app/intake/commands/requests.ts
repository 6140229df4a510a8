// Commands that make a mandate: `do`, `run`, `retry` (spec 1.2-1.4, 5.6). The anchor is stored before anything starts,
// and the 👀 and the status comment go into the outbox in the same transaction.

import { isAtLeast, stricter } from "../../../policies/authority.ts";
import type { Command } from "../../../policies/commands/commands.ts";
import { resolveDeadline, type Deadline } from "../../../policies/commands/deadline.ts";
import { formatDuration } from "../../../policies/durations.ts";
import {
  isTerminal,
  type Ceilings,
  type MandateId,
  type TaskState,
} from "../../../policies/mandate/mandate.ts";
import {
  grantNamed,
  permissionFor,
  taskNamed,
  type PolicyFile,
} from "../../../policies/policy-file.ts";
import {
  beginTask,
  checkInputs,
  stepLabel,
  stepNeeds,
  type Task,
  taskExample,
} from "../../../policies/tasks.ts";
import { hashOf } from "../../host.ts";
import { record } from "../../ledger/history.ts";
import { addEntry } from "../../ledger/inbox.ts";
import type { Sql, Tx } from "../../ledger/ledger.ts";
import {
  addMandate,
  findAnchor,
  findMandate,
  mandatesIn,
  type Anchor,
  type MandateRow,
  type NewMandate,
  type PinnedHead,
} from "../../ledger/mandates.ts";
import { touchStatus } from "../../ledger/outbox.ts";
import { answerNotice } from "../../notices/answers.ts";
import { refusalNotice, type Refusal } from "../../notices/refusal.ts";
import { react } from "../../turn/checkpoint.ts";
import { stopMandate } from "../../turn/stop.ts";
import type { Accepted } from "../texts.ts";
import type { Outcome } from "./commands.ts";
import { control, misfit } from "./controls.ts";

type Making = Extract<Command, { name: "do" | "run" | "retry" }>;

/** What is to be made, once nothing speaks against it. */
type Plan =
  | { readonly ok: true; readonly work: Work; readonly deadline: Deadline | null }
  | { readonly ok: false; readonly refusal: Refusal };

interface Work {
  readonly title: string;
  readonly nextStep: string;
  readonly task: TaskState | null;
  readonly grant: NewMandate["grant"];
}

export async function request(tx: Tx, accepted: Accepted, command: Making): Promise<Outcome> {
  const { host, policy, policyState } = accepted;
  if (policyState.isUnusable) {
    return refuse(accepted, { kind: "policy-invalid", problems: policyState.faults });
  }
  if (command.name === "retry") return retry(tx, accepted, command.args.id);
  if (command.name === "do" && !command.args.explicit) {
    const answered = await asAnswer(tx, accepted, command);
    if (answered !== null) return answered;
  }
  const plan =
    command.name === "do" ? planRequest(accepted, command) : planTask(accepted, command, policy);
  if (!plan.ok) return refuse(accepted, plan.refusal);
  const forbidden = runRefusal(accepted, plan.work);
  if (forbidden !== null) return refuse(accepted, forbidden);
  const time = deadlineAt(plan.deadline, { policy, now: tx.now, timeZone: host.timeZone });
  if (!time.ok) return refuse(accepted, time.refusal);
  const id = await make(tx, accepted, {
    work: plan.work,
    deadlineAt: time.at,
    anchor: anchorOf(accepted, command.text),
  });
  return { mandateId: id, say: null };
}

function refuse(accepted: Accepted, refusal: Refusal): Outcome {
  return { mandateId: null, say: refusalNotice(refusal, accepted.host.mention) };
}

/** Mandates of a conversation that ask a person: plain waits and blocks by an agent (1.3). */
export async function findAsking(sql: Sql, conversationId: string): Promise<MandateRow[]> {
  const unfinished = await mandatesIn(sql, conversationId);
  return unfinished.filter(
    (mandate) =>
      (mandate.status === "waiting" && mandate.noticeKey !== null) ||
      (mandate.status === "blocked" && mandate.reason === "agent-blocked"),
  );
}

/** Words without a keyword are an answer where exactly one mandate asks; with several the bot asks, never guesses. */
async function asAnswer(
  tx: Tx,
  accepted: Accepted,
  command: Extract<Command, { name: "do" }>,
): Promise<Outcome | null> {
  const asking = await findAsking(tx, accepted.conversation.id);
  const [only] = asking;
  if (only === undefined) return null;
  if (asking.length > 1) return refuse(accepted, { kind: "which-mandate", candidates: asking });
  return control(tx, accepted, { ...command, name: "reply", args: { id: only.id } });
}

function planRequest(accepted: Accepted, command: Extract<Command, { name: "do" }>): Plan {
  const { host, policy } = accepted;
  if (host.script === null) {
    return { ok: false, refusal: { kind: "no-agent", tasks: taskNames(policy) } };
  }
  const { grant, deadline } = command.args;
  const text = grant === null ? null : grantNamed(policy, grant);
  if (grant !== null && text === null) {
    const problem = `there is no grant \`${grant}\` in the policy file`;
    const suggestion = `one of ${Object.keys(policy.grants).join(", ") || "none"}`;
    const errors = [{ line: command.line, problem, suggestion }];
    return { ok: false, refusal: { kind: "unparsable", errors } };
  }
  const title = firstLine(command.text);
  const work: Work = {
    title,
    nextStep: `begin: ${title}`,
    task: null,
    grant: grant === null || text === null ? null : { name: grant, text },
  };
  return { ok: true, work, deadline };
}

const titleLimit = 100;

function firstLine(text: string): string {
  const line = text.trim().split("\n")[0]?.trim() ?? "";
  return line.length > titleLimit ? `${line.slice(0, titleLimit - 1)}…` : line;
}

function planTask(
  accepted: Accepted,
  command: Extract<Command, { name: "run" }>,
  policy: PolicyFile,
): Plan {
  const { task: name, inputs, deadline } = command.args;
  const task = taskNamed(policy, name);
  if (task === null) return { ok: false, refusal: unknownTask(accepted, name) };
  const refusal = taskRefusal(accepted, { name, task });
  if (refusal !== null) return { ok: false, refusal };
  const checked = checkInputs(task, inputs);
  if (!checked.ok) {
    return { ok: false, refusal: { kind: "wrong-inputs", task: name, problems: checked.problems } };
  }
  return { ok: true, work: taskWork({ name, task, inputs: checked.values }), deadline };
}

/** A task that is not in force may stand in a file that is not: the person is told of that one. */
function unknownTask({ policy, policyState }: Accepted, task: string): Refusal {
  const { faults, isUncommitted } = policyState;
  if (faults.length > 0) return { kind: "policy-invalid", problems: faults };
  return { kind: "unknown-task", task, tasks: taskNames(policy), isUncommitted };
}

function taskRefusal(
  accepted: Accepted,
  { name, task }: { name: string; task: Task },
): Refusal | null {
  const { level: asked } = permissionFor({ name: "run", needs: "write" }, accepted.policy);
  const needs = stricter(asked, task.needs);
  if (!isAtLeast(accepted.level, needs)) {
    return { kind: "not-permitted", keyword: "run", needs, has: accepted.level };
  }
  const secrets = task.steps.flatMap((step) => stepNeeds(task, step).secrets);
  if (secrets.length === 0) return null;
  const problems = [...new Set(secrets)].map(
    (secret) => `it asks for the secret ${secret}, which this installation grants to no task`,
  );
  return { kind: "wrong-inputs", task: name, problems };
}

function taskWork(given: {
  name: string;
  task: Task;
  inputs: Readonly<Record<string, string>>;
}): Work {
  const { name, task, inputs } = given;
  const words = Object.entries(inputs).map(([key, value]) => `${key}=${value}`);
  const [first] = task.steps;
  return {
    title: firstLine(["run", name, ...words].join(" ")),
    nextStep: `run step 1 of ${name}${first === undefined ? "" : `: ${stepLabel(first)}`}`,
    task: { name, task, inputs, progress: beginTask(task) },
    grant: null,
  };
}

function taskNames(policy: PolicyFile): string[] {
  return Object.entries(policy.tasks).map(([name, task]) => taskExample(name, task));
}

type Time =
  | { readonly ok: true; readonly at: number }
  | { readonly ok: false; readonly refusal: Refusal };

/** Never clamped: a deadline beyond the maximum is refused with the maximum (1.4). */
function deadlineAt(
  deadline: Deadline | null,
  given: { policy: PolicyFile; now: number; timeZone: string },
): Time {
  const { policy, now } = given;
  const { deadlineMs, deadlineMsLimit } = policy.limits;
  const at = deadline === null ? now + deadlineMs : resolveDeadline(deadline, given);
  if (at === null || at <= now) {
    const errors = [
      {
        line: 1,
        problem: "this deadline has passed already",
        suggestion: "a later one, or `within 3d`",
      },
    ];
    return { ok: false, refusal: { kind: "unparsable", errors } };
  }
  if (at > now + deadlineMsLimit) {
    const maximum = formatDuration(deadlineMsLimit);
    return { ok: false, refusal: { kind: "beyond-maximum", what: "this deadline", maximum } };
  }
  return { ok: true, at };
}

function anchorOf(accepted: Accepted, words: string): Anchor {
  const { text, author, level } = accepted;
  return {
    text: words,
    commentKind: text.kind,
    commentId: text.kind === "operator" ? "" : text.id,
    commentUrl: text.url,
    authorId: author.id,
    authorName: author.name,
    permission: level,
    bodyHash: hashOf(text.body),
  };
}

function ceilingsOf(policy: PolicyFile): Ceilings {
  const { turns, tokens, cost, turnWallMs } = policy.limits;
  const { limit: stallLimit, thinkLimit } = policy.stall;
  return { turns, tokens, cost, turnWallMs, stallLimit, thinkLimit };
}

async function make(
  tx: Tx,
  accepted: Accepted,
  made: { work: Work; deadlineAt: number; anchor: Anchor },
): Promise<MandateId> {
  const { host, conversation, policy, author } = accepted;
  const { work, anchor } = made;
  const mandate: NewMandate = {
    conversationId: conversation.id,
    kind: work.task === null ? "request" : "task",
    title: work.title,
    nextStep: work.nextStep,
    nextStepBy: "host",
    deadlineAt: made.deadlineAt,
    deadlineMaxAt: tx.now + policy.limits.deadlineMsLimit,
    ceilings: ceilingsOf(policy),
    task: work.task,
    grant: work.grant,
    policy,
    actorId: author.id,
    actorName: author.name,
    pinnedHead: headFor(accepted, work.task),
  };
  const id = await addMandate(tx, mandate, { anchor, random: host.random });
  await addEntry(tx, {
    mandateId: id,
    conversationId: conversation.id,
    kind: "request",
    availableAt: tx.now,
    lastRanAt: 0,
  });
  await record(tx, "accepted", { mandateId: id, facts: { title: work.title, by: author.name } });
  await react(tx, { id, conversationId: conversation.id }, "eyes");
  await touchStatus(tx, { id, conversationId: conversation.id }, host.timing.statusThrottleMs);
  return id;
}

/** What the operator's settings do not let run in this repository, or on this head (5.7). */
function runRefusal(accepted: Accepted, { task }: Work): Refusal | null {
  const isFork = headFor(accepted, task)?.isFork ?? false;
  const mayRun = accepted.host.mayRun(accepted.repository, { isFork });
  return mayRun ? null : { kind: "may-not-run", isFork };
}

/** What is asked in a pull request works on its head, pinned now; a task only where it says so (1.5, 5.6). */
function headFor({ pull, policy }: Accepted, task: TaskState | null): PinnedHead | null {
  if (pull === null || (task !== null && task.task.on !== "head")) return null;
  const { number, headCommit, headBranch, baseBranch, isFork, isHeadProtected, state } = pull;
  const mayPush = policy.publish.to === "head" && state === "open" && !isFork && !isHeadProtected;
  return { pull: number, commit: headCommit, branch: headBranch, baseBranch, isFork, mayPush };
}

/** A new mandate with the old anchor; a blocked one is stopped first, a live one refuses (1.6). */
async function retry(tx: Tx, accepted: Accepted, id: string): Promise<Outcome> {
  const { host, conversation, policy } = accepted;
  const old = await findMandate(tx, id);
  const anchor = await findAnchor(tx, id);
  if (old === undefined || anchor === undefined || old.conversationId !== conversation.id) {
    const candidates = await mandatesIn(tx, conversation.id, { all: true });
    return refuse(accepted, { kind: "unknown-id", id, candidates });
  }
  if (!isTerminal(old.status) && old.status !== "blocked") {
    return misfit(tx, accepted, { mandate: old, keyword: "retry", command: null });
  }
  const work = workAgain(accepted, old);
  if ("kind" in work) return refuse(accepted, work);
  const forbidden = runRefusal(accepted, work);
  if (forbidden !== null) return refuse(accepted, forbidden);
  const stopsOld = old.status === "blocked";
  if (stopsOld) await stopMandate(tx, host, { mandate: old, byName: accepted.author.name });
  const newId = await make(tx, accepted, {
    work,
    anchor: {
      ...anchor,
      commentKind: accepted.text.kind,
      commentId: anchorOf(accepted, "").commentId,
    },
    deadlineAt: tx.now + policy.limits.deadlineMs,
  });
  const say = answerNotice({ kind: "retried", id, newId, stopsOld }, host.mention);
  return { mandateId: newId, say };
}

/** The same request today: a task as it is declared now. */
function workAgain(accepted: Accepted, old: MandateRow): Work | Refusal {
  const { policy } = accepted;
  const { title, grant, task } = old;
  if (task === null) return { title, nextStep: `begin: ${title}`, task: null, grant };
  const declared = taskNamed(policy, task.name);
  if (declared === null) return unknownTask(accepted, task.name);
  const refusal = taskRefusal(accepted, { name: task.name, task: declared });
  if (refusal !== null) return refusal;
  const checked = checkInputs(declared, task.inputs);
  if (!checked.ok) return { kind: "wrong-inputs", task: task.name, problems: checked.problems };
  return taskWork({ name: task.name, task: declared, inputs: checked.values });
}
