// The dashboard (spec 7.4): every unfinished mandate by conversation, what needs a person first,
// then what is done; beside them the issues and pull requests, and the tasks that can be run.

import { conversationOf, repositoryOf, type ConversationRow } from "../ledger/conversations.ts";
import { factsOf } from "../ledger/facts.ts";
import { findIssue, listIssues, type IssueRow } from "../ledger/issues.ts";
import type { Sql } from "../ledger/ledger.ts";
import { listMandates, type MandateRow } from "../ledger/mandates.ts";
import type { MandateFacts } from "../notices/facts.ts";
import { sentenceFor } from "../notices/status.ts";
import { html, maybe, type Html, type HtmlValue } from "./html.ts";
import {
  conversationHref,
  instant,
  since,
  until,
  type Page,
  type View,
  pageLinks,
} from "./page.ts";
import {
  actions,
  attempts,
  badge,
  needsPerson,
  reasonPart,
  shownState,
  shownStates,
  wantsReply,
  wordOf,
} from "./state.ts";

const unfinishedLimit = 500;
const finishedLimit = 20;
const issuesLimit = 50;

/** What can be run here, as the repository's policy file says (7.3). */
export interface TaskView {
  readonly tasks: readonly { readonly name: string; readonly inputs: readonly string[] }[];
  /** What is wrong with the file on the default branch. */
  readonly problems: readonly string[];
  /** There is another file in the working tree, which is not read until it is committed. */
  readonly isUncommitted: boolean;
}

interface Place {
  /** `#12`, or `owner/name#12` where there are several repositories. */
  readonly label: string;
  readonly title: string;
  readonly href: string;
}

interface Entry {
  readonly facts: MandateFacts;
  readonly place: Place;
}

/** `filter` is a state as shown, or empty for all. */
export async function dashboard(
  sql: Sql,
  view: View,
  shown: { filter: string; tasks: TaskView },
): Promise<Page> {
  const { repository } = view;
  const here = repository === null ? {} : { repositoryId: repository.id };
  const rows = await listMandates(sql, { ...here, unfinished: true, limit: unfinishedLimit });
  const open = await entriesOf(sql, view, rows);
  const recent = await listMandates(sql, { ...here, limit: unfinishedLimit + finishedLimit });
  const ended = recent.filter((row) => row.endedAt !== null).slice(0, finishedLimit);
  const done = await entriesOf(sql, view, ended);
  const issues = repository === null ? [] : await listIssues(sql, repository.id, issuesLimit);
  const visible = open.filter((entry) => fits(entry, shown.filter));
  const groups = groupsOf(visible).map((group) => groupPart(group, view));
  const waiting = open.filter(({ facts }) => needsPerson(facts)).length;
  const body = html`<h1 class="hidden">Dashboard</h1>
    <div class="columns">
      <div id="mandates" data-live>
        ${summary(waiting, open.length - waiting)} ${filters(open, shown.filter)}
        ${groups.length === 0 ? emptyPart(open, view) : groups} ${finishedPart(done, view)}
      </div>
      ${
        repository === null
          ? null
          : html`<aside>
              <section id="tasks" data-live>${tasksPart(shown.tasks, view)}</section>
              <section id="issues" data-live>${issuesPart(issues, view)}</section>
            </aside>`
      }
    </div>`;
  return { title: waiting === 0 ? "Dashboard" : `(${waiting}) Dashboard`, body };
}

async function entriesOf(sql: Sql, view: View, rows: readonly MandateRow[]): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (const { id, conversationId } of rows) {
    const conversation = await conversationOf(sql, conversationId);
    const { repositoryId } = conversation;
    if (view.repository !== null && repositoryId !== view.repository.id) continue;
    const facts = await factsOf(sql, id, pageLinks);
    entries.push({ facts, place: await placeOf(sql, view, { facts, conversation }) });
  }
  return entries;
}

