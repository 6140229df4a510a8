// The record (spec 7.4): everything about one mandate, from the words asked to the changes that
// came of it. Shows what the ledger holds and concludes nothing.

import { conversationOf, repositoryOf } from "../ledger/conversations.ts";
import { factsOf } from "../ledger/facts.ts";
import { eventsOf, evidenceOf } from "../ledger/history.ts";
import type { Sql } from "../ledger/ledger.ts";
import { findAnchor, findMandate, type MandateRow } from "../ledger/mandates.ts";
import { messagesOf } from "../ledger/outbox.ts";
import { callsOf, turnsOf, type TurnRow } from "../ledger/turns.ts";
import { waitsOf } from "../ledger/waits.ts";
import { momentIn, type MandateFacts } from "../notices/facts.ts";
import { sentenceFor } from "../notices/status.ts";
import { replyForm } from "./conversation.ts";
import { diffPart, type ReadDiff } from "./diff.ts";
import { html, maybe, type Html, type HtmlValue } from "./html.ts";
import { conversationHref, since, until, type Page, type View, pageLinks } from "./page.ts";
import { actions, attempts, badge, reasonPart, shownState, wantsReply } from "./state.ts";
import { timeline, type Past } from "./timeline.ts";

/** Turns whose calls are read and shown; all of them are in the chart. */
const turnsLimit = 50;

/** Null when there is no such mandate here. */
export async function recordPage(
  sql: Sql,
  view: View,
  asked: { id: string; all: boolean; diff: ReadDiff },
): Promise<Page | null> {
  const mandate = await findMandate(sql, asked.id);
  if (mandate === undefined) return null;
  const { number, repositoryId } = await conversationOf(sql, mandate.conversationId);
  if (view.repository !== null && repositoryId !== view.repository.id) return null;
  const { id, title, branch } = mandate;
  const facts = await factsOf(sql, id, pageLinks);
  const href = conversationHref(view, { number, url: facts.anchor.url });
  const { name } = await repositoryOf(sql, repositoryId);
  const label = view.repository === null ? `${name}#${number}` : `#${number}`;
  const turns = await turnsOf(sql, id);
  const past = await pastOf(sql, id, asked.all ? turns : turns.slice(-turnsLimit));
  const left = turns.length - past.turns.length;
  const body = html`<div class="narrow">
    <div id="record" data-live>
      <p class="path"><a href="${href}">${label}</a> / <code>${id}</code></p>
      <h1>${title}</h1>
      <p class="state" role="status">${badge(shownState(facts))} ${sentenceFor(facts)}</p>
      ${reasonPart(facts)}
      <div class="actions">${actions(facts, view)}</div>
    </div>
    ${wantsReply(facts, view) ? replyForm(id, view) : null}
    <div id="facts" data-live>
      ${factsPart(facts, { mandate, view })} ${await anchorPart(sql, view, { mandate, number })}
      ${taskPart(facts)} ${checklistPart(facts)} ${chart(turns, facts.ceilings.stallLimit)}
      <section>
        <h2>Timeline</h2>
        ${timeline(past, view)}
        ${left > 0 ? html`<p><a href="/m/${id}?all">Show ${left} earlier turns</a></p>` : null}
      </section>
    </div>
    <section id="diff" data-live>
      <h2>Changes</h2>
      <p class="quiet">Branch <code>${branch}</code></p>
      ${await diffPart(asked.diff, mandate)}
    </section>
  </div>`;
  return { title: `${id} ${title}`, body };
}

/** The exact words, as they were when they were asked. */
async function anchorPart(
  sql: Sql,
  view: View,
  { mandate, number }: { mandate: MandateRow; number: number },
): Promise<Html> {
  const anchor = await findAnchor(sql, mandate.id);
  if (anchor === undefined) return html`<p class="notice bad">Its request is not on record.</p>`;
  return html`<section>
    <h2>What was asked</h2>
    <p class="quiet">
      ${anchor.authorName} (${anchor.permission}) in
      <a href="${conversationHref(view, { number, url: anchor.commentUrl })}">#${number}</a>,
      ${since(mandate.createdAt, view)}
    </p>
    <blockquote class="anchor">${anchor.text}</blockquote>
    ${maybe(mandate.grant, ({ name, text }) => html`<p>Grant <code>${name}</code>: ${text}</p>`)}
  </section>`;
}

async function pastOf(sql: Sql, id: string, turns: readonly TurnRow[]): Promise<Past> {
  const withCalls: { turn: TurnRow; calls: Awaited<ReturnType<typeof callsOf>> }[] = [];
  for (const turn of turns) withCalls.push({ turn, calls: await callsOf(sql, turn.id) });
  return {
    turns: withCalls,
    evidence: await evidenceOf(sql, id),
    waits: await waitsOf(sql, id),
    messages: await messagesOf(sql, id),
    events: await eventsOf(sql, id),
  };
}

