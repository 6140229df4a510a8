// What other programs do around a repository on GitHub (spec 3.7, 6.1, 7.3): checks, releases, packages, refs; and the
// one check that we write ourselves.

import type { Check, CheckResult, Forge, Release, RepositoryRef } from "../forge.ts";
import type { Client } from "./client.ts";
import { pageSize, readPages } from "./paging.ts";

export type Observing = Pick<
  Forge,
  "writeCheck" | "readChecks" | "listReleases" | "listPackageVersions" | "readRef"
>;

/** GitHub takes no more annotations in one call, and no longer summary. */
const annotationsLimit = 50;
const summaryLimit = 65_535;
const tagsLimit = 5;
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
  const { name, commit, conclusion } = check;
  const found = await client.read(ref, (api, place) =>
    api.rest.checks.listForRef({ ...place, ref: commit, check_name: name, app_id: appId }),
  );
  const [known] = found?.check_runs ?? [];
  // GitHub adds the annotations of a change to those that are there already.
  const isAnnotated = (known?.output.annotations_count ?? 0) > 0;
  const output = outputOf(isAnnotated ? { ...check, annotations: [] } : check);
  const body = { name, status: "completed", conclusion, output } as const;
  await client.write<unknown>(ref, (api, place) =>
    known === undefined
      ? api.rest.checks.create({ ...place, ...body, head_sha: commit })
      : api.rest.checks.update({ ...place, ...body, check_run_id: known.id }),
  );
}

function outputOf({ title, summary, annotations }: Check) {
  return {
    title,
    summary: summary.slice(0, summaryLimit),
    annotations: annotations.slice(0, annotationsLimit).map(({ path, line, message }) => ({
      path,
      start_line: line,
      end_line: line,
      annotation_level: "failure" as const,
      message,
    })),
  };
}

async function readChecks(
  client: Client,
  ref: RepositoryRef,
  { commit, appId }: { commit: string; appId: number },
): Promise<CheckResult[]> {
  const runs = await readPages(client, ref, {
    call: (page) => async (api, place) => {
      const asked = { ...place, ref: commit, per_page: pageSize, page };
      const { data } = await api.rest.checks.listForRef(asked);
      return { data: data.check_runs };
    },
  });
  const statuses = await readPages(client, ref, {
    call: (page) => async (api, place) => {
      const asked = { ...place, ref: commit, per_page: pageSize, page };
      const { data } = await api.rest.repos.getCombinedStatusForRef(asked);
      return { data: data.statuses };
    },
  });
  const others = runs.filter(({ app }) => app?.id !== appId);
  return [
    ...others.map(({ name, status, conclusion }) => ({
      name,
      source: "check" as const,
      state: status === "completed" ? stateFrom(fine.has(conclusion ?? "")) : ("pending" as const),
    })),
    ...statuses.map(({ context, state }) => ({
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
    const asked = { package_type: type, package_name: name } as const;
    const found =
      (await client.read(ref, (api, { owner }) =>
        api.rest.packages.getAllPackageVersionsForPackageOwnedByOrg({
          ...asked,
          org: owner,
          per_page: pageSize,
        }),
      )) ??
      (await client.read(ref, (api, { owner }) =>
        api.rest.packages.getAllPackageVersionsForPackageOwnedByUser({ ...asked, username: owner }),
      ));
    if (found === null) continue;
    return found.flatMap((version) => version.metadata?.container?.tags ?? [version.name]);
  }
  return [];
}

/** An annotated tag is followed to its commit; it can be a tag of a tag. */
async function readRef(client: Client, ref: RepositoryRef, name: string): Promise<string | null> {
  const found = await client.read(ref, (api, place) =>
    api.rest.git.getRef({ ...place, ref: name.replace(/^refs\//, "") }),
  );
  let object = found?.ref === name ? found.object : undefined;
  for (let depth = 0; object?.type === "tag" && depth < tagsLimit; depth += 1) {
    const { sha } = object;
    const tag = await client.read(ref, (api, place) =>
      api.rest.git.getTag({ ...place, tag_sha: sha }),
    );
    object = tag?.object;
  }
  return object?.type === "commit" ? object.sha : null;
}