/** An issue of ours has a title here; one on a forge is named by its repository. */
async function placeOf(
  sql: Sql,
  view: View,
  { facts, conversation }: { facts: MandateFacts; conversation: ConversationRow },
): Promise<Place> {
  const { number, repositoryId } = conversation;
  const href = conversationHref(view, { number, url: facts.anchor.url });
  if (view.repository === null) {
    const { name } = await repositoryOf(sql, repositoryId);
    return { label: `${name}#${number}`, title: "", href };
  }
  const issue = await findIssue(sql, conversation);
  return { label: `#${number}`, title: issue?.title ?? "", href };
}

function fits({ facts }: Entry, filter: string): boolean {
  return filter === "" || shownState(facts) === filter;
}

/** One line for eyes and screen readers; announced when it changes. */
function summary(waiting: number, others: number): Html {
  const needs =
    waiting === 0
      ? "Nothing needs you."
      : `${waiting} ${waiting === 1 ? "mandate needs" : "mandates need"} you.`;
  const rest = others === 0 ? "" : ` ${others} ${others === 1 ? "goes" : "go"} on without you.`;
  return html`<p class="summary" role="status">${needs}${rest}</p>`;
}

function filters(open: readonly Entry[], chosen: string): Html | null {
  if (open.length === 0) return null;
  const counts = Map.groupBy(open, ({ facts }) => shownState(facts));
  const states = shownStates.map((state) => ({
    value: state,
    word: wordOf(state),
    count: counts.get(state)?.length ?? 0,
  }));
  const all = { value: "", word: "All", count: open.length };
  return html`<nav aria-label="Filter by state">
    <ul class="filters">
      ${[all, ...states].filter(({ count }) => count > 0).map((one) => filterPart(one, chosen))}
    </ul>
  </nav>`;
}

function filterPart(
  { value, word, count }: { value: string; word: string; count: number },
  chosen: string,
): Html {
  const current = value === chosen ? "true" : "false";
  return html`<li>
    <a href="${value === "" ? "/" : `/?state=${value}`}" aria-current="${current}">
      ${word} <span class="count">${count}</span>
    </a>
  </li>`;
}

/** Conversations, the most urgent first, and in each the most urgent mandate first. */
function groupsOf(entries: readonly Entry[]): Entry[][] {
  const sorted = entries.toSorted((one, other) => urgency(one) - urgency(other));
  return [...Map.groupBy(sorted, ({ place }) => place.label).values()];
}

function urgency({ facts }: Entry): number {
  return shownStates.indexOf(shownState(facts));
}

function groupPart(entries: readonly Entry[], view: View): HtmlValue {
  const [first] = entries;
  if (first === undefined) return null;
  const { label, title, href } = first.place;
  return html`<section class="group">
    <h2>
      <a href="${href}"><span class="number">${label}</span> ${title}</a>
    </h2>
    ${entries.map((entry) => mandateCard(entry.facts, view))}
  </section>`;
}

