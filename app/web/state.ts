// How a mandate's state is shown (spec 1.1, 1.6, 7.4): word and colour, attempts used up, and the
// commands that fit it as buttons. A button writes the comment a person would write, nothing else.

import { randomUUID } from "node:crypto";
import type { Keyword } from "../../policies/commands/commands.ts";
import { fittingCommands } from "../../policies/mandate/fits.ts";
import type { MandateFacts } from "../notices/facts.ts";
import { html, maybe, type Html, type HtmlValue } from "./html.ts";
import type { View } from "./page.ts";

/** The stored states, what a hold makes of them, and a wait for nothing but a person's answer. */
export const shownStates = [
  "blocked",
  "asking",
  "running",
  "assessing",
  "waiting",
  "queued",
  "held",
  "completed",
  "stopped",
] as const;
export type ShownState = (typeof shownStates)[number];

const words: Readonly<Record<ShownState, string>> = {
  blocked: "Blocked",
  asking: "Needs an answer",
  running: "Running",
  assessing: "Being checked",
  waiting: "Waiting",
  queued: "Queued",
  held: "Held",
  completed: "Completed",
  stopped: "Stopped",
};

export function shownState({ status, hold, wait }: MandateFacts): ShownState {
  if (hold !== null) return "held";
  return status === "waiting" && wait === null ? "asking" : status;
}

/** Only a person can move it on. */
export function needsPerson(facts: MandateFacts): boolean {
  const state = shownState(facts);
  return state === "blocked" || state === "asking";
}

export function wordOf(state: ShownState): string {
  return words[state];
}

export function badge(state: ShownState): Html {
  return html`<span class="badge ${state}">${words[state]}</span>`;
}

/** Attempts in a row that brought nothing new, of those it may have (2.4). */
export function attempts({ counters, ceilings }: MandateFacts): Html {
  const limit = ceilings.stallLimit;
  const text = `${counters.attempts} of ${limit} attempts without anything new`;
  return html`<span class="attempts" title="${text}">
    <meter
      min="0"
      max="${limit}"
      high="${Math.ceil(limit * 0.75)}"
      value="${counters.attempts}"
      aria-label="${text}"
    ></meter>
    <span>${counters.attempts}/${limit}</span>
  </span>`;
}

/** What stopped it, or what it waits for, in the words that were given. */
export function reasonPart({ status, reasonText, wait }: MandateFacts): HtmlValue {
  const text = status === "blocked" ? reasonText : wait?.reason;
  return text === "" ? null : maybe(text, (words) => html`<p class="reason">${words}</p>`);
}

/** Commands that need no more words than a button has; the others have boxes of their own. */
const labels: Readonly<Partial<Record<Keyword, string>>> = {
  check: "Check now",
  continue: "Continue",
  extend: "Extend by 1 day",
  recover: "Recover",
  pause: "Pause",
  resume: "Resume",
  retry: "Ask again",
  stop: "Stop",
};

/** The commands that fit this state as buttons, what helps a blocked one first. */
export function actions(facts: MandateFacts, view: View): Html[] {
  const isBlocked = facts.status === "blocked";
  const idle: Keyword[] = [facts.hold === null ? "resume" : "pause"];
  if (!isBlocked) idle.push("extend");
  return fitting(facts, view)
    .filter((keyword) => !idle.includes(keyword))
    .flatMap((keyword, index) => {
      const label = labels[keyword];
      const tone = isBlocked && index === 0 ? "primary" : "";
      return label === undefined ? [] : [actionForm({ keyword, label, tone }, facts, view)];
    });
}

function actionForm(
  { keyword, label, tone }: { keyword: Keyword; label: string; tone: string },
  { id }: MandateFacts,
  view: View,
): Html {
  const text = `@${view.mention} ${keyword} ${id}${keyword === "extend" ? " 1d" : ""}`;
  return html`<form method="post" action="/m/${id}/comment">
    <input type="hidden" name="key" value="${randomUUID()}" />
    <input type="hidden" name="body" value="${text}" />
    <button class="${tone}" title="Writes the comment “${text}”">${label}</button>
  </form>`;
}

/** Whether what helps is an answer in words. */
export function wantsReply(facts: MandateFacts, view: View): boolean {
  return needsPerson(facts) && fitting(facts, view).includes("reply");
}

/** Where conversations are at their forges, commands are given there. */
function fitting(facts: MandateFacts, { now, repository }: View): Keyword[] {
  if (repository === null) return [];
  return fittingCommands({
    status: facts.status,
    reason: facts.reason,
    wayOut: facts.wayOut,
    isTask: facts.taskName !== null,
    hasArmedWait: facts.wait !== null,
    isExpired: facts.deadlineAt <= now,
  });
}
