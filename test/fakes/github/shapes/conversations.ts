// Issues, comments and reactions as GitHub prints them (spec 8.4). A pull request is an issue too.

import {
  isPull,
  reactionContents,
  roleOf,
  type Account,
  type Comment,
  type Issue,
  type Reaction,
  type Repository,
  type World,
} from "../world.ts";
import { appShape, instant, nodeId, userShape, type Answer } from "./accounts.ts";
import { repositoryPage, repositoryUrl } from "./repositories.ts";

type Association = Answer<"issues", "getComment">["author_association"];

/** Says little, as on GitHub: Apps have none, and it is no authority for anything. */
export function associationOf(
  world: World,
  repository: Repository,
  account: Account,
): NonNullable<Association> {
  if (account.type === "Bot") return "NONE";
  if (repository.owner === account) return "OWNER";
  const isNamed = repository.roles.has(account.id);
  return isNamed && roleOf(world, repository, account) !== null ? "COLLABORATOR" : "NONE";
}

export function issueUrl(world: World, issue: Issue): string {
  return `${repositoryUrl(world, issue.repository)}/issues/${issue.number}`;
}

export function issuePage(world: World, issue: Issue): string {
  const kind = isPull(issue) ? "pull" : "issues";
  return `${repositoryPage(world, issue.repository)}/${kind}/${issue.number}`;
}

function commentUrl(world: World, { id, issue }: Comment): string {
  return `${repositoryUrl(world, issue.repository)}/issues/comments/${id}`;
}

export function commentsOf(world: World, issue: Issue): Comment[] {
  return world.comments.filter((comment) => comment.issue === issue && !comment.isDeleted);
}

export function issueShape(world: World, issue: Issue): Record<string, unknown> {
  const url = issueUrl(world, issue);
  const page = issuePage(world, issue);
  const { id, repository, number, author, state, closedAt } = issue;
  return {
    url,
    repository_url: repositoryUrl(world, repository),
    labels_url: `${url}/labels{/name}`,
    comments_url: `${url}/comments`,
    events_url: `${url}/events`,
    html_url: page,
    id,
    node_id: nodeId("Issue", id),
    number,
    title: issue.title,
    user: userShape(world, author),
    labels: [],
    state,
    locked: issue.isLocked,
    assignee: null,
    assignees: [],
    milestone: null,
    comments: commentsOf(world, issue).length,
    created_at: instant(issue.createdAt),
    updated_at: instant(issue.updatedAt),
    closed_at: closedAt === null ? null : instant(closedAt),
    author_association: associationOf(world, repository, author),
    active_lock_reason: issue.isLocked ? "resolved" : null,
    body: issue.body,
    closed_by: issue.closedBy === null ? null : userShape(world, issue.closedBy),
    reactions: rollup(world, issue, `${url}/reactions`),
    timeline_url: `${url}/timeline`,
    performed_via_github_app: issue.app === null ? null : appShape(world, issue.app),
    state_reason: state === "closed" ? "completed" : null,
    ...(isPull(issue) && { draft: issue.pull.isDraft, pull_request: pullLinks(world, issue) }),
  };
}

function pullLinks(world: World, issue: Issue): Record<string, unknown> {
  const page = issuePage(world, issue);
  const mergedAt = issue.pull?.mergedAt ?? null;
  return {
    url: `${repositoryUrl(world, issue.repository)}/pulls/${issue.number}`,
    html_url: page,
    diff_url: `${page}.diff`,
    patch_url: `${page}.patch`,
    merged_at: mergedAt === null ? null : instant(mergedAt),
  };
}

export function commentShape(world: World, comment: Comment): Answer<"issues", "getComment"> {
  const { id, issue, author, app, body } = comment;
  const url = commentUrl(world, comment);
  return {
    url,
    html_url: `${issuePage(world, issue)}#issuecomment-${id}`,
    issue_url: issueUrl(world, issue),
    id,
    node_id: nodeId("IssueComment", id),
    user: userShape(world, author),
    created_at: instant(comment.createdAt),
    updated_at: instant(comment.updatedAt),
    author_association: associationOf(world, issue.repository, author),
    body,
    reactions: rollup(world, comment, `${url}/reactions`),
    performed_via_github_app: app === null ? null : appShape(world, app),
  };
}

export function reactionShape(
  world: World,
  reaction: Reaction,
): Omit<Answer<"reactions", "createForIssue">, "content"> & { content: string } {
  const { id, by, content, createdAt } = reaction;
  return {
    id,
    node_id: nodeId("Reaction", id),
    user: userShape(world, by),
    content,
    created_at: instant(createdAt),
  };
}

type Rollup = NonNullable<Answer<"issues", "getComment">["reactions"]>;

export function rollup(world: World, subject: Reaction["subject"], url: string): Rollup {
  const found = world.reactions.filter((reaction) => reaction.subject === subject);
  const counts = Object.fromEntries(
    reactionContents.map((name) => [name, found.filter((one) => one.content === name).length]),
  );
  return { ...(counts as Omit<Rollup, "url" | "total_count">), url, total_count: found.length };
}
