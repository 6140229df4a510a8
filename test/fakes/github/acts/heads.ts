// Heads of pull requests (spec 8.4): `refs/pull/N/head` in the base repository follows the branch, whose deletion
// closes the pull request.

import { isPull, type Account, type PullIssue, type Repository, type World } from "../world.ts";
import { closeIssue, tellIssue } from "./conversations.ts";

/** What became of one ref; undefined on the side where it is not. */
export interface Move {
  readonly by: Account;
  readonly ref: string;
  readonly from: string | undefined;
  readonly to: string | undefined;
}

export function followHeads(world: World, repository: Repository, move: Move): void {
  const { by, ref, from, to } = move;
  for (const issue of openPullsFrom(world, repository, ref)) {
    if (to === undefined) {
      closeIssue(world, issue, by);
      continue;
    }
    issue.pull.headSha = to;
    issue.updatedAt = world.now();
    setPullHead(issue);
    const parts = { before: from ?? "", after: to };
    tellIssue(world, issue, { action: "synchronize", by, parts });
  }
}

function openPullsFrom(world: World, repository: Repository, ref: string): PullIssue[] {
  return world.issues
    .filter(isPull)
    .filter(
      ({ state, pull }) =>
        state === "open" &&
        pull.headRepository === repository &&
        ref === `refs/heads/${pull.headRef}`,
    );
}

/** Brings the commits of a fork along. */
export function setPullHead({ repository, number, pull }: PullIssue): void {
  const { git } = repository;
  const head = pull.headRepository;
  if (head !== null && head !== repository) {
    git.git(["fetch", "--quiet", head.git.path, `refs/heads/${pull.headRef}`]);
  }
  git.git(["update-ref", `refs/pull/${number}/head`, pull.headSha]);
}
