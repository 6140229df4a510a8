// Commits, branches, check runs, statuses, releases and packages as GitHub prints them (spec 8.4).

import {
  fullName,
  type Account,
  type CheckRun,
  type PackageVersion,
  type Release,
  type Repository,
  type Status,
  type World,
} from "../world.ts";
import { apiUrl, appShape, instant, nodeId, userShape } from "./accounts.ts";
import { repositoryPage, repositoryShape, repositoryUrl } from "./repositories.ts";

type Shape = Record<string, unknown>;

/** A commit that exists in the repository. */
export function commitShape(world: World, repository: Repository, commit: string): Shape {
  const url = `${repositoryUrl(world, repository)}/commits/${commit}`;
  const format = "--format=%T%n%P%n%an%n%ae%n%at%n%s";
  const lines = repository.git.ask(["log", "-1", format, commit]).split("\n");
  const [tree = "", parents = "", name = "", email = "", at = "0", message = ""] = lines;
  const person = { name, email, date: instant(Number(at) * 1000) };
  const account = accountAt(world, email);
  const user = account === null ? null : userShape(world, account);
  const git = `${repositoryUrl(world, repository)}/git`;
  return {
    sha: commit,
    node_id: nodeId("Commit", repository.id),
    commit: {
      author: person,
      committer: person,
      message,
      tree: { sha: tree, url: `${git}/trees/${tree}` },
      url: `${git}/commits/${commit}`,
      comment_count: 0,
      verification: {
        verified: false,
        reason: "unsigned",
        signature: null,
        payload: null,
        verified_at: null,
      },
    },
    url,
    html_url: `${repositoryPage(world, repository)}/commit/${commit}`,
    comments_url: `${url}/comments`,
    author: user,
    committer: user,
    parents: parents
      .split(" ")
      .filter(Boolean)
      .map((sha) => ({ sha, url: `${repositoryUrl(world, repository)}/commits/${sha}` })),
  };
}

/** GitHub knows authors by `ID+login@users.noreply.…`. */
function accountAt(world: World, email: string): Account | null {
  const [, id] = /^(\d+)\+.*@users\.noreply\./.exec(email) ?? [];
  return world.accounts.find((one) => String(one.id) === id) ?? null;
}

/** A commit as events about pushes carry it. */
export function pushedCommitShape(world: World, repository: Repository, commit: string): Shape {
  const line = repository.git.ask(["log", "-1", "--format=%T%n%an%n%ae%n%at%n%s", commit]);
  const [tree = "", name = "", email = "", at = "0", message = ""] = line.split("\n");
  const person = { name, email, username: name };
  return {
    id: commit,
    tree_id: tree,
    distinct: true,
    message,
    timestamp: instant(Number(at) * 1000),
    url: `${repositoryPage(world, repository)}/commit/${commit}`,
    author: person,
    committer: person,
    added: [],
    removed: [],
    modified: [],
  };
}

export function branchShape(
  world: World,
  repository: Repository,
  branch: { readonly name: string; readonly commit: string },
): Shape {
  const { name, commit } = branch;
  const self = `${repositoryUrl(world, repository)}/branches/${name}`;
  const isProtected = repository.protectedBranches.has(name);
  return {
    name,
    commit: commitShape(world, repository, commit),
    _links: { self, html: `${repositoryPage(world, repository)}/tree/${name}` },
    protected: isProtected,
    protection: {
      enabled: isProtected,
      required_status_checks: { enforcement_level: "off", contexts: [], checks: [] },
    },
    protection_url: `${self}/protection`,
  };
}

/** `name` is a full ref; a tag may point to a tag object. */
export function refShape(world: World, repository: Repository, name: string): Shape {
  const sha = repository.git.refs().get(name) ?? "";
  const type = repository.git.ask(["cat-file", "-t", sha]);
  const git = `${repositoryUrl(world, repository)}/git`;
  return {
    ref: name,
    node_id: nodeId("Ref", repository.id),
    url: `${git}/${name}`,
    object: { sha, type, url: `${git}/${type}s/${sha}` },
  };
}

export function tagShape(world: World, repository: Repository, name: string): Shape {
  const url = repositoryUrl(world, repository);
  const sha = repository.git.resolve(`refs/tags/${name}`) ?? "";
  return {
    name,
    zipball_url: `${url}/zipball/refs/tags/${name}`,
    tarball_url: `${url}/tarball/refs/tags/${name}`,
    commit: { sha, url: `${url}/commits/${sha}` },
    node_id: nodeId("Tag", repository.id),
  };
}

