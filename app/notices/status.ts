// The status comment of a mandate, the answer to `status`, and the one sentence for a state (spec 1.1, 1.6).
// Never says how long ago something was: nothing visible may change by itself, so no edit is due.

import { isTerminal } from "../../policies/mandate/mandate.ts";
import { reasons } from "../../policies/reasons.ts";
import { waysOut } from "./blocked.ts";
import type { MandateFacts } from "./facts.ts";
import { listOf, moment, momentIn, paragraphs, recordOf, usageOf } from "./facts.ts";
import { code, link, plain } from "./neutralise.ts";

const shownLimit = 20;
const textLimit = 500;

/** The one comment that is edited in place. It rings for nobody. */
export function statusComment(facts: MandateFacts, mention: string): string {
  const { id, title, anchor } = facts;
  return paragraphs([
    `**Holdfast ${id}**: ${plain(title)}`,
    plain(sentenceFor(facts), textLimit),
    [
      `- Asked by ${plain(anchor.authorName)} in ${link("this comment", anchor.url)}`,
      ...progressOf(facts, mention),
      `- Used: ${usageOf(facts)}`,
      ...(isTerminal(facts.status)
        ? []
        : [`- Deadline: ${momentIn(facts.deadlineAt, facts.timeZone)}`]),
      ...outsideOf(facts).map((line) => `- ${line}`),
      `- ${recordOf(facts)}`,
    ].join("\n"),
    titled("Steps", facts.steps.map(stepLine)),
    titled(
      "Checklist",
      facts.checklist.map(({ text, done }) => `${box(done)} ${plain(text)}`),
    ),
    isTerminal(facts.status)
      ? null
      : `To end it, write \`@${mention} stop ${id}\` in a new comment.`,
  ]);
}

/** The answer to `status`: the mandates given, in their order. */
export function statusAnswer(list: readonly MandateFacts[], mention: string): string {
  if (list.length === 0) {
    return `Nothing was asked of me in this conversation yet. To ask for something, write \`@${mention} do …\` in a new comment.`;
  }
  const count = list.length === 1 ? "1 mandate" : `${list.length} mandates`;
  const more = list.length - shownLimit;
  return paragraphs([
    `${count} in this conversation:`,
    ...list.slice(0, shownLimit).map((facts) => summaryOf(facts, mention)),
    more > 0 ? `${more} more are not shown; \`@${mention} status <id>\` shows one of them.` : null,
  ]);
}

/** One plain sentence for the state as it is shown, held included. No Markdown, times in UTC. */
export function sentenceFor(facts: MandateFacts): string {
  const { status, hold, wait } = facts;
  if (hold !== null && ["queued", "assessing", "waiting"].includes(status))
    return heldSentence(hold);
  switch (status) {
    case "queued":
      return facts.counters.turns === 0
        ? "It is accepted and its first turn is next."
        : "Its next turn is planned.";
    case "running":
      return facts.phase === null
        ? "A turn is running."
        : `A turn is running: ${facts.phase.replace("-", " ")}.`;
    case "assessing":
      return "Its last turn has ended, and an independent check of it is due.";
    case "waiting":
      return wait === null
        ? "It has asked a person and waits for the answer; no wake-up is registered."
        : `It waits, looks again at ${moment(wait.dueAt)} and gives up at ${moment(wait.deadlineAt)}.`;
    case "blocked":
      return facts.reason === null
        ? "It is blocked and needs a person."
        : `It is blocked and needs a person: ${reasons[facts.reason].sentence} (${facts.reason}).`;
    case "completed":
      return `It was finished${endOf(facts)}.`;
    case "stopped":
      return `It was stopped${endOf(facts)}; nothing of it goes on.`;
  }
}

function heldSentence({ reason, byName, at }: NonNullable<MandateFacts["hold"]>): string {
  if (reason === "paused") {
    const name = byName === "" ? "a person" : byName;
    return `It is held: ${name} paused it at ${moment(at)}; the command resume lets it go on.`;
  }
  return `It is held since ${moment(at)}: ${reasons[reason].sentence} (${reason}); it goes on by itself after that.`;
}

function endOf({ endedAt }: MandateFacts): string {
  return endedAt === null ? "" : ` at ${moment(endedAt)}`;
}

function progressOf(facts: MandateFacts, mention: string): string[] {
  const { status, nextStep, nextStepBy, wait, reasonText, taskName } = facts;
  const lines: string[] = [];
  if (taskName !== null) lines.push(`- Task: ${code(taskName)}`);
  if (status === "blocked" && reasonText !== null)
    lines.push(`- Why: ${plain(reasonText, textLimit)}`);
  if (status === "blocked" || (status === "waiting" && wait === null)) {
    const commands = waysOut(facts).map(({ command }) => `\`@${mention} ${command}\``);
    if (commands.length > 0) lines.push(`- What helps: ${commands.join(" or ")} in a new comment`);
  }
  if (status === "waiting" && wait !== null) {
    lines.push(`- Waits for: ${plain(wait.reason, textLimit)}`);
  }
  if (!isTerminal(status) && nextStep !== "") {
    lines.push(`- Next step (from the ${nextStepBy}): ${plain(nextStep, textLimit)}`);
  }
  return lines;
}

/** What of the mandate exists on the forge, and what it builds on there. */
export function outsideOf({ head, branch, publishedCommit, pull }: MandateFacts): string[] {
  const lines: string[] = [];
  if (head !== null) {
    const place = `Works on the head of #${head.pull}, commit ${code(head.commit.slice(0, 12))}`;
    const where = `its branch cannot be pushed to, so the result goes to ${code(branch)}`;
    lines.push(head.mayPush ? place : `${place}; ${where}`);
  }
  if (publishedCommit !== null) {
    const name = head?.mayPush === true ? head.branch : branch;
    lines.push(`Branch ${code(name)} at commit ${code(publishedCommit.slice(0, 12))}`);
  }
  if (pull !== null) lines.push(`Pull request ${link(`#${pull.number}`, pull.url)}`);
  return lines;
}

function titled(title: string, lines: readonly string[]): string | null {
  const list = listOf(lines);
  return list === null ? null : `${title}:\n\n${list}`;
}

function stepLine({ title, state }: MandateFacts["steps"][number]): string {
  const isDone = state === "succeeded";
  return `${box(isDone)} ${code(title)}${isDone ? "" : ` (${plain(state)})`}`;
}

function box(isDone: boolean): string {
  return isDone ? "☑" : "☐";
}

function summaryOf(facts: MandateFacts, mention: string): string {
  return [
    `**${facts.id}**: ${link(facts.title, facts.anchor.url)}`,
    `- ${plain(sentenceFor(facts), textLimit)}`,
    ...progressOf(facts, mention),
    `- Used: ${usageOf(facts)}`,
    ...(isTerminal(facts.status)
      ? []
      : [`- Deadline: ${momentIn(facts.deadlineAt, facts.timeZone)}`]),
    ...outsideOf(facts).map((line) => `- ${line}`),
    `- ${recordOf(facts)}`,
  ].join("\n");
}
