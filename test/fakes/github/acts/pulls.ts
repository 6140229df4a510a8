// Pull requests, their reviews and comments on lines (spec 8.4), by people, the App and other Apps.

import type { TreeChange } from "../bare-repository.ts";
import { inlineCommentShape, pullShape, reviewShape, simplePullShape } from "../shapes/pulls.ts";
import {
  isPull,
  type Account,
  type InlineComment,
  type PullIssue,
  type Repository,
  type Review,
  type World,
} from "../world.ts";
import { addIssue, newText, note, tellIssue, type Telling } from "./conversations.ts";
import { setPullHead } from "./heads.ts";
import { authorOf, refsMoved } from "./repositories.ts";

export interface NewPull {
  readonly repository: Repository;
  readonly by: Account;
  /** A branch of `from`, which is the repository itself when missing. */
  readonly head: string;
  readonly from?: Repository;
  readonly base?: string;
  readonly title?: string;
  readonly body?: string;
  readonly isDraft?: boolean;
}

/** Throws where the branches are not there. */
export function openPull(world: World, options: NewPull): PullIssue {
  const { repository, by, head, from = repository, title = "A hinge", body = "" } = options;
  const base = options.base ?? repository.defaultBranch;
  const headSha = from.git.resolve(`refs/heads/${head}`);
  const baseSha = repository.git.resolve(`refs/heads/${base}`);
  if (headSha === null || baseSha === null) throw new Error(`no branch ${head} or ${base}`);
  const pull = {
    id: world.nextId(),
    headRepository: from,
    headRef: head,
    headSha,
    headOwner: from.owner,
    baseRef: base,
    baseSha,
    isDraft: options.isDraft ?? false,
    mergedAt: null,
    mergedBy: null,
    mergeCommit: null,
  };
  const issue = addIssue(world, { repository, by, title, body, pull });
  if (!isPull(issue)) throw new Error("a pull request without its branches");
  setPullHead(issue);
  tellIssue(world, issue, { action: "opened", by });
  return issue;
}

export function setDraft(world: World, issue: PullIssue, options: DraftChange): void {
  const { by, isDraft } = options;
  if (issue.pull.isDraft === isDraft) return;
  issue.pull.isDraft = isDraft;
  issue.updatedAt = world.now();
  tellIssue(world, issue, { action: isDraft ? "converted_to_draft" : "ready_for_review", by });
}

interface DraftChange {
  readonly by: Account;
  readonly isDraft: boolean;
}

/** A merge commit on the base branch, told as a push and as a closed pull request. */
export function mergePull(world: World, issue: PullIssue, by: Account): string {
  const { repository, pull, number, title } = issue;
  const { git } = repository;
  const before = git.refs();
  const base = git.resolve(`refs/heads/${pull.baseRef}`) ?? pull.baseSha;
  const commit = git.commit({
    ref: `refs/heads/${pull.baseRef}`,
    message: `Merge pull request #${number}: ${title}`,
    author: authorOf(by),
    parents: [base, pull.headSha],
    changes: changesOf(repository, base, pull.headSha),
    at: world.now(),
  });
  pull.mergedAt = issue.closedAt = issue.updatedAt = world.now();
  pull.mergedBy = issue.closedBy = by;
  pull.mergeCommit = commit;
  issue.state = "closed";
  refsMoved(world, repository, { by, before });
  tellIssue(world, issue, { action: "closed", by });
  return commit;
}

/** What the head changed since it left the base; a merge takes it as it is. */
function changesOf({ git }: Repository, base: string, head: string): TreeChange[] {
  const raw = git.git(["diff", "--raw", "--no-abbrev", "--no-renames", `${base}...${head}`]);
  return raw
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const [facts = "", path = ""] = line.split("\t");
      const [, mode = "", , blob = "", kind] = facts.split(" ");
      return { path, mode, blob: kind === "D" ? null : blob };
    });
}

export interface NewReview {
  readonly issue: PullIssue;
  readonly by: Account;
  readonly body?: string;
  readonly state?: Review["state"];
}

export function review(world: World, options: NewReview): Review {
  const { issue, by, body = "", state = "COMMENTED" } = options;
  const text = newText(world, { issue, by, body });
  const made: Review = { ...text, state, commit: issue.pull.headSha };
  world.reviews.push(made);
  issue.updatedAt = made.createdAt;
  note(world, { kind: "review", id: made.id, by, issue, body });
  tellReview(world, made, { action: "submitted", by });
  return made;
}

export function editReview(
  world: World,
  edited: Review,
  { by, body }: { readonly by: Account; readonly body: string },
): void {
  const changes = { body: { from: edited.body } };
  edited.body = body;
  edited.updatedAt = world.now();
  tellReview(world, edited, { action: "edited", by, parts: { changes } });
}

export interface NewInlineComment {
  readonly issue: PullIssue;
  readonly by: Account;
  readonly body: string;
  readonly path?: string;
  readonly line?: number;
  readonly inReplyTo?: InlineComment;
  readonly review?: Review;
}

/** GitHub makes an empty review around a comment that is in none. */
export function inlineComment(world: World, options: NewInlineComment): InlineComment {
  const { issue, by, body, inReplyTo, path = "README.md", line = 1 } = options;
  const around = inReplyTo?.review ?? options.review ?? emptyReview(world, issue, by);
  const made: InlineComment = {
    ...newText(world, { issue, by, body }),
    review: around,
    path: inReplyTo?.path ?? path,
    line: inReplyTo?.line ?? line,
    commit: issue.pull.headSha,
    inReplyTo: inReplyTo?.id ?? null,
  };
  world.inlineComments.push(made);
  issue.updatedAt = made.createdAt;
  note(world, { kind: "inline-comment", id: made.id, by, issue, body });
  tellInlineComment(world, made, { action: "created", by });
  return made;
}

function emptyReview(world: World, issue: PullIssue, by: Account): Review {
  const text = newText(world, { issue, by, body: "" });
  const made: Review = { ...text, state: "COMMENTED", commit: issue.pull.headSha };
  world.reviews.push(made);
  issue.updatedAt = made.createdAt;
  return made;
}

export function editInlineComment(
  world: World,
  edited: InlineComment,
  { by, body }: { readonly by: Account; readonly body: string },
): void {
  const changes = { body: { from: edited.body } };
  edited.body = body;
  edited.updatedAt = world.now();
  tellInlineComment(world, edited, { action: "edited", by, parts: { changes } });
}

export function deleteInlineComment(world: World, gone: InlineComment, by: Account): void {
  gone.isDeleted = true;
  tellInlineComment(world, gone, { action: "deleted", by });
}

function tellReview(world: World, text: Review, { action, by, parts = {} }: Telling): void {
  const { issue } = text;
  if (!isPull(issue)) return;
  // Events write the state small, answers write it large.
  const shape = { ...reviewShape(world, text), state: text.state.toLowerCase() };
  const all = { review: shape, pull_request: simplePullShape(world, issue), ...parts };
  const { repository } = issue;
  const name = "pull_request_review";
  world.tell({ name, action, sender: by, repository, parts: all, text });
}

function tellInlineComment(
  world: World,
  text: InlineComment,
  { action, by, parts = {} }: Telling,
): void {
  const { issue } = text;
  if (!isPull(issue)) return;
  const { repository } = issue;
  const comment = inlineCommentShape(world, text);
  const all = { comment, pull_request: pullShape(world, issue), ...parts };
  const name = "pull_request_review_comment";
  world.tell({ name, action, sender: by, repository, parts: all, text });
}
