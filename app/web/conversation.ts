// A conversation of the local forge (spec 7.4): the thread, what Holdfast does about it, the
// changes of a pull request, and the forms people write with. A form works without JavaScript and
// counts once.

import { randomUUID } from "node:crypto";
import { factsOf } from "../ledger/facts.ts";
import {
  findIssue,
  latestComments,
  reactionsIn,
  type CommentRow,
  type IssueRow,
  type ReactionRow,
} from "../ledger/issues.ts";
import type { Sql } from "../ledger/ledger.ts";
import { findMandate, mandatesIn, type MandateRow } from "../ledger/mandates.ts";
import { mandateCard } from "./dashboard.ts";
import { diffPart, type ReadDiff } from "./diff.ts";
import { html, maybe, type Html, type HtmlValue } from "./html.ts";
import { renderMarkdown } from "./markdown.ts";
import { since, type Page, type View, pageLinks } from "./page.ts";
import { badge } from "./state.ts";

const commentsLimit = 500;

/** What a person had written when it was refused, given back with what is wrong. */
export interface Draft {
  readonly key: string;
  readonly title: string;
  readonly body: string;
  readonly problem: string | null;
}

export function emptyDraft(given: Partial<Draft> = {}): Draft {
  return { key: randomUUID(), title: "", body: "", problem: null, ...given };
}

/** Null when there is no such issue or pull request. */
export async function conversationPage(
  sql: Sql,
  view: View,
  asked: { number: number; draft: Draft; diff: ReadDiff; selfId: string },
): Promise<Page | null> {
  if (view.repository === null) return null;
  const place = { repositoryId: view.repository.id, number: asked.number };
  const issue = await findIssue(sql, place);
  if (issue === undefined) return null;
  const comments = await latestComments(sql, place, commentsLimit);
  const reactions = await reactionsIn(sql, place);
  const shown = { view, reactions, selfId: asked.selfId };
  const opening = { ...issue, target: `issue:${issue.number}`, anchor: "top", editedAt: null };
  const answers = comments.map(({ id, ...comment }) => ({
    ...comment,
    target: `comment:${id}`,
    anchor: `comment-${id}`,
  }));
  const body = html`<div class="narrow">
    <h1>${issue.title} <span class="number">#${issue.number}</span></h1>
    <p class="state">
      <span class="mark ${issue.kind} ${issue.state}">${stateWords(issue)}</span>
      ${branchWords(issue)}
    </p>
    <div id="work" data-live>${await workPart(sql, view, issue.number)}</div>
    <div id="thread" data-live>${[opening, ...answers].map((one) => message(one, shown))}</div>
    ${commentForm(`/c/${issue.number}`, asked.draft, view)}
    ${issue.kind === "pull" ? await pullPart(sql, issue, asked.diff) : null}
  </div>`;
  const status = asked.draft.problem === null ? 200 : 422;
  return { title: `#${issue.number} ${issue.title}`, body, status };
}

/** What Holdfast does here: the unfinished in full, the finished by their ids. */
async function workPart(sql: Sql, view: View, number: number): Promise<HtmlValue> {
  const mandates = await mandatesIn(sql, `${view.repository?.id ?? ""}#${number}`, { all: true });
  const cards: Html[] = [];
  for (const { id } of mandates.filter(({ endedAt }) => endedAt === null)) {
    cards.push(mandateCard(await factsOf(sql, id, pageLinks), view));
  }
  const links = mandates
    .filter(({ endedAt }) => endedAt !== null)
    .map(({ id, status }) => html`<a href="/m/${id}">${id}</a> ${badge(status)} `);
  if (links.length === 0) return cards;
  return html`${cards}
    <p class="quiet">Finished here: ${links}</p>`;
}

function stateWords({ kind, state, isDraft }: IssueRow): string {
  const word = kind === "pull" ? "pull request" : "issue";
  return `${isDraft === 1 ? "draft " : ""}${state} ${word}`;
}

function branchWords({ head, base }: IssueRow): HtmlValue {
  if (head === null || base === null) return null;
  return html`<code>${head}</code> into <code>${base}</code>`;
}

type Message = Pick<CommentRow, "authorId" | "authorName" | "body" | "createdAt" | "editedAt"> & {
  readonly target: string;
  readonly anchor: string;
};