function factsPart(
  facts: MandateFacts,
  { view, mandate }: { mandate: MandateRow; view: View },
): Html {
  const { counters, ceilings, wait, pull, publishedCommit, branch } = facts;
  const isOpen = facts.endedAt === null;
  const deadline = html`${until(facts.deadlineAt, view)}
    <span class="quiet">${momentIn(facts.deadlineAt, view.timeZone)}</span>`;
  const step = facts.nextStep === "" ? null : `${facts.nextStep} (${facts.nextStepBy})`;
  return html`<dl class="facts grid">
    ${isOpen ? row("Next step", step) : null}
    ${maybe(wait, ({ dueAt }) => row("Next look", until(dueAt, view)))}
    ${maybe(wait, ({ deadlineAt }) => row("Wait gives up", until(deadlineAt, view)))}
    ${isOpen ? row("Deadline", deadline) : null} ${row("Attempts", attempts(facts))}
    ${row("Turns", usage(counters.turns, ceilings.turns))}
    ${counters.tokens > 0 ? row("Tokens", usage(counters.tokens, ceilings.tokens)) : null}
    ${counters.cost > 0 ? row("Cost", usage(counters.cost, ceilings.cost)) : null}
    ${maybe(publishedCommit, (commit) => row("Published", commitPart(branch, commit)))}
    ${maybe(pull, (one) => row("Pull request", html`<a href="${conversationHref(view, one)}">#${one.number}</a>`))}
    ${maybe(mandate.parentId, (id) => row("Child of", html`<a href="/m/${id}">${id}</a>`))}
  </dl>`;
}

function commitPart(branch: string, commit: string): Html {
  return html`<code>${branch}</code> at <code>${commit.slice(0, 12)}</code>`;
}

function row(name: string, value: HtmlValue): Html | null {
  if (value === null) return null;
  return html`<dt>${name}</dt>
    <dd>${value}</dd>`;
}

function usage(count: number, ceiling: number | null): string {
  return ceiling === null ? String(count) : `${count} of ${ceiling}`;
}

function taskPart({ steps, taskName }: MandateFacts): HtmlValue {
  if (taskName === null) return null;
  const lines = steps.map(
    ({ title, state }) =>
      html`<li class="${state}"><code>${title}</code> <span class="quiet">${state}</span></li>`,
  );
  return html`<section>
    <h2>Task <code>${taskName}</code></h2>
    <ol class="steps">
      ${lines}
    </ol>
  </section>`;
}

function checklistPart({ checklist }: MandateFacts): HtmlValue {
  if (checklist.length === 0) return null;
  const lines = checklist.map(
    ({ text, done }) => html`<li class="${done ? "succeeded" : "open"}">${text}</li>`,
  );
  return html`<section>
    <h2>Checklist</h2>
    <ul class="steps">
      ${lines}
    </ul>
  </section>`;
}

const barWidth = 12;
const chartHeight = 56;
const barsLimit = 200;

/** Attempts without evidence after each turn, against the limit; new evidence sets them back. */
function chart(turns: readonly TurnRow[], limit: number): Html | null {
  const shown = turns.slice(-barsLimit);
  if (shown.length < 2) return null;
  const width = shown.length * barWidth;
  return html`<section>
    <h2>Attempts and evidence</h2>
    <svg
      class="chart"
      role="img"
      aria-label="Attempts and new evidence over ${shown.length} turns"
      viewBox="0 0 ${width} ${chartHeight}"
      width="${width}"
      height="${chartHeight}"
    >
      ${shown.map((turn, index) => bar(turn, { index, limit }))}
    </svg>
    <p class="quiet">
      <span class="key credited"></span> new evidence <span class="key attempt"></span> attempts in
      a row without, of ${limit}
    </p>
  </section>`;
}

function bar(turn: TurnRow, { index, limit }: { index: number; limit: number }): Html {
  const count = turn.settlement?.counters.attempts ?? 0;
  const isCredited = (turn.settlement?.credited.length ?? 0) > 0;
  const height = isCredited ? chartHeight : Math.max(2, (count / limit) * chartHeight);
  const words = isCredited ? "new evidence" : `${count} of ${limit} attempts without evidence`;
  return html`<rect
    class="${isCredited ? "credited" : "attempt"}"
    x="${index * barWidth}"
    y="${chartHeight - height}"
    width="${barWidth - 3}"
    height="${height}"
  >
    <title>Turn ${turn.number}: ${words}</title>
  </rect>`;
}
