// Repositories and their branches (spec 8.4): real commits in a real bare repository. Whoever moved refs, by a push over
// HTTP or by hand, GitHub tells of it and moves the heads of pull requests along.

import { join } from "node:path";
import { openBareRepository, protect, type Files } from "../bare-repository.ts";
import { pushedCommitShape } from "../shapes/commits.ts";
import { repositoryPage } from "../shapes/repositories.ts";
import { fullName, installationOf, type Account, type Repository, type World } from "../world.ts";
import { tellRepositories } from "./accounts.ts";
import { followHeads, type Move } from "./heads.ts";

export interface NewRepository {
  readonly owner: Account;
  readonly name?: string;
  /** Of the first commit; none for a repository without one. */
  readonly files?: Files;
  /** Private when missing, so that nothing is read without a token. */
  readonly isPrivate?: boolean;
}

export function createRepository(world: World, options: NewRepository): Repository {
  const { owner, name = "door", isPrivate = true } = options;
  const repository = addRepository(world, { owner, name, isPrivate, parent: null });
  const { files = { "README.md": "# A door\n" } } = options;
  if (Object.keys(files).length > 0) {
    commitTo(world, { repository, by: owner, branch: "main", files, message: "begin" });
  }
  return repository;
}

/** A copy with all branches; GitHub names it after its parent. */
export function fork(world: World, parent: Repository, owner: Account): Repository {
  const { name, isPrivate } = parent;
  return addRepository(world, { owner, name, isPrivate, parent });
}

function addRepository(
  world: World,
  row: Pick<Repository, "owner" | "name" | "isPrivate" | "parent">,
): Repository {
  const id = world.nextId();
  const at = world.now();
  const path = join(world.folder, "repositories", `${id}.git`);
  const repository: Repository = {
    ...row,
    id,
    git: openBareRepository(path, row.parent?.git),
    isArchived: false,
    isDeleted: false,
    defaultBranch: "main",
    roles: new Map(),
    protectedBranches: new Set(),
    formerNames: new Set(),
    lastNumber: 0,
    createdAt: at,
    updatedAt: at,
    pushedAt: at,
  };
  world.repositories.push(repository);
  return repository;
}

export interface Push {
  readonly repository: Repository;
  readonly by: Account;
  readonly branch: string;
  readonly files?: Files;
  readonly message?: string;
  /** Where the branch begins when it is new, or is set to by force; its own tip, or the default branch when missing. */
  readonly from?: string;
}

/** A commit of this person on a branch, told as a push; gives the commit. */
export function pushTo(world: World, push: Push): string {
  const { repository, by } = push;
  const before = repository.git.refs();
  const commit = commitTo(world, push);
  refsMoved(world, repository, { by, before });
  return commit;
}

export function pushTag(
  world: World,
  {
    repository,
    by,
    tag,
    commit,
  }: { repository: Repository; by: Account; tag: string; commit?: string },
): void {
  const before = repository.git.refs();
  repository.git.git(["update-ref", `refs/tags/${tag}`, commit ?? repository.defaultBranch]);
  refsMoved(world, repository, { by, before });
}

export function deleteBranch(
  world: World,
  { repository, by, branch }: { repository: Repository; by: Account; branch: string },
): void {
  const before = repository.git.refs();
  repository.git.git(["update-ref", "-d", `refs/heads/${branch}`]);
  refsMoved(world, repository, { by, before });
}

function commitTo(world: World, push: Push): string {
  const { repository, by, branch, message = "change", from } = push;
  const { git, defaultBranch } = repository;
  const { files = { [`change-${world.nextId()}.txt`]: `${message}\n` } } = push;
  const parent = git.resolve(from ?? `refs/heads/${branch}`) ?? git.resolve(defaultBranch);
  const parents = parent === null ? [] : [parent];
  const ref = `refs/heads/${branch}`;
  const author = authorOf(by);
  return git.commit({ ref, message, author, parents, changes: files, at: world.now() });
}

/** As GitHub knows its people in commits. */
export function authorOf({ id, login }: Account): { name: string; email: string } {
  return { name: login, email: `${id}+${login}@users.noreply.github.com` };
}

