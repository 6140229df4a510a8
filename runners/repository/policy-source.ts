// Where the policy file comes from (spec 7.3): the head of the default branch, never a working tree.

import { join } from "node:path";
import { Failure } from "../../policies/failure.ts";
import { policyFileLimit, policyFileName } from "../../policies/policy-file.ts";
import { readPlain } from "../disk.ts";
import type { PolicySource, RepositorySource, WorkPlace } from "../runner.ts";
import { fetchMirror, openMirror, readFileAt, resolve } from "./mirror.ts";
import { isLocal } from "./remote.ts";

export async function readPolicy(
  place: WorkPlace,
  repository: RepositorySource,
): Promise<PolicySource> {
  const mirror = await openMirror({ home: place.home, repositoryId: repository.id });
  await fetchMirror(mirror, repository);
  const commit = await resolve(mirror, `refs/heads/${repository.defaultBranch}`);
  if (commit === null) {
    const message = `the default branch ${repository.defaultBranch} has no commit`;
    throw new Failure("no-commits", "later", { message });
  }
  const file = { commit, path: policyFileName, limitBytes: policyFileLimit };
  const committed = await readFileAt(mirror, file);
  return {
    commit,
    text: committed?.toString("utf8") ?? null,
    isUncommitted: isOnlyInWorkTree(repository.source, committed),
  };
}

/** True where a person has written or changed the file and not committed it: the usual first mistake. */
function isOnlyInWorkTree(source: string, committed: Buffer | null): boolean {
  if (!isLocal(source)) return false;
  const here = readPlain(join(source, policyFileName), policyFileLimit);
  return here !== null && (committed === null || !here.equals(committed));
}
