// The policy in force for a repository (spec 7.3): from the head of its default branch; where that one is broken, the
// last good one. Only a repository that never had a good one is refused.

import {
  defaultPolicy,
  parsePolicyFile,
  type PolicyFile,
  type PolicyProblem,
} from "../../policies/policy-file.ts";
import type { Host } from "../host.ts";
import { savePolicy, type RepositoryRow } from "../ledger/conversations.ts";
import { sourceOf } from "../turn/claimed.ts";
import { commit } from "../turn/persist.ts";

export interface PolicyNow {
  readonly policy: PolicyFile;
  /** Problems of a file that is not in force because of them. */
  readonly faults: readonly PolicyProblem[];
  /** True where there is a broken file and never was a good one: nothing may be started. */
  readonly isUnusable: boolean;
  readonly isUncommitted: boolean;
}

/** Reads the policy file and keeps the last good one. Throws Failure while the repository cannot be read. */
export async function currentPolicy(host: Host, repository: RepositoryRow): Promise<PolicyNow> {
  const source = await host.runner.readPolicy(sourceOf(host, repository));
  const { isUncommitted } = source;
  const { policy, problems } = judge(source.text);
  const isKnown = repository.policyCommit === source.commit;
  if (!isKnown) {
    const good = policy === null ? {} : { policy };
    await commit(host, (tx) =>
      savePolicy(tx, repository.id, { ...good, policyCommit: source.commit, problems }),
    );
  }
  const inForce = policy ?? repository.policy;
  return {
    policy: inForce ?? defaultPolicy,
    faults: problems,
    isUnusable: inForce === null,
    isUncommitted,
  };
}

/** As it was when the repository was last read: for whom nothing will run anyway. */
export function policyKept({ policy, problems }: RepositoryRow): PolicyNow {
  const kept = { faults: problems ?? [], isUnusable: false, isUncommitted: false };
  return { policy: policy ?? defaultPolicy, ...kept };
}

/** No file at all means sensible defaults. */
function judge(text: string | null): {
  policy: PolicyFile | null;
  problems: readonly PolicyProblem[];
} {
  if (text === null) return { policy: defaultPolicy, problems: [] };
  const parsed = parsePolicyFile(text);
  return parsed.ok
    ? { policy: parsed.policy, problems: [] }
    : { policy: null, problems: parsed.problems };
}
