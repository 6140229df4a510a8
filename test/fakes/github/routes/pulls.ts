// Routes of pull requests, reviews and comments on lines (spec 6.4, 4): GitHub's rules for making one included.

import { editIssue, closeIssue, reopenIssue } from "../acts/conversations.ts";
import { inlineComment, openPull, review, setDraft } from "../acts/pulls.ts";
import { invalid, notFound, Refused } from "../refused.ts";
import {
  actorOf,
  changedSince,
  findRepository,
  paged,
  pullOf,
  refuseLocked,
  repositoryOf,
  rowOf,
  sorted,
  textOf,
  type Call,
  type Reply,
  type Route,
} from "../route.ts";
import { nodeId } from "../shapes/accounts.ts";
import { inlineCommentShape, pullShape, reviewShape, simplePullShape } from "../shapes/pulls.ts";
import { isPull, type PullIssue, type Repository, type Review } from "../world.ts";
import { bodyOf } from "./issues.ts";

const base = "/repos/{owner}/{repo}/pulls";
const reads = { access: "installation", needs: ["pull_requests:read"] } as const;
const writes = { access: "installation", needs: ["pull_requests:write"] } as const;

export const pullRoutes: readonly Route[] = [
  { on: `GET ${base}`, ...reads, answer: listPulls },
  { on: `POST ${base}`, ...writes, answer: createPull },
  { on: `GET ${base}/comments`, ...reads, answer: listAllInlineComments },
  { on: `GET ${base}/comments/{comment_id}`, ...reads, answer: readInlineComment },
  { on: `GET ${base}/{pull_number}`, ...reads, answer: readPull },
  { on: `PATCH ${base}/{pull_number}`, ...writes, answer: updatePull },
  { on: `GET ${base}/{pull_number}/comments`, ...reads, answer: listInlineComments },
  {
    on: `POST ${base}/{pull_number}/comments/{comment_id}/replies`,
    ...writes,
    answer: replyToInlineComment,
  },
  { on: `GET ${base}/{pull_number}/reviews`, ...reads, answer: listReviews },
  { on: `POST ${base}/{pull_number}/reviews`, ...writes, answer: createReview },
  { on: `GET ${base}/{pull_number}/reviews/{review_id}`, ...reads, answer: readReview },
  { on: "POST /graphql", ...writes, answer: mutate },
];

function pullsOf(call: Call): PullIssue[] {
  const repository = repositoryOf(call);
  return call.world.issues.filter(isPull).filter((issue) => issue.repository === repository);
}

/** `head` is `owner:branch`; without an owner GitHub leaves it aside. */
function listPulls(call: Call): Reply {
  const { searchParams } = call.url;
  const state = searchParams.get("state") ?? "open";
  const head = searchParams.get("head");
  const rows = pullsOf(call).filter(
    ({ pull, ...issue }) =>
      (state === "all" || issue.state === state) &&
      (head === null ||
        !head.includes(":") ||
        head === `${pull.headOwner.login}:${pull.headRef}`) &&
      [null, pull.baseRef].includes(searchParams.get("base")),
  );
  const shown = sorted(call, rows, searchParams.has("sort") ? "asc" : "desc");
  return paged(call, shown, { shape: (row) => simplePullShape(call.world, row) });
}

function readPull(call: Call): Reply {
  return { body: pullShape(call.world, pullOf(call)) };
}

function createPull(call: Call): Reply {
  const { world, body } = call;
  const repository = repositoryOf(call);
  const base = String(body["base"]);
  const { from, head } = headOf(call, repository);
  const headSha = from.git.resolve(`refs/heads/${head}`);
  if (headSha === null) throw invalid("PullRequest", { field: "head", message: "invalid" });
  const baseSha = repository.git.resolve(`refs/heads/${base}`);
  if (baseSha === null) throw invalid("PullRequest", { field: "base", message: "invalid" });
  const label = `${from.owner.login}:${head}`;
  const twin = pullsOf(call).some(
    ({ state, pull }) =>
      state === "open" &&
      pull.headRepository === from &&
      pull.headRef === head &&
      pull.baseRef === base,
  );
  const field = "head";
  if (twin) {
    const message = `A pull request already exists for ${label}.`;
    throw invalid("PullRequest", { field, message });
  }
  if (from.git.ask(["rev-list", "--count", `${baseSha}..${headSha}`]) === "0") {
    const message = `No commits between ${base} and ${head}`;
    throw invalid("PullRequest", { field, message });
  }
  const made = openPull(world, {
    repository,
    by: actorOf(call),
    head,
    from,
    base,
    title: textOf(call, "title") ?? "",
    body: textOf(call, "body") ?? "",
    isDraft: body["draft"] === true,
  });
  return { status: 201, body: pullShape(world, made) };
}

function headOf({ world, body }: Call, repository: Repository): { from: Repository; head: string } {
  const parts = String(body["head"]).split(":");
  const [owner, head] = parts.length === 2 ? parts : [repository.owner.login, parts[0]];
  const from = findRepository(world, `${owner}/${repository.name}`);
  if (from === null) throw invalid("PullRequest", { field: "head", message: "invalid" });
  return { from, head: head ?? "" };
}

