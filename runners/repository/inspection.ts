// What kind of repository a path leads to (spec 5.1; bad input): found by form, without running anything it configures.

import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { Failure } from "../../policies/failure.ts";
import { requireGit } from "../git.ts";
import type { RepositoryFacts, WorkPlace } from "../runner.ts";
import { defaultBranch, fetchMirror, openMirror, readFileAt } from "./mirror.ts";

const smallFileLimit = 256 * 1024;
const refPrefix = "refs/heads/";

/** Throws Failure `git-too-old`, `no-repository`, `no-commits`, `no-default-branch`. */
export async function inspectRepository(
  place: WorkPlace,
  { path, id }: { path: string; id: (root: string) => string },
): Promise<RepositoryFacts> {
  await requireGit();
  const root = rootOf(path);
  const ref = await defaultBranch(root);
  const mirror = await openMirror({ home: place.home, repositoryId: id(root) });
  await fetchMirror(mirror, { source: root });
  const small = { commit: ref, limitBytes: smallFileLimit };
  const modules = await readFileAt(mirror, { ...small, path: ".gitmodules" });
  const attributes = await readFileAt(mirror, { ...small, path: ".gitattributes" });
  return {
    id: id(root),
    source: root,
    defaultBranch: ref.slice(refPrefix.length),
    hasSubmodules: modules !== null,
    hasLargeFiles: /\bfilter=lfs\b/.test(attributes?.toString("utf8") ?? ""),
  };
}

/** The top of the repository that a path lies in: a work tree, or a bare repository itself. */
function rootOf(path: string): string {
  const start = existing(path);
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, ".git")) || isBare(folder)) return folder;
    if (folder === dirname(folder)) break;
  }
  throw new Failure("no-repository", "never", { message: `${path} is in no git repository` });
}

function existing(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw new Failure("no-repository", "never", {
      message: `${path} does not exist`,
      cause: error,
    });
  }
}

function isBare(folder: string): boolean {
  return ["HEAD", "objects", "refs"].every((name) => existsSync(join(folder, name)));
}
