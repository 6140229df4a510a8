// The files of a mandate follow it from worker to worker (spec 5.1, 7.1), where several share a ledger: each turn leaves
// its saved state there in its own transaction, and whoever takes the next one begins with it.

import { Failure } from "../../policies/failure.ts";
import type { CarriedState } from "../../runners/runner.ts";
import type { Host } from "../host.ts";
import { stateElsewhere, type SavedStateRow } from "../ledger/shared/saved-states.ts";
import { sourceOf, type ClaimedEntry } from "./claimed.ts";

export type NewState = Omit<SavedStateRow, "at">;

/** Takes up what another worker left; nothing to do where this one had the last turn. Throws Failure. */
export async function takeUpState(
  host: Host,
  { mandate, repository }: Pick<ClaimedEntry, "mandate" | "repository">,
): Promise<void> {
  const { homeId } = host;
  if (homeId === null) return;
  const found = await host.ledger.read((sql) =>
    stateElsewhere(sql, { mandateId: mandate.id, home: homeId }),
  );
  if (found === undefined) return;
  await host.runner.unpackState({
    mandateId: mandate.id,
    repository: sourceOf(host, repository),
    pull: mandate.pinnedHead?.pull ?? null,
    state: carried(found),
  });
}

function carried({ commitHash, baseHash, pack }: SavedStateRow): CarriedState | null {
  if (commitHash === null || baseHash === null || pack === null) return null;
  return { commit: commitHash, base: baseHash, pack };
}

/** What is to be kept of a mandate's files as they are here now; undefined where nobody else works on this ledger. */
export async function stateHere(
  host: Host,
  { mandateId, isSaved }: { mandateId: string; isSaved: boolean },
): Promise<NewState | undefined> {
  if (host.homeId === null) return undefined;
  const state = isSaved ? await packed(host, mandateId) : null;
  return {
    mandateId,
    home: host.homeId,
    commitHash: state?.commit ?? null,
    baseHash: state?.base ?? null,
    pack: state?.pack ?? null,
  };
}

/** What cannot be packed stays with this worker: no reason to lose a turn that has been done. */
async function packed(host: Host, mandateId: string): Promise<CarriedState | null> {
  try {
    return await host.runner.packState(mandateId);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    host.log.warn({ mandate: mandateId, error }, "its files cannot follow it to other workers");
    return null;
  }
}