function updatePull(call: Call): Reply {
  const { world, body } = call;
  const issue = pullOf(call);
  const by = actorOf(call);
  const { state } = body;
  const [title, text] = [textOf(call, "title"), textOf(call, "body")];
  if (title !== null || text !== null) {
    const change = { ...(title !== null && { title }), ...(text !== null && { body: text }) };
    editIssue(world, issue, { by, ...change });
  }
  if (state === "closed" && issue.state === "open") closeIssue(world, issue, by);
  if (state === "open" && issue.state === "closed") reopenIssue(world, issue, by);
  return { body: pullShape(world, issue) };
}

function reviewsOf(call: Call): Review[] {
  const issue = pullOf(call);
  return call.world.reviews.filter((one) => one.issue === issue);
}

function listReviews(call: Call): Reply {
  return paged(call, reviewsOf(call), { shape: (row) => reviewShape(call.world, row) });
}

function readReview(call: Call): Reply {
  const found = reviewsOf(call).find(({ id }) => String(id) === call.params["review_id"]);
  if (found === undefined) throw notFound();
  return { body: reviewShape(call.world, found) };
}

const reviewStates = {
  APPROVE: "APPROVED",
  REQUEST_CHANGES: "CHANGES_REQUESTED",
  COMMENT: "COMMENTED",
} as const;

function createReview(call: Call): Reply {
  const { world, body } = call;
  const issue = pullOf(call);
  refuseLocked(issue);
  const event = body["event"] as keyof typeof reviewStates | undefined;
  const state = event === undefined ? "PENDING" : reviewStates[event];
  const made = review(world, { issue, by: actorOf(call), body: textOf(call, "body") ?? "", state });
  for (const line of (body["comments"] ?? []) as readonly LineWish[]) {
    inlineComment(world, { issue, by: actorOf(call), review: made, ...line });
  }
  return { body: reviewShape(world, made) };
}

interface LineWish {
  readonly path: string;
  readonly line?: number;
  readonly body: string;
}

function listInlineComments(call: Call): Reply {
  const issue = pullOf(call);
  const rows = call.world.inlineComments.filter((one) => one.issue === issue && !one.isDeleted);
  const shown = sorted(call, changedSince(call, rows), "asc");
  return paged(call, shown, { shape: (row) => inlineCommentShape(call.world, row) });
}

function listAllInlineComments(call: Call): Reply {
  const repository = repositoryOf(call);
  const rows = call.world.inlineComments.filter(
    ({ issue, isDeleted }) => issue.repository === repository && !isDeleted,
  );
  const shown = sorted(call, changedSince(call, rows), "asc");
  return paged(call, shown, { shape: (row) => inlineCommentShape(call.world, row) });
}

function readInlineComment(call: Call): Reply {
  const found = rowOf(call, "comment_id", call.world.inlineComments);
  return { body: inlineCommentShape(call.world, found) };
}

function replyToInlineComment(call: Call): Reply {
  const issue = pullOf(call);
  refuseLocked(issue);
  const inReplyTo = rowOf(call, "comment_id", call.world.inlineComments);
  const body = bodyOf(call, "PullRequestReviewComment");
  const made = inlineComment(call.world, { issue, by: actorOf(call), body, inReplyTo });
  return { status: 201, body: inlineCommentShape(call.world, made) };
}

/** The two mutations that REST lacks. */
const mutations = { convertPullRequestToDraft: true, markPullRequestReadyForReview: false };

function mutate(call: Call): Reply {
  const { world, body, credential } = call;
  const query = String(body["query"]);
  const name = Object.keys(mutations).find((one) => query.includes(one));
  if (name !== "convertPullRequestToDraft" && name !== "markPullRequestReadyForReview") {
    throw new Refused(400, "The fake knows two mutations");
  }
  const ids = Object.values((body["variables"] ?? {}) as Record<string, unknown>).flatMap((value) =>
    typeof value === "object" && value !== null ? Object.values(value) : [value],
  );
  const issue = world.issues
    .filter(isPull)
    .find(({ pull }) => [...ids, ...quoted(query)].includes(nodeId("PullRequest", pull.id)));
  const isReached =
    issue !== undefined &&
    credential.kind === "installation" &&
    (credential.token.repositories ?? new Set([issue.repository])).has(issue.repository);
  if (!isReached) {
    const message = "Could not resolve to a node with the global id";
    return { body: { data: { [name]: null }, errors: [{ type: "NOT_FOUND", message }] } };
  }
  setDraft(world, issue, { by: actorOf(call), isDraft: mutations[name] });
  const pullRequest = { id: nodeId("PullRequest", issue.pull.id), isDraft: issue.pull.isDraft };
  return { body: { data: { [name]: { pullRequest } } } };
}

function quoted(query: string): string[] {
  return [...query.matchAll(/"([^"]+)"/g)].map(([, text = ""]) => text);
}
