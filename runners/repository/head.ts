// The head of a pull request in the mirror (spec 1.5, 5.1): by its pull ref, which forks have too, else by its hash.
// Where the head is now does not matter here: a turn works on the commit that was pinned.

import { strict as assert } from "node:assert";
import { Failure } from "../../policies/failure.ts";
import type { PullHead } from "../runner.ts";
import { allBranches, fetchMirror, resolve, type FetchOptions, type Mirror } from "./mirror.ts";

/** Brings the mirror up to date, with the head that is asked for. Throws Failure `head-gone`. */
export async function fetchHead(
  mirror: Mirror,
  { head, ...remote }: FetchOptions & { head: PullHead | null },
): Promise<void> {
  if (head === null) return fetchMirror(mirror, remote);
  assert(Number.isSafeInteger(head.pull) && head.pull > 0, "a pull request has a number");
  assert(/^[0-9a-f]{40}$/.test(head.commit), "a head is a whole hash");
  const ref = `refs/pull/${head.pull}/head`;
  const isFetched = await tryFetch(mirror, {
    ...remote,
    refspecs: [...allBranches, `+${ref}:${ref}`],
  });
  if (!isFetched) await fetchMirror(mirror, remote);
  if (await fetchCommit(mirror, { ...remote, commit: head.commit })) return;
  const message = `${head.commit} of pull request ${head.pull} cannot be fetched`;
  throw new Failure("head-gone", "later", { message });
}

/** Sees that a commit is in the mirror, if need be by its hash; false where the source does not give it. */
export async function fetchCommit(
  mirror: Mirror,
  { commit, ...remote }: FetchOptions & { commit: string },
): Promise<boolean> {
  if ((await resolve(mirror, commit)) !== null) return true;
  await tryFetch(mirror, { ...remote, refspecs: [commit] });
  return (await resolve(mirror, commit)) !== null;
}

/** False when the source does not have what is asked for, or does not give it. */
async function tryFetch(mirror: Mirror, options: FetchOptions): Promise<boolean> {
  try {
    await fetchMirror(mirror, options);
    return true;
  } catch (error) {
    if (error instanceof Failure && error.code === "no-such-ref") return false;
    throw error;
  }
}
