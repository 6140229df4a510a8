// Routes of branches, refs, commits, check runs and statuses (spec 3.4, 6.4).

import { checkRun, completeCheckRun } from "../acts/checks.ts";
import { notFound, Refused } from "../refused.ts";
import {
  paged,
  param,
  repositoryOf,
  rowOf,
  textOf,
  type Call,
  type Reply,
  type Route,
} from "../route.ts";
import {
  branchShape,
  checkRunShape,
  combinedStatusShape,
  commitShape,
  refShape,
  tagShape,
} from "../shapes/commits.ts";
import type { CheckRun } from "../world.ts";

const base = "/repos/{owner}/{repo}";
const contents = { access: "installation", needs: ["contents:read"] } as const;
const checks = { access: "installation", needs: ["checks:read"] } as const;
const writes = { access: "installation", needs: ["checks:write"] } as const;
const statuses = { access: "installation", needs: ["statuses:read"] } as const;

export const commitRoutes: readonly Route[] = [
  { on: `GET ${base}/branches/{branch...}`, ...contents, answer: readBranch },
  { on: `GET ${base}/git/ref/{ref...}`, ...contents, answer: readRef },
  { on: `GET ${base}/git/matching-refs/{ref...}`, ...contents, answer: matchRefs },
  { on: `GET ${base}/tags`, ...contents, answer: listTags },
  { on: `GET ${base}/commits/{ref...}/check-runs`, ...checks, answer: listCheckRuns },
  { on: `GET ${base}/commits/{ref...}/status`, ...statuses, answer: readStatus },
  { on: `GET ${base}/commits/{ref...}`, ...contents, answer: readCommit },
  { on: `POST ${base}/check-runs`, ...writes, answer: createCheckRun },
  { on: `GET ${base}/check-runs/{check_run_id}`, ...checks, answer: readCheckRun },
  { on: `PATCH ${base}/check-runs/{check_run_id}`, ...writes, answer: updateCheckRun },
];

function readBranch(call: Call): Reply {
  const repository = repositoryOf(call);
  const name = param(call, "branch");
  const commit = repository.git.resolve(`refs/heads/${name}`);
  if (commit === null) throw new Refused(404, "Branch not found");
  return { body: branchShape(call.world, repository, { name, commit }) };
}

function readRef(call: Call): Reply {
  const repository = repositoryOf(call);
  const name = `refs/${param(call, "ref")}`;
  if (!repository.git.refs().has(name)) throw notFound();
  return { body: refShape(call.world, repository, name) };
}

function matchRefs(call: Call): Reply {
  const repository = repositoryOf(call);
  const start = `refs/${param(call, "ref")}`;
  const names = [...repository.git.refs().keys()].filter((name) => name.startsWith(start));
  return { body: names.map((name) => refShape(call.world, repository, name)) };
}

function listTags(call: Call): Reply {
  const repository = repositoryOf(call);
  const names = [...repository.git.refs().keys()]
    .filter((name) => name.startsWith("refs/tags/"))
    .map((name) => name.slice("refs/tags/".length))
    .toReversed();
  return paged(call, names, { shape: (name) => tagShape(call.world, repository, name) });
}

/** A branch, a tag or a commit; GitHub answers 422 for what is none. */
function commitOf(call: Call): string {
  const ref = param(call, "ref");
  const { git } = repositoryOf(call);
  const found = git.resolve(ref);
  if (found === null) throw new Refused(422, `No commit found for SHA: ${ref}`);
  return found;
}

function readCommit(call: Call): Reply {
  return { body: commitShape(call.world, repositoryOf(call), commitOf(call)) };
}

function readStatus(call: Call): Reply {
  const repository = repositoryOf(call);
  const all = combinedStatusShape(call.world, repository, commitOf(call));
  return paged(call, all.statuses, {
    shape: (status) => status,
    wrap: (page) => ({ ...all, statuses: page }),
  });
}

/** Only the latest of each name and App, unless `filter=all`. */
function listCheckRuns(call: Call): Reply {
  const { world, url } = call;
  const repository = repositoryOf(call);
  const commit = commitOf(call);
  const { searchParams } = url;
  const found = world.checkRuns.filter(
    (one) =>
      one.repository === repository &&
      one.commit === commit &&
      [null, one.name].includes(searchParams.get("check_name")) &&
      [null, one.status as string].includes(searchParams.get("status")) &&
      [null, String(one.app.id)].includes(searchParams.get("app_id")),
  );
  const latest = new Map(found.map((one) => [`${one.app.id} ${one.name}`, one]));
  const rows = searchParams.get("filter") === "all" ? found : [...latest.values()];
  return paged(call, rows, {
    shape: (row) => checkRunShape(world, row),
    wrap: (page) => ({ total_count: rows.length, check_runs: page }),
  });
}

function checkRunOf(call: Call): CheckRun {
  return rowOf(call, "check_run_id", call.world.checkRuns);
}

function readCheckRun(call: Call): Reply {
  return { body: checkRunShape(call.world, checkRunOf(call)) };
}

function createCheckRun(call: Call): Reply {
  const { world } = call;
  const repository = repositoryOf(call);
  const commit = textOf(call, "head_sha") ?? "";
  if (repository.git.resolve(commit) !== commit) {
    throw new Refused(422, `No commit found for SHA: ${commit}`);
  }
  refuseEndless(call);
  const name = textOf(call, "name") ?? "";
  const made = checkRun(world, { repository, app: world.app, commit, name });
  change(call, made);
  return { status: 201, body: checkRunShape(world, made) };
}

/** An App changes its own alone. */
function updateCheckRun(call: Call): Reply {
  const check = checkRunOf(call);
  if (check.app !== call.world.app) throw new Refused(403, "Invalid app_id `0` - check run");
  refuseEndless(call);
  change(call, check);
  return { body: checkRunShape(call.world, check) };
}

/** The description lets it through, GitHub does not. */
function refuseEndless(call: Call): void {
  if (textOf(call, "status") !== "completed" || textOf(call, "conclusion") !== null) return;
  throw new Refused(422, "Invalid request. No subschema in anyOf matched: conclusion is missing.");
}

interface Output {
  readonly title?: string;
  readonly summary?: string;
  readonly text?: string;
  readonly annotations?: readonly unknown[];
}

function change(call: Call, check: CheckRun): void {
  check.name = textOf(call, "name") ?? check.name;
  check.externalId = textOf(call, "external_id") ?? check.externalId;
  check.detailsUrl = textOf(call, "details_url") ?? check.detailsUrl;
  const output = call.body["output"] as Output | undefined;
  if (output !== undefined) {
    const { title = null, summary = null, text = null, annotations = [] } = output;
    check.output = { title, summary, text };
    check.annotationCount += annotations.length;
  }
  const status = textOf(call, "status");
  const conclusion = textOf(call, "conclusion");
  if (conclusion !== null) {
    completeCheckRun(call.world, check, conclusion);
  } else if (status === "queued" || status === "in_progress") {
    check.status = status;
    check.conclusion = check.completedAt = null;
  }
}
