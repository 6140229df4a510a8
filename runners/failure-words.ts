// What people are told about a failure of the world: one sentence of ours per code, never the exception's text (I12).

import type { Failure } from "../policies/failure.ts";

const words: Readonly<Record<string, string>> = {
  "no-commits": "the repository's default branch has no commits yet",
  "no-default-branch": "the repository has no branch that could be its default",
  "no-such-commit": "the commit it began from is no longer in the repository",
  "bad-source": "the repository's address is neither a path nor an https address",
  "head-gone": "the commit of the pull request that it works on can no longer be fetched",
  "forge-refused-git": "the forge did not let Holdfast read or write the repository",
  "no-repository": "the repository is not there, or not for Holdfast to see",
  "disk-full": "the disk is full",
  "read-only": "the data folder cannot be written",
  "git-failed": "git could not read the repository or write the working copy",
  "foreign-owner": "the repository belongs to another account",
  "git-too-old": "the installed git is too old",
  "spawn-failed": "a program could not be started",
  "checkout-changed": "something changed the working copy while it was being read",
  "checkout-busy": "a program that Holdfast did not start works in its working copy",
  "checkout-incomplete": "its working copy has more new files than can be kept",
  "file-too-large": "a file is larger than its limit",
};

export function failureWords(failure: Failure): string {
  return words[failure.code] ?? "something outside Holdfast failed";
}
