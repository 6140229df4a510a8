// The files of a mandate follow it from worker to worker (spec 5.1, 7.1), where several share a ledger: each step and each
// turn leaves its saved state there in its own transaction, and whoever takes the next turn begins with it.

import { Failure } from "../../policies/failure.ts";
import type { CarriedState } from "../../runners/runner.ts";
import type { Host } from "../host.ts";
import { findState, readState, type SavedStateRow } from "../ledger/shared/saved-states.ts";
import { sourceOf, type ClaimedEntry } from "./claimed.ts";

export type NewState = Omit<SavedStateRow, "at">;

/** Takes up what another worker left; nothing to do where the files are here already. Throws Failure. */
export async function takeUpState(
  host: Host,
  { mandate, repository }: Pick<ClaimedEntry, "mandate" | "repository">,
): Promise<void> {
  if (host.homeId === null || (await isHere(host, mandate.id))) return;
  const found = await host.ledger.read((sql) => readState(sql, mandate.id));
  if (found === undefined) return;
  await host.runner.unpackState({
    mandateId: mandate.id,
    repository: sourceOf(host, repository),
    pull: mandate.pinnedHead?.pull ?? null,
    state: carried(found),
  });
}

/** The name of the home alone would not do: a copy of this one has it too. */
async function isHere(host: Host, mandateId: string): Promise<boolean> {
  const found = await host.ledger.read((sql) => findState(sql, mandateId));
  if (found?.home !== host.homeId) return false;
  const commit = found.commitHash;
  return commit === null || host.runner.hasState({ mandateId, commit });
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
