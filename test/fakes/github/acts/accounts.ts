// Accounts, Apps, and what our App is installed on (spec 8.4), as their owners would arrange it on GitHub.

import { installationShape } from "../shapes/accounts.ts";
import {
  fullName,
  type Account,
  type App,
  type Installation,
  type Permissions,
  type Repository,
  type World,
} from "../world.ts";

export function createAccount(
  world: World,
  login: string,
  type: Account["type"] = "User",
): Account {
  const account = { id: world.nextId(), login, type };
  world.accounts.push(account);
  return account;
}

/** Somebody else's App; its bot is `slug[bot]`. */
export function createApp(world: World, slug: string): App {
  const [owner] = world.accounts;
  if (owner === undefined) throw new Error("a world without accounts");
  const bot = createAccount(world, `${slug}[bot]`, "Bot");
  const id = world.nextId();
  const clientId = `Iv23${slug}`;
  const app = { id, slug, name: slug, clientId, owner, bot, permissions: {}, events: [] };
  world.apps.push(app);
  return app;
}

interface Place {
  readonly account: Account;
  /** All of the account when missing. */
  readonly repositories?: readonly Repository[];
  readonly permissions?: Permissions;
}

export function install(world: World, place: Place): Installation {
  const { account, repositories, permissions = world.app.permissions } = place;
  const installation: Installation = {
    id: world.nextId(),
    account,
    repositories: repositories === undefined ? null : new Set(repositories),
    permissions,
    isSuspended: false,
    isGone: false,
    createdAt: world.now(),
  };
  world.installations.push(installation);
  tellInstallation(world, installation, "created");
  return installation;
}

export function uninstall(world: World, installation: Installation): void {
  installation.isGone = true;
  tellInstallation(world, installation, "deleted");
}

export function suspend(world: World, installation: Installation): void {
  installation.isSuspended = true;
  tellInstallation(world, installation, "suspend");
}

export function unsuspend(world: World, installation: Installation): void {
  installation.isSuspended = false;
  tellInstallation(world, installation, "unsuspend");
}

/** The owner accepts what the App asks for now. */
export function acceptPermissions(
  world: World,
  installation: Installation,
  permissions: Permissions,
): void {
  installation.permissions = permissions;
  tellInstallation(world, installation, "new_permissions_accepted");
}

export function addToInstallation(
  world: World,
  installation: Installation,
  repository: Repository,
): void {
  installation.repositories?.add(repository);
  tellRepositories(world, installation, { added: [repository], removed: [] });
}

export function removeFromInstallation(
  world: World,
  installation: Installation,
  repository: Repository,
): void {
  installation.repositories ??= new Set(repositoriesOf(world, installation));
  installation.repositories.delete(repository);
  tellRepositories(world, installation, { added: [], removed: [repository] });
}

/** What an installation reaches, in the order it was made. */
export function repositoriesOf(
  world: World,
  { account, repositories }: Installation,
): Repository[] {
  return world.repositories.filter(
    (repository) =>
      !repository.isDeleted &&
      repository.owner === account &&
      (repositories === null || repositories.has(repository)),
  );
}

function tellInstallation(world: World, installation: Installation, action: string): void {
  const repositories = repositoriesOf(world, installation).map(briefShape);
  const parts = { installation: installationShape(world, installation), repositories };
  const sender = installation.account;
  world.tell({ name: "installation", action, sender, repository: null, installation, parts });
}

export function tellRepositories(
  world: World,
  installation: Installation,
  { added, removed }: { added: readonly Repository[]; removed: readonly Repository[] },
): void {
  const parts = {
    installation: installationShape(world, installation),
    repository_selection: installation.repositories === null ? "all" : "selected",
    repositories_added: added.map(briefShape),
    repositories_removed: removed.map(briefShape),
    requester: null,
  };
  world.tell({
    name: "installation_repositories",
    action: added.length > 0 ? "added" : "removed",
    sender: installation.account,
    repository: null,
    installation,
    parts,
  });
}

function briefShape(repository: Repository): Record<string, unknown> {
  const { id, name, isPrivate } = repository;
  const node_id = Buffer.from(`Repository:${id}`).toString("base64");
  return { id, node_id, name, full_name: fullName(repository), private: isPrivate };
}
