// A route of the fake GitHub (spec 8.4): an operation of the description, who may ask it, and what answers it. Finds the
// rows that a path names, and pages lists as GitHub does.

import { covers, permits, type Credential, type Tokens } from "./auth.ts";
import { notFound, Refused } from "./refused.ts";
import type { Webhooks } from "./webhooks.ts";
import {
  isPull,
  type Account,
  type Issue,
  type PullIssue,
  type Repository,
  type World,
} from "./world.ts";

export interface Call {
  readonly world: World;
  readonly tokens: Tokens;
  readonly webhooks: Webhooks;
  readonly credential: Credential;
  readonly params: Readonly<Record<string, string>>;
  /** As it was asked, for links to other pages. */
  readonly url: URL;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Reply {
  /** 200 when missing. */
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Route {
  /** `GET /repos/{owner}/{repo}`; `{ref...}` takes slashes as well. */
  readonly on: string;
  /** `public` takes every credential and none. */
  readonly access: "app" | "installation" | "public";
  /** Like `issues:write`; one of them is enough. */
  readonly needs?: readonly string[];
  readonly answer: (call: Call) => Reply;
}

/** Throws Refused for whoever may not ask this. */
export function admit({ access, needs = [], on }: Route, call: Call): void {
  const { credential } = call;
  if (access === "public") return;
  if (access === "app") {
    if (credential.kind === "app") return;
    throw new Refused(401, "A JSON web token could not be decoded");
  }
  if (credential.kind !== "installation") throw new Refused(401, "Requires authentication");
  const { installation, permissions } = credential.token;
  if (installation.isSuspended) throw new Refused(403, "This installation has been suspended");
  const isWrite = !on.startsWith("GET ");
  if ("owner" in call.params) {
    const repository = repositoryOf(call);
    if (!covers(credential.token, repository)) throw notFound();
    if (isWrite && repository.isArchived) {
      throw new Refused(403, "Repository was archived so is read-only.");
    }
  }
  if (needs.length > 0 && !needs.some((wish) => permits(permissions, wish))) {
    throw new Refused(403, "Resource not accessible by integration");
  }
}

/** Whoever acts with this credential. */
export function actorOf({ world }: Call): Account {
  return world.app.bot;
}

/** A member of the body that is a text; null when it is none. */
export function textOf({ body }: Call, name: string): string | null {
  const value = body[name];
  return typeof value === "string" ? value : null;
}

export function param({ params }: Call, name: string): string {
  return params[name] ?? "";
}

export function repositoryOf(call: Call): Repository {
  const repository = findRepository(call.world, `${param(call, "owner")}/${param(call, "repo")}`);
  if (repository === null) throw notFound();
  return repository;
}

/** By its name of today, in any case of letters. */
export function findRepository(world: World, name: string): Repository | null {
  const wanted = name.toLowerCase();
  return (
    world.repositories.find(
      (one) => !one.isDeleted && `${one.owner.login}/${one.name}`.toLowerCase() === wanted,
    ) ?? null
  );
}

/** By a name that it had and that nobody has taken since. */
export function findRenamed(world: World, name: string): Repository | null {
  return (
    world.repositories.find(({ isDeleted, formerNames }) => !isDeleted && formerNames.has(name)) ??
    null
  );
}

export function issueOf(call: Call): Issue {
  const repository = repositoryOf(call);
  const number = Number(param(call, "issue_number"));
  const found = world(call).issues.find(
    (issue) => issue.repository === repository && issue.number === number,
  );
  if (found === undefined) throw notFound();
  if (found.isDeleted) throw new Refused(410, "This issue was deleted");
  return found;
}

export function pullOf(call: Call): PullIssue {
  const repository = repositoryOf(call);
  const number = Number(param(call, "pull_number"));
  const found = world(call).issues.find(
    (issue) => issue.repository === repository && issue.number === number,
  );
  if (found === undefined || !isPull(found)) throw notFound();
  return found;
}

/** The row with the id that the path names, in the repository that the path names. */
export function rowOf<Row extends { id: number; isDeleted?: boolean }>(
  call: Call,
  name: string,
  rows: readonly (Row & ({ issue: Issue } | { repository: Repository }))[],
): Row {
  const repository = repositoryOf(call);
  const id = Number(param(call, name));
  const found = rows.find(
    (row) =>
      row.id === id &&
      row.isDeleted !== true &&
      ("issue" in row ? row.issue.repository : row.repository) === repository,
  );
  if (found === undefined) throw notFound();
  return found;
}

function world({ world }: Call): World {
  return world;
}

/** Throws 403 where only collaborators may write; the App is none of them. */
export function refuseLocked(issue: Issue): void {
  if (!issue.isLocked) return;
  throw new Refused(403, "Unable to create comment because issue is locked.");
}

const pageLimit = 100;

/** One page of a list with its `Link` header; `wrap` puts the page where the answer has it. */
export function paged<Row>(
  call: Call,
  rows: readonly Row[],
  options: { shape: (row: Row) => unknown; wrap?: (page: unknown[]) => unknown },
): Reply {
  const { searchParams } = call.url;
  const size = Math.min(Number(searchParams.get("per_page") ?? 30), pageLimit);
  const page = Math.max(Number(searchParams.get("page") ?? 1), 1);
  const shown = rows.slice((page - 1) * size, page * size).map(options.shape);
  const last = Math.max(Math.ceil(rows.length / size), 1);
  const links = [
    ...(page > 1 ? [link(call.url, page - 1, "prev"), link(call.url, 1, "first")] : []),
    ...(page < last ? [link(call.url, page + 1, "next"), link(call.url, last, "last")] : []),
  ];
  return {
    body: options.wrap?.(shown) ?? shown,
    ...(links.length > 0 && { headers: { link: links.join(", ") } }),
  };
}

function link(url: URL, page: number, name: string): string {
  const other = new URL(url);
  other.searchParams.set("page", String(page));
  return `<${other.href}>; rel="${name}"`;
}

/** Rows changed at or after the `since` of the query, to the second. */
export function changedSince<Row extends { readonly updatedAt: number }>(
  { url }: Call,
  rows: readonly Row[],
): Row[] {
  const since = Date.parse(url.searchParams.get("since") ?? "");
  if (Number.isNaN(since)) return [...rows];
  return rows.filter(({ updatedAt }) => Math.floor(updatedAt / 1000) * 1000 >= since);
}

/** By `sort` and `direction` of the query; `usual` is what GitHub does without them. */
export function sorted<Row extends { readonly createdAt: number; readonly updatedAt: number }>(
  { url }: Call,
  rows: readonly Row[],
  usual: "asc" | "desc",
): Row[] {
  const key = url.searchParams.get("sort") === "updated" ? "updatedAt" : "createdAt";
  // Without `sort` some lists leave `direction` aside; asking for it then is asking for nothing.
  const direction = url.searchParams.get("direction") ?? usual;
  const rising = [...rows].sort((one, two) => one[key] - two[key]);
  return direction === "asc" ? rising : rising.reverse();
}