/** One mandate in a list; also on the page of its conversation. */
export function mandateCard(facts: MandateFacts, view: View): Html {
  const state = shownState(facts);
  const { id, pull, counters } = facts;
  return html`<article class="card ${state}" aria-labelledby="title-${id}">
    <div class="line">
      ${badge(state)}
      <a class="title" id="title-${id}" href="/m/${id}">${facts.title}</a>
    </div>
    <p>${sentenceFor(facts)}</p>
    ${reasonPart(facts)}
    <div class="line facts">
      <code class="id">${id}</code>
      ${maybe(facts.wait, ({ dueAt }) => html`<span>Next look ${until(dueAt, view)}</span>`)}
      <span>Deadline ${until(facts.deadlineAt, view)}</span>
      ${attempts(facts)}
      ${maybe(counters.cost || null, (cost) => html`<span>Cost ${cost.toFixed(2)}</span>`)}
      ${maybe(pull, (one) => html`<a href="${conversationHref(view, one)}">Pull request #${one.number}</a>`)}
    </div>
    ${needsPerson(facts) ? actionsPart(facts, view) : null}
  </article>`;
}

function actionsPart(facts: MandateFacts, view: View): Html {
  return html`<div class="actions">${answerLink(facts, view)} ${actions(facts, view)}</div>`;
}

/** The record has the box to answer in. */
function answerLink(facts: MandateFacts, view: View): Html | null {
  if (!wantsReply(facts, view)) return null;
  return html`<a class="button primary" href="/m/${facts.id}#body">Answer…</a>`;
}

function emptyPart(open: readonly Entry[], { mention, repository }: View): Html {
  if (open.length > 0)
    return html`<p class="empty">No mandate is in this state. <a href="/">Show all</a></p>`;
  const newIssue = html`<p><a class="button primary" href="/new">Open an issue</a></p>`;
  return html`<div class="empty">
    <p><strong>Nothing is being worked on.</strong></p>
    <p>
      Open an issue and write <code>@${mention} run &lt;task&gt;</code> or
      <code>@${mention} help</code> on a line of its own.
    </p>
    ${repository === null ? null : newIssue}
  </div>`;
}

function finishedPart(done: readonly Entry[], view: View): Html | null {
  if (done.length === 0) return null;
  return html`<section class="finished">
    <h2>Finished</h2>
    <ul class="rows">
      ${done.map(
        ({ facts, place }) =>
          html`<li>
            ${badge(shownState(facts))}
            <a class="title" href="/m/${facts.id}">${facts.title}</a>
            <a class="quiet" href="${place.href}">${place.label}</a>
            <span class="quiet">${facts.endedAt === null ? null : since(facts.endedAt, view)}</span>
          </li>`,
      )}
    </ul>
  </section>`;
}

function tasksPart({ tasks, problems, isUncommitted }: TaskView, view: View): Html {
  return html`<h2>Tasks</h2>
    ${problems.length === 0 ? null : problemsPart(problems)}
    ${isUncommitted ? html`<p class="notice">${uncommitted}</p>` : null}
    ${tasks.length === 0 ? html`<p class="quiet">${noTasks}</p>` : null}
    <ul class="tasks">
      ${tasks.map((task) => taskPart(task, view))}
    </ul>`;
}

const uncommitted = html`Your <code>.holdfast.yml</code> is not committed yet. Only what is on the
  default branch counts.`;
const noTasks = html`No tasks are declared. Add <code>tasks:</code> to
  <code>.holdfast.yml</code> and commit it.`;

function problemsPart(problems: readonly string[]): Html {
  return html`<div class="notice bad">
    <p>The policy file <code>.holdfast.yml</code> has errors:</p>
    <ul>
      ${problems.map((problem) => html`<li>${problem}</li>`)}
    </ul>
  </div>`;
}

function taskPart({ name, inputs }: TaskView["tasks"][number], { mention }: View): Html {
  const command = [`@${mention}`, "run", name, ...inputs.map((input) => `${input}=`)].join(" ");
  const form = new URLSearchParams({ title: `Run ${name}`, body: command }).toString();
  return html`<li>
    <code data-copy>${command}</code>
    <a class="button" href="/new?${form}">Run…</a>
  </li>`;
}

function issuesPart(issues: readonly IssueRow[], view: View): Html {
  return html`<h2>Issues and pull requests</h2>
    ${issues.length === 0 ? html`<p class="quiet">None yet.</p>` : null}
    <ul class="rows">
      ${issues.map(
        ({ number, title, kind, state, createdAt }) =>
          html`<li>
            <span class="mark ${kind} ${state}">${kind === "pull" ? "PR" : "Issue"}</span>
            <a class="title" href="/c/${number}">${title}</a>
            <span class="quiet">#${number} · ${state} · ${instant(createdAt, view)}</span>
          </li>`,
      )}
    </ul>`;
}
