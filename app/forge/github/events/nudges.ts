// GitHub's events as nudges (spec 3.4): doorbells with what they are about. They prove nothing; whoever is woken looks
// for himself.

import type { ForgeEvent, NudgeEvent } from "../../../../policies/events.ts";
import { idOf, Nudging, type ReadingOptions, type Suite } from "./payload.ts";

type About = Partial<Pick<NudgeEvent, "tag" | "branch" | "commit" | "number">>;

/** Throws for a payload that is not what its event promises. */
export function nudgesOf(name: string, payload: unknown, options: ReadingOptions): ForgeEvent[] {
  const told = Nudging.parse(payload);
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
  const event = typeof told.action === "string" ? `${name}.${told.action}` : name;
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
      return [[name, { ...refOf(told.ref ?? ""), commit: commitOf(told.after) }]];
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
  if (!run || run.app?.id === appId) return [];
  return [[event, { commit: run.head_sha, branch: run.check_suite?.head_branch ?? null }]];
}

function suiteOf(event: string, suite: Suite, { appId }: ReadingOptions): [string, About][] {
  if (!suite || suite.app?.id === appId) return [];
  return [[event, { commit: suite.head_sha, branch: suite.head_branch ?? null }]];
}

/** A merge is a close of its own kind: whoever waits for one hears both. */
function pullOf({ pull_request: pull }: Nudging): [string, About][] {
  if (!pull) return [];
  const about = { number: pull.number, commit: pull.head.sha, branch: pull.head.ref };
  const closed: [string, About] = ["pull_request.closed", about];
  return pull.merged === true ? [closed, ["pull_request.merged", about]] : [closed];
}

/** A ref that was deleted is told with zeros. */
function commitOf(commit: string | null | undefined): string | null {
  return commit === undefined || commit === null || /^0+$/.test(commit) ? null : commit;
}

function refOf(ref: string): About {
  const tag = /^refs\/tags\/(.+)$/.exec(ref)?.[1] ?? null;
  const branch = /^refs\/heads\/(.+)$/.exec(ref)?.[1] ?? null;
  return { tag, branch };
}