export function checkRunShape(world: World, check: CheckRun): Shape {
  const { id, repository, app, commit, output } = check;
  const url = `${repositoryUrl(world, repository)}/check-runs/${id}`;
  const page = `${repositoryPage(world, repository)}/runs/${id}`;
  return {
    id,
    name: check.name,
    node_id: nodeId("CheckRun", id),
    head_sha: commit,
    external_id: check.externalId,
    url,
    html_url: page,
    details_url: check.detailsUrl ?? page,
    status: check.status,
    conclusion: check.conclusion,
    started_at: instant(check.startedAt),
    completed_at: check.completedAt === null ? null : instant(check.completedAt),
    output: {
      ...output,
      annotations_count: check.annotationCount,
      annotations_url: `${url}/annotations`,
    },
    check_suite: { id: suiteId(check) },
    app: appShape(world, app),
    pull_requests: [],
  };
}

/** One suite for each App and commit. */
export function suiteId({ app, commit }: CheckRun): number {
  return app.id * 65_536 + Number.parseInt(commit.slice(0, 4), 16);
}

export function statusShape(world: World, status: Status): Shape {
  const { id, repository, commit, context, state, description, by, createdAt } = status;
  return {
    url: `${repositoryUrl(world, repository)}/statuses/${commit}`,
    avatar_url: userShape(world, by).avatar_url,
    id,
    node_id: nodeId("StatusContext", id),
    state,
    description,
    target_url: null,
    context,
    created_at: instant(createdAt),
    updated_at: instant(createdAt),
  };
}

/** The latest status of each context, and what they come to. */
export function combinedStatusShape(
  world: World,
  repository: Repository,
  commit: string,
): Shape & { readonly statuses: readonly Shape[] } {
  const latest = new Map<string, Status>();
  for (const status of world.statuses) {
    if (status.repository === repository && status.commit === commit) {
      latest.set(status.context, status);
    }
  }
  const all = [...latest.values()];
  const states = new Set(all.map(({ state }) => state));
  const isBad = states.has("failure") || states.has("error");
  const isPending = states.size === 0 || states.has("pending");
  const url = `${repositoryUrl(world, repository)}/commits/${commit}`;
  return {
    state: isBad ? "failure" : isPending ? "pending" : "success",
    statuses: all.map((status) => statusShape(world, status)),
    sha: commit,
    total_count: all.length,
    repository: repositoryShape(world, repository),
    commit_url: url,
    url: `${url}/status`,
  };
}

export function releaseShape(world: World, release: Release): Shape {
  const { id, repository, by, tag, createdAt, publishedAt } = release;
  const url = `${repositoryUrl(world, repository)}/releases/${id}`;
  const end = release.isDraft ? `untagged-${id}` : tag;
  return {
    url,
    html_url: `${repositoryPage(world, repository)}/releases/tag/${end}`,
    assets_url: `${url}/assets`,
    upload_url: `${url}/assets{?name,label}`,
    tarball_url: `${repositoryUrl(world, repository)}/tarball/${tag}`,
    zipball_url: `${repositoryUrl(world, repository)}/zipball/${tag}`,
    id,
    node_id: nodeId("Release", id),
    tag_name: tag,
    target_commitish: repository.defaultBranch,
    name: release.name,
    body: release.body,
    draft: release.isDraft,
    prerelease: release.isPrerelease,
    immutable: false,
    created_at: instant(createdAt),
    updated_at: instant(publishedAt ?? createdAt),
    published_at: publishedAt === null ? null : instant(publishedAt),
    author: userShape(world, by),
    assets: [],
  };
}

export function packageVersionShape(world: World, row: PackageVersion): Shape {
  const { id, repository, type, name, version, createdAt } = row;
  const scope = repository.owner.type === "Organization" ? "orgs" : "users";
  const owner = `${scope}/${repository.owner.login}`;
  return {
    id,
    name: version,
    url: `${apiUrl(world)}/${owner}/packages/${type}/${name}/versions/${id}`,
    package_html_url: `${world.origin}/${owner}/packages/${type}/package/${name}`,
    html_url: `${world.origin}/${owner}/packages/${type}/${name}/${id}`,
    created_at: instant(createdAt),
    updated_at: instant(createdAt),
    metadata: { package_type: type },
  };
}

/** As events carry it, with the version inside. */
export function packageShape(world: World, row: PackageVersion): Shape {
  const { id, repository, by, type, name, version, createdAt } = row;
  const at = instant(createdAt);
  return {
    id,
    name,
    namespace: fullName(repository),
    description: null,
    ecosystem: type,
    package_type: type,
    html_url: `${repositoryPage(world, repository)}/packages/${id}`,
    created_at: at,
    updated_at: at,
    owner: userShape(world, repository.owner),
    package_version: {
      id,
      version,
      name: version,
      description: "",
      summary: "",
      body: "",
      metadata: [],
      tag_name: version,
      draft: false,
      prerelease: false,
      created_at: at,
      updated_at: at,
      author: userShape(world, by),
      package_url: "",
    },
    registry: null,
  };
}
