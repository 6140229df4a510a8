// Issues and comments (spec 8.4): what people, the App and other Apps do there, and what GitHub tells of it.
// A pull request is told as `pull_request` where an issue is told as `issues`.

import { commentShape, issueShape } from "../shapes/conversations.ts";
import { pullShape } from "../shapes/pulls.ts";
import {
  appOf,
  isPull,
  type Account,
  type Comment,
  type Created,
  type Issue,
  type Reaction,
  type Repository,
  type Text,
  type World,
} from "../world.ts";

export interface NewIssue {
  readonly repository: Repository;
  readonly by: Account;
  readonly title?: string;
  readonly body?: string;
}

export function openIssue(world: World, options: NewIssue): Issue {
  const issue = addIssue(world, { title: "A door", body: "", ...options, pull: null });
  tellIssue(world, issue, { action: "opened", by: options.by });
  return issue;
}

/** The row of an issue or of a pull request, with the next number of its repository. */
export function addIssue(
  world: World,
  options: Required<NewIssue> & { readonly pull: Issue["pull"] },
): Issue {
  const { repository, by, title, body, pull } = options;
  const at = world.now();
  repository.lastNumber += 1;
  const issue: Issue = {
    id: world.nextId(),
    repository,
    number: repository.lastNumber,
    title,
    body,
    author: by,
    app: appOf(world, by),
    state: "open",
    isLocked: false,
    isDeleted: false,
    createdAt: at,
    updatedAt: at,
    closedAt: null,
    closedBy: null,
    pull,
  };
  world.issues.push(issue);
  note(world, { kind: pull === null ? "issue" : "pull", id: issue.id, by, issue, body });
  return issue;
}

export function note(
  world: World,
  made: Pick<Created, "kind" | "id" | "by" | "body"> & { readonly issue: Issue },
): void {
  const { issue, ...row } = made;
  const { repository, number } = issue;
  world.created.push({ ...row, repository, number, at: world.now() });
}

interface IssueChange {
  readonly by: Account;
  readonly title?: string;
  readonly body?: string;
}

export function editIssue(world: World, issue: Issue, change: IssueChange): void {
  const { by, title, body } = change;
  const changes = {
    ...(title !== undefined && { title: { from: issue.title } }),
    ...(body !== undefined && { body: { from: issue.body } }),
  };
  issue.title = title ?? issue.title;
  issue.body = body ?? issue.body;
  issue.updatedAt = world.now();
  tellIssue(world, issue, { action: "edited", by, parts: { changes } });
}

export function closeIssue(world: World, issue: Issue, by: Account): void {
  issue.state = "closed";
  issue.closedAt = issue.updatedAt = world.now();
  issue.closedBy = by;
  tellIssue(world, issue, { action: "closed", by });
}

export function reopenIssue(world: World, issue: Issue, by: Account): void {
  issue.state = "open";
  issue.closedAt = issue.closedBy = null;
  issue.updatedAt = world.now();
  tellIssue(world, issue, { action: "reopened", by });
}

export function lockIssue(world: World, issue: Issue, by: Account): void {
  issue.isLocked = true;
  tellIssue(world, issue, { action: "locked", by });
}

export function unlockIssue(world: World, issue: Issue, by: Account): void {
  issue.isLocked = false;
  tellIssue(world, issue, { action: "unlocked", by });
}

export function deleteIssue(world: World, issue: Issue, by: Account): void {
  issue.isDeleted = true;
  tellIssue(world, issue, { action: "deleted", by });
}

/** Moves an issue to another repository of the same owner, under a new number. */
export function transferIssue(
  world: World,
  issue: Issue,
  { by, to }: { readonly by: Account; readonly to: Repository },
): Issue {
  const { title, body } = issue;
  const moved = addIssue(world, { repository: to, by: issue.author, title, body, pull: null });
  issue.isDeleted = true;
  const changes = { new_issue: issueShape(world, moved) };
  tellIssue(world, issue, { action: "transferred", by, parts: { changes } });
  return moved;
}

export interface NewComment {
  readonly issue: Issue;
  readonly by: Account;
  readonly body: string;
}

export function comment(world: World, { issue, by, body }: NewComment): Comment {
  const made = newText(world, { issue, by, body });
  world.comments.push(made);
  issue.updatedAt = made.createdAt;
  note(world, { kind: "comment", id: made.id, by, issue, body });
  tellComment(world, made, { action: "created", by });
  return made;
}

export function newText(world: World, { issue, by, body }: NewComment): Text {
  const at = world.now();
  const id = world.nextId();
  const app = appOf(world, by);
  return { id, issue, author: by, app, body, createdAt: at, updatedAt: at, isDeleted: false };
}

/** Writers may edit what others wrote, ours as well. */
export function editComment(
  world: World,
  edited: Comment,
  { by, body }: { readonly by: Account; readonly body: string },
): void {
  const changes = { body: { from: edited.body } };
  edited.body = body;
  edited.updatedAt = world.now();
  tellComment(world, edited, { action: "edited", by, parts: { changes } });
}

export function deleteComment(world: World, gone: Comment, by: Account): void {
  gone.isDeleted = true;
  tellComment(world, gone, { action: "deleted", by });
}

/** Adds a reaction, or finds the one that is there; GitHub tells nobody. */
export function react(
  world: World,
  wish: Pick<Reaction, "subject" | "by" | "content"> & { readonly issue: Issue },
): { readonly reaction: Reaction; readonly isNew: boolean } {
  const { issue, ...row } = wish;
  const found = world.reactions.find(
    ({ subject, by, content }) =>
      subject === row.subject && by === row.by && content === row.content,
  );
  if (found !== undefined) return { reaction: found, isNew: false };
  const reaction = { ...row, id: world.nextId(), createdAt: world.now() };
  world.reactions.push(reaction);
  note(world, { kind: "reaction", id: reaction.id, by: row.by, issue, body: row.content });
  return { reaction, isNew: true };
}

export interface Telling {
  readonly action: string;
  readonly by: Account;
  readonly parts?: Readonly<Record<string, unknown>>;
}

/** Under the event's name for what it is. */
export function tellIssue(world: World, issue: Issue, { action, by, parts = {} }: Telling): void {
  const { repository } = issue;
  const subject = isPull(issue)
    ? { number: issue.number, pull_request: pullShape(world, issue) }
    : { issue: issueShape(world, issue) };
  const name = isPull(issue) ? "pull_request" : "issues";
  world.tell({ name, action, sender: by, repository, parts: { ...subject, ...parts } });
}

function tellComment(world: World, text: Comment, { action, by, parts = {} }: Telling): void {
  const { issue } = text;
  const shapes = { issue: issueShape(world, issue), comment: commentShape(world, text) };
  const { repository } = issue;
  const all = { ...shapes, ...parts };
  world.tell({ name: "issue_comment", action, sender: by, repository, parts: all, text });
}
