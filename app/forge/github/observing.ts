// What other programs do around a repository on GitHub (spec 3.7, 6.1, 7.3): checks, releases, packages, refs; and the
// one check that we write ourselves.

import type { Check, CheckResult, Forge, Release, RepositoryRef } from "../forge.ts";
import type { Client } from "./client.ts";

export type Observing = Pick<
  Forge,
  "writeCheck" | "readChecks" | "listReleases" | "listPackageVersions" | "readRef"
>;

/** GitHub takes no more annotations in one call. */
const annotationsLimit = 50;
const packageTypes = ["npm", "container", "maven", "nuget", "rubygems", "docker"] as const;
const fine = new Set(["success", "neutral", "skipped"]);

export function openObserving(client: Client, appId: number): Observing {
  return {
    writeCheck: (ref, check) => writeCheck(client, ref, { check, appId }),
    readChecks: (ref, commit) => readChecks(client, ref, { commit, appId }),
    listReleases: async (ref) => {
      const found = await client.read(ref, (api, place) =>
        api.rest.repos.listReleases({ ...place, per_page: 100 }),
      );
      return (found ?? []).map(releaseFrom);
    },
    listPackageVersions: (ref, name) => listPackageVersions(client, ref, name),
    readRef: (ref, name) => readRef(client, ref, name),
  };
}

/** One per name and commit: ours of before is changed, so that asking twice makes no second one. */
async function writeCheck(
  client: Client,
  ref: RepositoryRef,
  { check, appId }: { check: Check; appId: number },
): Promise<void> {
  const { name, commit, conclusion, title, summary } = check;
  const found = await client.read(ref, (api, place) =>
    api.rest.checks.listForRef({ ...place, ref: commit, check_name: name, app_id: appId }),
  );
  const output = {
    title,
    summary,
    annotations: check.annotations.slice(0, annotationsLimit).map(({ path, line, message }) => ({
      path,
      start_line: line,
      end_line: line,
      annotation_level: "failure" as const,
      message,
    })),
  };
  const body = { name, status: "completed", conclusion, output } as const;
  const [known] = found?.check_runs ?? [];
  await client.write<unknown>(ref, (api, place) =>
    known === undefined
      ? api.rest.checks.create({ ...place, ...body, head_sha: commit })
      : api.rest.checks.update({ ...place, ...body, check_run_id: known.id }),
  );
}

async function readChecks(
  client: Client,
  ref: RepositoryRef,
  { commit, appId }: { commit: string; appId: number },
): Promise<CheckResult[]> {
  const runs = await client.read(ref, (api, place) =>
    api.rest.checks.listForRef({ ...place, ref: commit, per_page: 100 }),
  );
  const statuses = await client.read(ref, (api, place) =>
    api.rest.repos.getCombinedStatusForRef({ ...place, ref: commit, per_page: 100 }),
  );
  const others = (runs?.check_runs ?? []).filter(({ app }) => app?.id !== appId);
  return [
    ...others.map(({ name, status, conclusion }) => ({
      name,
      source: "check" as const,
      state: status === "completed" ? stateFrom(fine.has(conclusion ?? "")) : ("pending" as const),
    })),
    ...(statuses?.statuses ?? []).map(({ context, state }) => ({
      name: context,
      source: "status" as const,
      state: state === "pending" ? ("pending" as const) : stateFrom(state === "success"),
    })),
  ];
}

function stateFrom(isFine: boolean): "success" | "failure" {
  return isFine ? "success" : "failure";
}

interface ReleaseData {
  readonly tag_name: string;
  readonly name: string | null;
  readonly draft: boolean;
  readonly prerelease: boolean;
  readonly html_url: string;
  readonly published_at: string | null;
}

function releaseFrom(data: ReleaseData): Release {
  return {
    tag: data.tag_name,
    name: data.name ?? "",
    isDraft: data.draft,
    isPrerelease: data.prerelease,
    url: data.html_url,
    publishedAt: data.published_at === null ? null : Date.parse(data.published_at),
  };
}

/** Of whichever registry has a package of this name; an owner is an organisation or a user. */
async function listPackageVersions(
  client: Client,
  ref: RepositoryRef,
  name: string,
): Promise<string[]> {
  for (const type of packageTypes) {
    const asked = { package_type: type, package_name: name, per_page: 100 } as const;
    const found =
      (await client.read(ref, (api, { owner }) =>
        api.rest.packages.getAllPackageVersionsForPackageOwnedByOrg({ ...asked, org: owner }),
      )) ??
      (await client.read(ref, (api, { owner }) =>
        api.rest.packages.getAllPackageVersionsForPackageOwnedByUser({ ...asked, username: owner }),
      ));
    if (found === null) continue;
    return found.flatMap((version) => version.metadata?.container?.tags ?? [version.name]);
  }
  return [];
}

/** An annotated tag is followed to its commit. */
async function readRef(client: Client, ref: RepositoryRef, name: string): Promise<string | null> {
  const found = await client.read(ref, (api, place) =>
    api.rest.git.getRef({ ...place, ref: name.replace(/^refs\//, "") }),
  );
  if (found === null || found.ref !== name) return null;
  if (found.object.type !== "tag") return found.object.sha;
  const tag = await client.read(ref, (api, place) =>
    api.rest.git.getTag({ ...place, tag_sha: found.object.sha }),
  );
  return tag?.object.sha ?? null;
}
