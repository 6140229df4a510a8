// The policy file of a repository as a command sees it (spec 7.3), without a word of it in the ledger.
// Reads in a folder of its own that is gone afterwards: a serving process keeps its mirrors to itself.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  defaultPolicy,
  parsePolicyFile,
  type PolicyFile,
  type PolicyProblem,
} from "../../policies/policy-file.ts";
import { openRunner, type RepositorySource, type Runner } from "../../runners/runner.ts";

/** Lends a runner whose folder is taken away at the end. */
export async function withRunner<T>(use: (runner: Runner) => Promise<T>): Promise<T> {
  const home = await mkdtemp(join(tmpdir(), "holdfast-"));
  try {
    return await use(openRunner({ home, environment: process.env }));
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

export interface PolicySeen {
  /** The defaults where there is no file, or one with problems. */
  readonly policy: PolicyFile;
  readonly problems: readonly PolicyProblem[];
  readonly hasFile: boolean;
  readonly isUncommitted: boolean;
}

/** Throws Failure where the repository cannot be read. */
export async function seePolicy(runner: Runner, repository: RepositorySource): Promise<PolicySeen> {
  const { text, isUncommitted } = await runner.readPolicy(repository);
  const seen = { hasFile: text !== null, isUncommitted };
  const parsed = text === null ? null : parsePolicyFile(text);
  if (parsed === null) return { ...seen, policy: defaultPolicy, problems: [] };
  return parsed.ok
    ? { ...seen, policy: parsed.policy, problems: [] }
    : { ...seen, policy: defaultPolicy, problems: parsed.problems };
}
