// Pull requests, reviews and comments on lines as GitHub prints them (spec 8.4).

import {
  type InlineComment,
  type PullIssue,
  type Repository,
  type Review,
  type World,
} from "../world.ts";
import { instant, nodeId, userShape } from "./accounts.ts";
import { associationOf, commentsOf, issuePage, issueUrl, rollup } from "./conversations.ts";
import { repositoryShape, repositoryUrl } from "./repositories.ts";

function pullUrl(world: World, { repository, number }: PullIssue): string {
  return `${repositoryUrl(world, repository)}/pulls/${number}`;
}

/** As in lists. */
export function simplePullShape(world: World, issue: PullIssue): Record<string, unknown> {
  const url = pullUrl(world, issue);
  const page = issuePage(world, issue);
  const { pull, repository } = issue;
  const statuses = `${repositoryUrl(world, repository)}/statuses/${pull.headSha}`;
  const links = {
    comments_url: `${issueUrl(world, issue)}/comments`,
    commits_url: `${url}/commits`,
    review_comments_url: `${url}/comments`,
    review_comment_url: `${repositoryUrl(world, repository)}/pulls/comments{/number}`,
    statuses_url: statuses,
  };
  return {
    url,
    id: pull.id,
    node_id: nodeId("PullRequest", pull.id),
    html_url: page,
    diff_url: `${page}.diff`,
    patch_url: `${page}.patch`,
    issue_url: issueUrl(world, issue),
    number: issue.number,
    state: issue.state,
    locked: issue.isLocked,
    title: issue.title,
    user: userShape(world, issue.author),
    body: issue.body,
    created_at: instant(issue.createdAt),
    updated_at: instant(issue.updatedAt),
    closed_at: issue.closedAt === null ? null : instant(issue.closedAt),
    merged_at: pull.mergedAt === null ? null : instant(pull.mergedAt),
    merge_commit_sha: pull.mergeCommit,
    assignee: null,
    assignees: [],
    requested_reviewers: [],
    requested_teams: [],
    labels: [],
    milestone: null,
    draft: pull.isDraft,
    ...links,
    head: headShape(world, issue),
    base: branchShape(world, repository, { ref: pull.baseRef, sha: pull.baseSha }),
    _links: {
      self: { href: url },
      html: { href: page },
      issue: { href: issueUrl(world, issue) },
      comments: { href: links.comments_url },
      review_comments: { href: links.review_comments_url },
      review_comment: { href: links.review_comment_url },
      commits: { href: links.commits_url },
      statuses: { href: statuses },
    },
    author_association: associationOf(world, repository, issue.author),
    auto_merge: null,
    active_lock_reason: issue.isLocked ? "resolved" : null,
  };
}

/** As the answer about one pull request. */
export function pullShape(world: World, issue: PullIssue): Record<string, unknown> {
  const { pull, repository } = issue;
  const inline = world.inlineComments.filter((one) => one.issue === issue && !one.isDeleted);
  const ahead = repository.git.ask(["rev-list", "--count", `${pull.baseSha}..${pull.headSha}`]);
  const isOpen = issue.state === "open";
  return {
    ...simplePullShape(world, issue),
    merged: pull.mergedAt !== null,
    mergeable: isOpen ? true : null,
    rebaseable: isOpen ? true : null,
    mergeable_state: isOpen ? "clean" : "unknown",
    merged_by: pull.mergedBy === null ? null : userShape(world, pull.mergedBy),
    comments: commentsOf(world, issue).length,
    review_comments: inline.length,
    maintainer_can_modify: false,
    commits: Number(ahead),
    additions: 1,
    deletions: 0,
    changed_files: 1,
  };
}

interface Branch {
  readonly ref: string;
  readonly sha: string;
}

/** `repo` is null once the fork is gone. */
function headShape(world: World, { pull }: PullIssue): Record<string, unknown> {
  const branch = { ref: pull.headRef, sha: pull.headSha };
  const { headRepository, headOwner } = pull;
  if (headRepository !== null && !headRepository.isDeleted) {
    return branchShape(world, headRepository, branch);
  }
  const label = `${headOwner.login}:${pull.headRef}`;
  return { label, ...branch, user: userShape(world, headOwner), repo: null };
}

function branchShape(
  world: World,
  repository: Repository,
  { ref, sha }: Branch,
): Record<string, unknown> {
  const { owner } = repository;
  const repo = repositoryShape(world, repository);
  return { label: `${owner.login}:${ref}`, ref, sha, user: userShape(world, owner), repo };
}

export function reviewShape(world: World, review: Review): Record<string, unknown> {
  const { id, issue, author, body, state, commit } = review;
  const page = `${issuePage(world, issue)}#pullrequestreview-${id}`;
  const pull = `${repositoryUrl(world, issue.repository)}/pulls/${issue.number}`;
  return {
    id,
    node_id: nodeId("PullRequestReview", id),
    user: userShape(world, author),
    body,
    state,
    html_url: page,
    pull_request_url: pull,
    author_association: associationOf(world, issue.repository, author),
    _links: { html: { href: page }, pull_request: { href: pull } },
    submitted_at: instant(review.createdAt),
    commit_id: commit,
  };
}

function inlineCommentUrl(world: World, { id, issue }: InlineComment): string {
  return `${repositoryUrl(world, issue.repository)}/pulls/comments/${id}`;
}

export function inlineCommentShape(world: World, comment: InlineComment): Record<string, unknown> {
  const { id, issue, author, path, line, commit, inReplyTo } = comment;
  const url = inlineCommentUrl(world, comment);
  const page = `${issuePage(world, issue)}#discussion_r${id}`;
  const pull = `${repositoryUrl(world, issue.repository)}/pulls/${issue.number}`;
  return {
    url,
    pull_request_review_id: comment.review.id,
    id,
    node_id: nodeId("PullRequestReviewComment", id),
    diff_hunk: `@@ -${line},1 +${line},1 @@`,
    path,
    commit_id: commit,
    original_commit_id: commit,
    user: userShape(world, author),
    body: comment.body,
    created_at: instant(comment.createdAt),
    updated_at: instant(comment.updatedAt),
    html_url: page,
    pull_request_url: pull,
    author_association: associationOf(world, issue.repository, author),
    _links: { self: { href: url }, html: { href: page }, pull_request: { href: pull } },
    reactions: rollup(world, comment, `${url}/reactions`),
    start_line: null,
    original_start_line: null,
    start_side: null,
    line,
    original_line: line,
    side: "RIGHT",
    position: line,
    original_position: line,
    subject_type: "line",
    ...(inReplyTo !== null && { in_reply_to_id: inReplyTo }),
  };
}
