// Routes of issues, their comments and reactions (spec 6.2, 6.3). Pull requests are issues here.

import { comment, deleteComment, editComment, react } from "../acts/conversations.ts";
import { invalid, Refused } from "../refused.ts";
import {
  actorOf,
  changedSince,
  issueOf,
  paged,
  refuseLocked,
  repositoryOf,
  rowOf,
  sorted,
  type Call,
  type Reply,
  type Route,
} from "../route.ts";
import { commentShape, commentsOf, issueShape, reactionShape } from "../shapes/conversations.ts";
import { reactionContents, type Comment, type Issue, type Reaction } from "../world.ts";

const base = "/repos/{owner}/{repo}";
const reads = { access: "installation", needs: ["issues:read", "pull_requests:read"] } as const;
const writes = { access: "installation", needs: ["issues:write", "pull_requests:write"] } as const;

export const issueRoutes: readonly Route[] = [
  { on: `GET ${base}/issues`, ...reads, answer: listIssues },
  { on: `GET ${base}/issues/comments`, ...reads, answer: listAllComments },
  { on: `GET ${base}/issues/comments/{comment_id}`, ...reads, answer: readComment },
  { on: `PATCH ${base}/issues/comments/{comment_id}`, ...writes, answer: updateComment },
  { on: `DELETE ${base}/issues/comments/{comment_id}`, ...writes, answer: removeComment },
  ...reactionRoutes("issues/comments/{comment_id}", commentSubject),
  { on: `GET ${base}/issues/{issue_number}`, ...reads, answer: readIssue },
  { on: `GET ${base}/issues/{issue_number}/comments`, ...reads, answer: listComments },
  { on: `POST ${base}/issues/{issue_number}/comments`, ...writes, answer: createComment },
  ...reactionRoutes("issues/{issue_number}", issueSubject),
  ...reactionRoutes("pulls/comments/{comment_id}", inlineSubject),
];

/** Newest first, pull requests among them. */
function listIssues(call: Call): Reply {
  const { world, url } = call;
  const state = url.searchParams.get("state") ?? "open";
  const rows = world.issues.filter(
    (issue) =>
      issue.repository === repositoryOf(call) &&
      !issue.isDeleted &&
      (state === "all" || issue.state === state),
  );
  const shown = sorted(call, changedSince(call, rows), "desc");
  return paged(call, shown, { shape: (row) => issueShape(world, row) });
}

function readIssue(call: Call): Reply {
  return { body: issueShape(call.world, issueOf(call)) };
}

/** Rising by id, whatever is asked: this list knows no order. */
function listComments(call: Call): Reply {
  const rows = changedSince(call, commentsOf(call.world, issueOf(call)));
  return paged(call, rows, { shape: (row) => commentShape(call.world, row) });
}

function listAllComments(call: Call): Reply {
  const repository = repositoryOf(call);
  const rows = call.world.comments.filter(
    (one) => one.issue.repository === repository && !one.isDeleted && !one.issue.isDeleted,
  );
  const shown = sorted(call, changedSince(call, rows), "asc");
  return paged(call, shown, { shape: (row) => commentShape(call.world, row) });
}

function commentOf(call: Call): Comment {
  return rowOf(call, "comment_id", call.world.comments);
}

function readComment(call: Call): Reply {
  return { body: commentShape(call.world, commentOf(call)) };
}

const bodyLimit = 65_536;

/** Throws 422 for what is no comment. */
export function bodyOf({ body: { body } }: Call, resource: string): string {
  if (typeof body !== "string" || body.trim() === "") {
    throw invalid(resource, { field: "body", message: "body can't be blank" });
  }
  if (Array.from(body).length <= bodyLimit) return body;
  throw invalid(resource, {
    field: "body",
    message: "body is too long (maximum is 65536 characters)",
  });
}

function createComment(call: Call): Reply {
  const issue = issueOf(call);
  refuseLocked(issue);
  const body = bodyOf(call, "IssueComment");
  const made = comment(call.world, { issue, by: actorOf(call), body });
  return { status: 201, body: commentShape(call.world, made) };
}

function updateComment(call: Call): Reply {
  const edited = commentOf(call);
  const body = bodyOf(call, "IssueComment");
  editComment(call.world, edited, { by: actorOf(call), body });
  return { body: commentShape(call.world, edited) };
}

function removeComment(call: Call): Reply {
  deleteComment(call.world, commentOf(call), actorOf(call));
  return { status: 204 };
}

interface Subject {
  readonly subject: Reaction["subject"];
  readonly issue: Issue;
}

function issueSubject(call: Call): Subject {
  const issue = issueOf(call);
  return { subject: issue, issue };
}

function commentSubject(call: Call): Subject {
  const subject = commentOf(call);
  return { subject, issue: subject.issue };
}

function inlineSubject(call: Call): Subject {
  const subject = rowOf(call, "comment_id", call.world.inlineComments);
  return { subject, issue: subject.issue };
}

/** A second reaction of the same kind is found, not made: 200 instead of 201. */
function reactionRoutes(path: string, find: (call: Call) => Subject): Route[] {
  function list(call: Call): Reply {
    const { subject } = find(call);
    const wanted = call.url.searchParams.get("content");
    const rows = call.world.reactions.filter(
      (one) => one.subject === subject && (wanted === null || one.content === wanted),
    );
    return paged(call, rows, { shape: (row) => reactionShape(call.world, row) });
  }
  function create(call: Call): Reply {
    const content = String(call.body["content"]);
    if (!reactionContents.some((known) => known === content)) {
      throw new Refused(422, "Validation Failed");
    }
    const { subject, issue } = find(call);
    const wish = { subject, issue, by: actorOf(call), content };
    const { reaction, isNew } = react(call.world, wish);
    return { status: isNew ? 201 : 200, body: reactionShape(call.world, reaction) };
  }
  const on = `${base}/${path}/reactions`;
  return [
    { on: `GET ${on}`, ...reads, answer: list },
    { on: `POST ${on}`, ...writes, answer: create },
  ];
}
