// GitHub's events as nudges (spec 3.4): doorbells with what they are about. They prove nothing; whoever is woken looks
// for himself.

import type { ForgeEvent, NudgeEvent } from "../../../../policies/events.ts";
import { idOf, type Payload, type ReadingOptions } from "./payload.ts";

interface Nudging extends Payload {
  readonly release?: { readonly tag_name: string };
  readonly package?: Package;
  readonly registry_package?: Package;
  readonly check_run?: {
    readonly head_sha: string;
    readonly app?: { readonly id: number } | null;
    readonly check_suite?: { readonly head_branch?: string | null };
  };
  readonly check_suite?: Suite;
  readonly workflow_run?: Suite;
  readonly sha?: string;
  readonly branches?: readonly { readonly name: string }[];
  readonly deployment?: { readonly sha: string; readonly ref: string };
  readonly pull_request?: {
    readonly number: number;
    readonly merged?: boolean;
    readonly head: { readonly sha: string; readonly ref: string };
  };
  readonly issue?: { readonly number: number };
  readonly ref?: string;
  readonly ref_type?: string;
  readonly after?: string;
  readonly branch?: string;
}

interface Suite {
  readonly head_sha: string;
  readonly head_branch?: string | null;
  readonly app?: { readonly id: number } | null;
}

interface Package {
  readonly package_version?: { readonly version?: string; readonly tag_name?: string } | null;
}

type About = Partial<Pick<NudgeEvent, "tag" | "branch" | "commit" | "number">>;

export function nudgesOf(name: string, payload: Payload, options: ReadingOptions): ForgeEvent[] {
  const told = payload as Nudging;
  const about = aboutOf(name, told, options);
  return about.map(([event, { tag = null, branch = null, commit = null, number = null }]) => ({
    kind: "nudge",
    connection: options.connection,
    forgeId: idOf(told.repository),
    event,
    tag,
    branch,
    commit,
    number,
  }));
}

function aboutOf(name: string, told: Nudging, options: ReadingOptions): [string, About][] {
  const event = told.action === undefined ? name : `${name}.${told.action}`;
  switch (event) {
    case "release.published":
    case "release.edited":
    case "release.released":
      return [[event, { tag: told.release?.tag_name ?? null }]];
    case "package.published":
    case "package.updated":
    case "registry_package.published":
    case "registry_package.updated":
      return [[event, { tag: versionOf(told) }]];
    case "check_run.completed":
      return checkOf(event, told, options);
    case "check_suite.completed":
      return suiteOf(event, told.check_suite, options);
    case "workflow_run.completed":
      return suiteOf(event, told.workflow_run, options);
    case "issues.closed":
      return [[event, { number: told.issue?.number ?? null }]];
    case "pull_request.closed":
      return pullOf(told);
    default:
      return plainOf(name, told);
  }
}

/** Events whose action is no matter, or that have none. */
function plainOf(name: string, told: Nudging): [string, About][] {
  switch (name) {
    case "status": {
      const commit = told.sha ?? null;
      const [first] = told.branches ?? [];
      return [[name, { commit, branch: first?.name ?? null }]];
    }
    case "deployment_status": {
      const { sha, ref } = told.deployment ?? {};
      return [[name, { commit: sha ?? null, branch: ref ?? null }]];
    }
    case "push":
      return [[name, { ...refOf(told.ref ?? ""), commit: told.after ?? null }]];
    case "create":
      return told.ref_type === "tag" ? [[name, { tag: told.ref ?? null }]] : [];
    case "repository_dispatch":
      return [[name, { branch: told.branch ?? null }]];
    default:
      return [];
  }
}

function versionOf({ package: one, registry_package: other }: Nudging): string | null {
  const version = (one ?? other)?.package_version;
  return version?.version ?? version?.tag_name ?? null;
}

/** Our own checks ring for nobody. */
function checkOf(event: string, told: Nudging, { appId }: ReadingOptions): [string, About][] {
  const run = told.check_run;
  if (run === undefined || run.app?.id === appId) return [];
  return [[event, { commit: run.head_sha, branch: run.check_suite?.head_branch ?? null }]];
}

function suiteOf(
  event: string,
  suite: Suite | undefined,
  { appId }: ReadingOptions,
): [string, About][] {
  if (suite === undefined || suite.app?.id === appId) return [];
  return [[event, { commit: suite.head_sha, branch: suite.head_branch ?? null }]];
}

/** A merge is a close of its own kind: whoever waits for one hears both. */
function pullOf({ pull_request: pull }: Nudging): [string, About][] {
  if (pull === undefined) return [];
  const about = { number: pull.number, commit: pull.head.sha, branch: pull.head.ref };
  const closed: [string, About] = ["pull_request.closed", about];
  return pull.merged === true ? [closed, ["pull_request.merged", about]] : [closed];
}

function refOf(ref: string): About {
  const tag = /^refs\/tags\/(.+)$/.exec(ref)?.[1] ?? null;
  const branch = /^refs\/heads\/(.+)$/.exec(ref)?.[1] ?? null;
  return { tag, branch };
}
