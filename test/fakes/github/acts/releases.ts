// Releases and packages (spec 3.4, 8.4) as people and their programs publish them.

import { packageShape, releaseShape } from "../shapes/commits.ts";
import type { Account, PackageVersion, Release, Repository, World } from "../world.ts";
import { pushTag } from "./repositories.ts";

export interface NewRelease {
  readonly repository: Repository;
  readonly by: Account;
  readonly tag: string;
  readonly name?: string;
  readonly body?: string;
  readonly isPrerelease?: boolean;
  /** A draft has no tag yet, and only those who may write see it. */
  readonly isDraft?: boolean;
}

export function createRelease(world: World, options: NewRelease): Release {
  const { repository, by, tag, name = tag, body = "" } = options;
  const release: Release = {
    id: world.nextId(),
    repository,
    by,
    tag,
    name,
    body,
    isDraft: true,
    isPrerelease: options.isPrerelease ?? false,
    createdAt: world.now(),
    publishedAt: null,
  };
  world.releases.push(release);
  if (options.isDraft !== true) publishRelease(world, release);
  return release;
}

/** Makes the tag where there is none. */
export function publishRelease(world: World, release: Release): void {
  const { repository, by, tag, isPrerelease } = release;
  if (repository.git.resolve(`refs/tags/${tag}`) === null) pushTag(world, { repository, by, tag });
  release.isDraft = false;
  release.publishedAt = world.now();
  tellRelease(world, release, { action: "created" });
  tellRelease(world, release, { action: "published" });
  tellRelease(world, release, { action: isPrerelease ? "prereleased" : "released" });
}

export function editRelease(world: World, release: Release, body: string): void {
  const changes = { body: { from: release.body } };
  release.body = body;
  tellRelease(world, release, { action: "edited", parts: { changes } });
}

function tellRelease(
  world: World,
  release: Release,
  { action, parts = {} }: { action: string; parts?: Readonly<Record<string, unknown>> },
): void {
  const { repository, by } = release;
  const all = { release: releaseShape(world, release), ...parts };
  world.tell({ name: "release", action, sender: by, repository, parts: all });
}

export interface NewPackageVersion {
  readonly repository: Repository;
  readonly by: Account;
  readonly name: string;
  readonly version: string;
  readonly type?: string;
}

export function publishPackageVersion(world: World, options: NewPackageVersion): PackageVersion {
  const { type = "npm", repository, by } = options;
  const made = { ...options, type, id: world.nextId(), createdAt: world.now() };
  world.packages.push(made);
  const shape = packageShape(world, made);
  const event = { action: "published", sender: by, repository };
  world.tell({ ...event, name: "package", parts: { package: shape } });
  world.tell({ ...event, name: "registry_package", parts: { registry_package: shape } });
  return made;
}
