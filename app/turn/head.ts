// Following a pull request's head (spec 1.5, 5.1): work that was made on an older commit is replayed onto the one that is
// pinned now, before it goes on and before it is published.

import type { Host } from "../host.ts";
import type { RepositoryRow } from "../ledger/conversations.ts";
import { record } from "../ledger/history.ts";
import { changeMandate, type MandateRow } from "../ledger/mandates.ts";
import { keepState } from "../ledger/shared/saved-states.ts";
import { stateHere } from "./carrying.ts";
import { sourceOf } from "./claimed.ts";
import { commit } from "./persist.ts";

export interface Followed {
  readonly baseCommit: string;
  /** Files that hold both versions now, for whoever works next; empty where all of it fits. */
  readonly conflicts: readonly string[];
}

/** Replays the work if its base is not the pinned head. Safe to repeat after a crash. Throws Failure. */
export async function followHead(
  host: Host,
  work: { mandate: MandateRow; repository: RepositoryRow; baseCommit: string },
): Promise<Followed> {
  const { mandate, repository, baseCommit } = work;
  const to = mandate.pinnedHead;
  if (to === null || to.commit === baseCommit || to.commit === mandate.publishedCommit) {
    return { baseCommit, conflicts: [] };
  }
  const replay = await host.runner.replay({
    mandateId: mandate.id,
    repository: sourceOf(host, repository),
    from: baseCommit,
    to: { pull: to.pull, commit: to.commit },
  });
  const conflicts = replay.kind === "conflicts" ? replay.files : [];
  const state = await stateHere(host, { mandateId: mandate.id, isSaved: true });
  await commit(host, async (tx) => {
    if (state !== undefined) await keepState(tx, state);
    await changeMandate(tx, mandate.id, { baseCommit: to.commit });
    const facts = { from: baseCommit, to: to.commit, conflicts };
    await record(tx, "work-replayed", { mandateId: mandate.id, facts });
  });
  return { baseCommit: to.commit, conflicts };
}
