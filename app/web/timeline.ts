// The timeline of a record (spec 7.4): turns with what was run and what came of it, waits, messages
// and every other line of history, the latest first. Tells what was recorded, nothing more.

import { z } from "zod";
import type { TurnEnd } from "../../policies/mandate/mandate.ts";
import type { Settlement } from "../../policies/mandate/settlement.ts";
import { notYetExitCode } from "../../policies/tasks.ts";
import type { EvidenceRow, EventRow } from "../ledger/history.ts";
import type { MessageRow } from "../ledger/outbox.ts";
import type { ToolCallRow, TurnRow } from "../ledger/turns.ts";
import type { WaitRow } from "../ledger/waits.ts";
import { html, maybe, type Html } from "./html.ts";
import { renderMarkdown } from "./markdown.ts";
import { instant, span, type View } from "./page.ts";

export interface Past {
  readonly turns: readonly { readonly turn: TurnRow; readonly calls: readonly ToolCallRow[] }[];
  readonly evidence: readonly EvidenceRow[];
  readonly waits: readonly WaitRow[];
  readonly messages: readonly MessageRow[];
  readonly events: readonly EventRow[];
}

interface Moment {
  readonly at: number;
  readonly part: Html;
}

/** The latest comes first: it is what a person came for. */
export function timeline(past: Past, view: View): Html {
  const moments: Moment[] = [
    ...past.turns.map((one) => ({
      at: one.turn.startedAt,
      part: turnPart(one, { past, view }),
    })),
    ...past.waits.map((wait) => ({ at: wait.createdAt, part: waitPart(wait, view) })),
    ...past.messages.map((message) => ({ at: message.createdAt, part: messagePart(message) })),
    ...past.events
      .filter(({ kind }) => !shownElsewhere.has(kind))
      .map((event) => ({ at: event.at, part: eventPart(event) })),
  ];
  const sorted = moments.toSorted((one, other) => other.at - one.at);
  return html`<ol class="timeline">
    ${sorted.map(
      ({ at, part }) =>
        html`<li>
          <div class="at">${instant(at, view)}</div>
          <div class="what">${part}</div>
        </li>`,
    )}
  </ol>`;
}

/** Events whose facts a turn, a wait or a message shows in full. */
const shownElsewhere: ReadonlySet<string> = new Set([
  "turn-started",
  "turn-settled",
  "wait-registered",
]);

const causes: Readonly<Record<TurnRow["cause"], string>> = {
  request: "new request",
  reply: "a person's reply",
  continue: "continued by a person",
  recover: "granted recovery",
  publish: "publishing",
  "child-result": "result of a child",
  recheck: "recheck of a wait",
  continuation: "continuation",
};

function turnPart(
  { turn, calls }: Past["turns"][number],
  { past, view }: { past: Past; view: View },
): Html {
  const found = past.evidence.filter(({ turnId }) => turnId === turn.id);
  const took = Math.round(((turn.endedAt ?? view.now) - turn.startedAt) / 1_000);
  const reported = turn.report === null ? "" : `, reported ${turn.report.kind}`;
  return html`<h3 id="turn-${turn.number}">
      Turn ${turn.number} <span class="quiet">${causes[turn.cause]}</span>
    </h3>
    <p>
      ${turn.endedAt === null ? `Running (${turn.phase})` : endWords(turn.end)}
      <span class="quiet">${span(took, 2)}${reported}</span>
    </p>
    ${maybe(turn.settlement, nextPart)} ${calls.map((call) => callPart(turn, call))}
    <ul class="evidence">
      ${found.map(evidencePart)} ${receiptPart(turn, found)}
    </ul>
    ${folded(`reply-${turn.number}`, "Final text", turn.reply)}`;
}

function nextPart({ status, reason, nextStep }: Settlement): Html {
  const step = nextStep === "" ? "" : `, ${nextStep}`;
  return html`<p>Next: ${status}${maybe(reason, (code) => html` <code>${code}</code>`)}${step}</p>`;
}

function evidencePart({ kind, hash, credited }: EvidenceRow): Html {
  const worth = credited === 1 ? html`<strong>new evidence</strong>` : "entered, not credited";
  return html`<li>${kind} <code>${hash.slice(0, 12)}</code> ${worth}</li>`;
}

/** A text of many lines that is opened when it is wanted. */
function folded(id: string, title: string, text: string | null): Html | null {
  if (text === null || text === "") return null;
  return html`<details id="${id}">
    <summary>${title}</summary>
    <div class="prose">${renderMarkdown(text)}</div>
  </details>`;
}