function message(
  { authorId, authorName, body, createdAt, editedAt, target, anchor }: Message,
  { view, reactions, selfId }: { view: View; reactions: readonly ReactionRow[]; selfId: string },
): Html {
  const here = reactions.filter((reaction) => reaction.target === target);
  return html`<article class="message ${authorId === selfId ? "bot" : "person"}" id="${anchor}">
    <header>
      <strong>${authorName}</strong>
      <a class="quiet" href="#${anchor}">${since(createdAt, view)}</a>
      ${maybe(editedAt, (at) => html`<span class="quiet">edited ${since(at, view)}</span>`)}
    </header>
    <div class="prose">${renderMarkdown(body)}</div>
    ${here.length === 0 ? null : html`<p class="reactions">${here.map(reactionPart)}</p>`}
  </article>`;
}

const faces: Readonly<Record<string, { face: string; words: string }>> = {
  eyes: { face: "👀", words: "accepted" },
  rocket: { face: "🚀", words: "finished" },
  confused: { face: "😕", words: "refused or blocked" },
};

function reactionPart({ content }: ReactionRow): Html {
  const known = faces[content] ?? { face: content, words: content };
  return html`<span title="${known.words}"
    ><span aria-hidden="true">${known.face}</span> ${known.words}</span
  >`;
}

function problemPart({ problem }: Draft): Html | null {
  return problem === null ? null : html`<p class="notice bad" role="alert">${problem}</p>`;
}

function commentForm(action: string, draft: Draft, { mention }: View): Html {
  return html`<form class="write" method="post" action="${action}">
    ${problemPart(draft)}
    <input type="hidden" name="key" value="${draft.key}" />
    <label for="body">Write a comment</label>
    <textarea id="body" name="body" rows="5" required maxlength="65536">${draft.body}</textarea>
    <div class="line">
      <span class="quiet"
        >A line that begins with <code>@${mention}</code> is a command. Try
        <code>@${mention} help</code>.</span
      >
      <button class="primary">Comment</button>
    </div>
  </form>`;
}

/** Answers one mandate: the words become a `reply` with its id. */
export function replyForm(id: string, { mention }: View): Html {
  return html`<form class="write" method="post" action="/m/${id}/comment">
    <input type="hidden" name="key" value="${randomUUID()}" />
    <input type="hidden" name="before" value="@${mention} reply ${id} " />
    <label for="body">Your answer</label>
    <textarea id="body" name="body" rows="3" required maxlength="60000"></textarea>
    <div class="line">
      <span class="quiet"
        >Goes to this mandate as a comment, <code>@${mention} reply ${id} …</code></span
      >
      <button class="primary">Answer</button>
    </div>
  </form>`;
}

export function newIssuePage(draft: Draft, { mention }: View): Page {
  const body = html`<div class="narrow">
    <h1>New issue</h1>
    <form class="write" method="post" action="/new">
      ${problemPart(draft)}
      <input type="hidden" name="key" value="${draft.key}" />
      <label for="title">Title</label>
      <input
        id="title"
        name="title"
        required
        maxlength="256"
        value="${draft.title}"
        autocomplete="off"
      />
      <label for="body">Text</label>
      <textarea id="body" name="body" rows="10" required maxlength="65536">${draft.body}</textarea>
      <div class="line">
        <span class="quiet"
          >A line that begins with <code>@${mention}</code> is a command; a title never is.</span
        >
        <button class="primary">Open issue</button>
      </div>
    </form>
  </div>`;
  return { title: "New issue", body, status: draft.problem === null ? 200 : 422 };
}

async function pullPart(sql: Sql, issue: IssueRow, diff: ReadDiff): Promise<Html> {
  const mandate = await mandateOfBranch(sql, issue.head);
  if (mandate === undefined) {
    return html`<p class="quiet">This branch was not made here. Look at it with git.</p>`;
  }
  return html`<section id="diff" data-live>
    <h2>Changes</h2>
    <p class="quiet">Made by <a href="/m/${mandate.id}">${mandate.id}</a></p>
    ${await diffPart(diff, mandate)}
  </section>`;
}

/** A branch carries the id, and only the mandate itself says that the branch is its own. */
async function mandateOfBranch(sql: Sql, head: string | null): Promise<MandateRow | undefined> {
  const id = /^holdfast\/(m-[a-z0-9]+)-/.exec(head ?? "")?.[1];
  const mandate = id === undefined ? undefined : await findMandate(sql, id);
  return mandate?.branch === head ? mandate : undefined;
}