/** Tells what became of refs since `before`, and lets the heads of pull requests follow. */
export function refsMoved(
  world: World,
  repository: Repository,
  { by, before }: { readonly by: Account; readonly before: ReadonlyMap<string, string> },
): void {
  const after = repository.git.refs();
  const names = new Set([...before.keys(), ...after.keys()]);
  for (const ref of names) {
    const [from, to] = [before.get(ref), after.get(ref)];
    if (from === to || !/^refs\/(heads|tags)\//.test(ref)) continue;
    repository.pushedAt = world.now();
    tellPush(world, repository, { by, ref, from, to });
    followHeads(world, repository, { by, ref, from, to });
  }
}

const zero = "0".repeat(40);

function tellPush(world: World, repository: Repository, { by, ref, from, to }: Move): void {
  const compare = `${repositoryPage(world, repository)}/compare`;
  const pusher = { name: by.login, email: `${by.login}@users.noreply.github.com` };
  const head = to === undefined ? null : pushedCommitShape(world, repository, to);
  const parts = {
    ref,
    before: from ?? zero,
    after: to ?? zero,
    created: from === undefined,
    deleted: to === undefined,
    forced: from !== undefined && to !== undefined && !isAhead(repository, from, to),
    base_ref: null,
    compare,
    commits: head === null ? [] : [head],
    head_commit: head,
    pusher,
  };
  world.tell({ name: "push", action: null, sender: by, repository, parts });
  if (from !== undefined && to !== undefined) return;
  const short = {
    ref: ref.replace(/^refs\/(heads|tags)\//, ""),
    ref_type: ref.startsWith("refs/tags/") ? "tag" : "branch",
    pusher_type: "user",
    ...(to !== undefined && { master_branch: repository.defaultBranch, description: null }),
  };
  const name = to === undefined ? "delete" : "create";
  world.tell({ name, action: null, sender: by, repository, parts: short });
}

function isAhead({ git }: Repository, from: string, to: string): boolean {
  return git.ask(["merge-base", from, to]) === from;
}

/** Pushes of Apps and tokens must not move it. */
export function protectBranch(repository: Repository, branch: string): void {
  repository.protectedBranches.add(branch);
  const refs = [...repository.protectedBranches].map((name) => `refs/heads/${name}`);
  protect(repository.git, refs);
}

/** A role of GitHub's or one of `customRoles`; null takes it away. */
export function allow(repository: Repository, account: Account, role: string | null): void {
  if (role === null) repository.roles.delete(account.id);
  else repository.roles.set(account.id, role);
}

interface RepositoryAct {
  readonly by: Account;
}

export function renameRepository(
  world: World,
  repository: Repository,
  { by, name }: RepositoryAct & { readonly name: string },
): void {
  const from = repository.name;
  repository.formerNames.add(fullName(repository));
  repository.name = name;
  const parts = { changes: { repository: { name: { from } } } };
  world.tell({ name: "repository", action: "renamed", sender: by, repository, parts });
}

/** To another account; the installation there is told of it, and the one before that it lost something. */
export function transferRepository(
  world: World,
  repository: Repository,
  { by, to }: RepositoryAct & { readonly to: Account },
): void {
  const from = repository.owner;
  const before = installationOf(world, repository);
  repository.formerNames.add(fullName(repository));
  repository.owner = to;
  const kind = from.type === "Organization" ? "organization" : "user";
  const parts = { changes: { owner: { from: { [kind]: { id: from.id, login: from.login } } } } };
  world.tell({ name: "repository", action: "transferred", sender: by, repository, parts });
  if (before === null) return;
  before.repositories?.delete(repository);
  tellRepositories(world, before, { added: [], removed: [repository] });
}

export function archiveRepository(
  world: World,
  repository: Repository,
  { by }: RepositoryAct,
): void {
  repository.isArchived = true;
  world.tell({ name: "repository", action: "archived", sender: by, repository, parts: {} });
}

/** GitHub tells it to the installation that reached it. */
export function deleteRepository(
  world: World,
  repository: Repository,
  { by }: RepositoryAct,
): void {
  world.tell({ name: "repository", action: "deleted", sender: by, repository, parts: {} });
  repository.isDeleted = true;
}