function endWords(end: TurnEnd | null): string {
  if (end === null) return "Cut off";
  switch (end.kind) {
    case "completed":
      return "Ended normally";
    case "cancelled":
      return `Cancelled by ${end.by}`;
    case "limit":
      return `Ran into a limit: ${end.what}`;
    case "refused":
      return `Refused: ${end.what}`;
    case "died":
      return `Died: ${end.what}`;
    case "failed":
      return `Failed while ${end.phase}: ${end.what}`;
    case "step-failed":
      return `A step failed: ${end.what}`;
    case "uncertain":
      return `Cut off, and its effect is not known: ${end.what}`;
    case "transient":
      return `A passing trouble: ${end.what}`;
  }
}

/** A receipt that was entered is among the evidence already. */
function receiptPart(turn: TurnRow, found: readonly EvidenceRow[]): Html | null {
  const { receipt, receiptReasons } = turn;
  if (found.some(({ hash }) => hash === receipt)) return null;
  if (receipt !== null) {
    return html`<li>receipt <code>${receipt.slice(0, 12)}</code> seen before</li>`;
  }
  if (receiptReasons === null) return null;
  return html`<li>no receipt: ${receiptReasons.join(", ")}</li>`;
}

function callPart(turn: TurnRow, call: ToolCallRow): Html {
  const { tone, words } = outcomeOf(call);
  const { startedAt, finishedAt } = call;
  const took = finishedAt === null ? "" : span(Math.round((finishedAt - startedAt) / 1_000), 2);
  return html`<details class="call" id="call-${turn.number}-${call.sequence}">
    <summary>
      ${maybe(call.step, (step) => html`<span class="quiet">step ${step + 1}</span>`)}
      <code>${call.name}</code> <span class="exit ${tone}">${words}</span>
      <span class="quiet">${took}</span>
    </summary>
    ${outputPart(call)}
  </details>`;
}

function outcomeOf({ finishedAt, exitCode, failed }: ToolCallRow): { tone: string; words: string } {
  if (finishedAt === null) return { tone: "open", words: "not finished" };
  if (exitCode === notYetExitCode) return { tone: "open", words: `exit ${exitCode}, not yet` };
  const tone = failed === 0 && (exitCode ?? 0) === 0 ? "good" : "bad";
  if (exitCode !== null) return { tone, words: `exit ${exitCode}` };
  return { tone, words: failed === 1 ? "failed" : "done" };
}

function outputPart({ textHead, textTail, textLength }: ToolCallRow): Html {
  if (textHead === "" && textTail === "") return html`<p class="quiet">No output.</p>`;
  const left = textLength - textHead.length - textTail.length;
  if (textTail === "") return html`<pre class="output">${textHead}</pre>`;
  return html`<pre class="output">${textHead}</pre>
    <p class="quiet">${left} characters are left out</p>
    <pre class="output">${textTail}</pre>`;
}

function waitPart(wait: WaitRow, view: View): Html {
  return html`<h3>Wait <span class="quiet">${wait.state}</span></h3>
    <p>${wait.reason}</p>
    <p class="quiet">
      Every ${span(Math.round(wait.everyMs / 1_000), 2)}, next look ${instant(wait.dueAt, view)},
      gives up ${instant(wait.deadlineAt, view)}
      ${maybe(wait.endedAt, (at) => html`<br />Ended ${instant(at, view)}`)}
    </p>`;
}

/** What is read of a message: a comment's text, a reaction's content. */
const Payload = z.object({ body: z.string().optional(), content: z.string().optional() });

const messageWords: Readonly<Record<MessageRow["kind"], string>> = {
  ask: "Notice to a person",
  tell: "Comment",
  status: "Status comment",
  reaction: "Reaction",
};

const stateWords: Readonly<Record<MessageRow["state"], string>> = {
  pending: "in the outbox",
  sending: "being sent",
  unsure: "sent perhaps, being probed",
  sent: "delivered",
  dead: "could not be delivered",
  dropped: "dropped",
};

function messagePart({ id, kind, state, payload }: MessageRow): Html {
  const { body, content } = Payload.catch({}).parse(payload);
  return html`<h3>
      ${messageWords[kind]} ${content ?? ""} <span class="quiet">${stateWords[state]}</span>
    </h3>
    ${folded(`message-${id}`, "Text", body ?? null)}`;
}

const factsLimit = 600;

function eventPart({ kind, facts }: EventRow): Html {
  const entries = Object.entries(facts).filter(([, value]) => value !== null && value !== "");
  const title = kind.replaceAll("-", " ");
  return html`<h3>${title.charAt(0).toUpperCase()}${title.slice(1)}</h3>
    <dl class="facts">${entries.map(([name, value]) => factPart(name, value))}</dl>`;
}

function factPart(name: string, value: unknown): Html {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return html`<dt>${name}</dt>
    <dd>${text.slice(0, factsLimit)}</dd>`;
}
