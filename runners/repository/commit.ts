// Commits as objects (spec 5.1, 5.8): made from a tree and moved to by no ref. Equal input gives the equal commit.

import { gitText } from "../git.ts";
import type { ObjectStore } from "./mirror.ts";

export interface Identity {
  name: string;
  email: string;
  /** Epoch milliseconds; git keeps whole seconds. */
  at: number;
}

export interface Commit {
  tree: string;
  parents: readonly string[];
  message: string;
  author: Identity;
  committer: Identity;
}

export async function commitTree({ gitDir }: ObjectStore, commit: Commit): Promise<string> {
  const { author, committer } = commit;
  return gitText({
    gitDir,
    args: ["commit-tree", commit.tree, ...commit.parents.flatMap((parent) => ["-p", parent])],
    input: Buffer.from(commit.message),
    identity: {
      GIT_AUTHOR_NAME: author.name,
      GIT_AUTHOR_EMAIL: author.email,
      GIT_AUTHOR_DATE: gitDate(author.at),
      GIT_COMMITTER_NAME: committer.name,
      GIT_COMMITTER_EMAIL: committer.email,
      GIT_COMMITTER_DATE: gitDate(committer.at),
    },
  });
}

/** The commit a checkout was made from, given its shadow. */
export async function headOf({ gitDir }: ObjectStore): Promise<string> {
  return gitText({ gitDir, args: ["rev-parse", "--verify", "HEAD^{commit}"] });
}

export async function treeOf({ gitDir }: ObjectStore, commit: string): Promise<string> {
  return gitText({ gitDir, args: ["rev-parse", "--verify", `${commit}^{tree}`] });
}

function gitDate(at: number): string {
  return `@${Math.floor(at / 1_000)} +0000`;
}
