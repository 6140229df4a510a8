// What other programs say about commits (spec 3.4, 8.4): check runs and statuses, which stay, and workflow runs,
// deployments and dispatches, which are told alone.

import { seedOf, seedPart } from "../payloads.ts";
import { appShape, instant, nodeId, userShape } from "../shapes/accounts.ts";
import { checkRunShape, commitShape, statusShape, suiteId } from "../shapes/commits.ts";
import type { Account, App, CheckRun, Repository, Status, World } from "../world.ts";

export interface NewCheckRun {
  readonly repository: Repository;
  readonly app: App;
  readonly commit: string;
  readonly name: string;
  readonly status?: CheckRun["status"];
  /** Given, the run is completed. */
  readonly conclusion?: string;
}

export function checkRun(world: World, options: NewCheckRun): CheckRun {
  const { repository, app, commit, name, status = "queued" } = options;
  const at = world.now();
  const made: CheckRun = {
    id: world.nextId(),
    repository,
    app,
    commit,
    name,
    status,
    conclusion: null,
    externalId: "",
    detailsUrl: null,
    output: { title: null, summary: null, text: null },
    annotationCount: 0,
    startedAt: at,
    completedAt: null,
  };
  world.checkRuns.push(made);
  const row = { kind: "check", id: made.id, by: app.bot, repository, number: null } as const;
  world.created.push({ ...row, body: name, at });
  tellCheckRun(world, made, "created");
  if (options.conclusion !== undefined) completeCheckRun(world, made, options.conclusion);
  return made;
}

/** Ends the suite as well when it was the last. */
export function completeCheckRun(world: World, check: CheckRun, conclusion: string): void {
  check.status = "completed";
  check.conclusion = conclusion;
  check.completedAt = world.now();
  tellCheckRun(world, check, "completed");
  const { repository, app, commit } = check;
  const suite = world.checkRuns.filter(
    (one) => one.repository === repository && one.app === app && one.commit === commit,
  );
  if (suite.some(({ status }) => status !== "completed")) return;
  const isGood = suite.every((one) => one.conclusion === "success");
  const event = { name: "check_suite", action: "completed", repository };
  const seed = seedPart(seedOf(world, event), "check_suite");
  const check_suite = {
    ...seed,
    id: suiteId(check),
    head_branch: null,
    head_sha: commit,
    status: "completed",
    conclusion: isGood ? "success" : conclusion,
    after: commit,
    pull_requests: [],
    app: appShape(world, app),
  };
  world.tell({ ...event, sender: app.bot, parts: { check_suite } });
}

function tellCheckRun(world: World, check: CheckRun, action: string): void {
  const { repository, app, commit } = check;
  const shape = checkRunShape(world, check);
  const check_suite = { id: suiteId(check), head_sha: commit, app: appShape(world, app) };
  const parts = { check_run: { ...shape, check_suite } };
  world.tell({ name: "check_run", action, sender: app.bot, repository, parts });
}

export interface NewStatus {
  readonly repository: Repository;
  readonly by: Account;
  readonly commit: string;
  readonly state: Status["state"];
  readonly context?: string;
  readonly description?: string;
}

export function setStatus(world: World, options: NewStatus): Status {
  const { context = "ci", description = "", repository, by, commit } = options;
  const id = world.nextId();
  const made: Status = { ...options, context, description, id, createdAt: world.now() };
  world.statuses.push(made);
  const parts = {
    ...statusShape(world, made),
    sha: commit,
    name: `${repository.owner.login}/${repository.name}`,
    commit: commitShape(world, repository, commit),
    branches: [],
  };
  world.tell({ name: "status", action: null, sender: by, repository, parts });
  return made;
}

export interface WorkflowRun {
  readonly repository: Repository;
  readonly by: Account;
  readonly commit: string;
  readonly branch: string;
  readonly name?: string;
  readonly conclusion?: string;
}

export function completeWorkflowRun(world: World, run: WorkflowRun): void {
  const { repository, by, commit, branch, name = "CI", conclusion = "success" } = run;
  const event = { name: "workflow_run", action: "completed", repository };
  const seed = seedOf(world, event);
  const workflow_run = {
    ...seedPart(seed, "workflow_run"),
    id: world.nextId(),
    name,
    head_branch: branch,
    head_sha: commit,
    status: "completed",
    conclusion,
    event: "push",
    actor: userShape(world, by),
    pull_requests: [],
  };
  const workflow = { ...seedPart(seed, "workflow"), name };
  world.tell({ ...event, sender: by, parts: { workflow_run, workflow } });
}

export interface DeploymentStatus {
  readonly repository: Repository;
  readonly by: Account;
  readonly commit: string;
  readonly state: string;
  readonly environment?: string;
}

export function setDeploymentStatus(world: World, options: DeploymentStatus): void {
  const { repository, by, commit, state, environment = "production" } = options;
  const event = { name: "deployment_status", action: "created", repository };
  const seed = seedOf(world, event);
  const id = world.nextId();
  const creator = userShape(world, by);
  const at = instant(world.now());
  const rest = { environment, creator, created_at: at, updated_at: at };
  const deployment = { ...seedPart(seed, "deployment"), id, ...rest, sha: commit, ref: commit };
  const node_id = nodeId("DeploymentStatus", id);
  const status = { ...seedPart(seed, "deployment_status"), id, node_id, ...rest, state };
  world.tell({ ...event, sender: by, parts: { deployment_status: status, deployment } });
}

/** Comes from anybody with write access, with whatever they put in. */
export function dispatch(
  world: World,
  options: {
    readonly repository: Repository;
    readonly by: Account;
    readonly type: string;
    readonly payload?: Readonly<Record<string, unknown>>;
  },
): void {
  const { repository, by, type, payload = {} } = options;
  const parts = { branch: repository.defaultBranch, client_payload: payload };
  world.tell({ name: "repository_dispatch", action: type, sender: by, repository, parts });
}
