// A mandate's saved state on its way to another worker (spec 5.1, 7.1): packed without what its repository has, and
// unpacked there into a shadow on the same base, from which the next turn's checkout comes back.

import { Failure } from "../../policies/failure.ts";
import { git } from "../git.ts";
import { endLeftovers } from "../processes.ts";
import type { CarriedState, CarryRequest, WorkPlace } from "../runner.ts";
import { checkoutOf, makeShadow, openShadow, retireCheckout } from "./checkout.ts";
import { fetchCommit, fetchHead } from "./head.ts";
import { openMirror, resolve, type Mirror } from "./mirror.ts";
import { readState } from "./saved-state.ts";

/** A state is kept in the ledger until its mandate is over: what is larger stays where it is. */
const packBytesLimit = 64 * 1024 * 1024;

/** What is older does not have its commit. */
export async function hasState(
  { home }: WorkPlace,
  { mandateId, commit }: { mandateId: string; commit: string },
): Promise<boolean> {
  const checkout = checkoutOf({ home, mandateId });
  return (await openShadow(checkout)) && (await resolve(checkout, commit)) !== null;
}

/** Null where nothing is saved here, or more than can be carried. */
export async function packState(
  { home }: WorkPlace,
  mandateId: string,
): Promise<CarriedState | null> {
  const checkout = checkoutOf({ home, mandateId });
  const state = (await openShadow(checkout)) ? await readState(checkout) : null;
  if (state === null) return null;
  const { commit, base } = state;
  try {
    const pack = await git({
      gitDir: checkout.gitDir,
      args: ["pack-objects", "--quiet", "--revs", "--thin", "--delta-base-offset", "--stdout"],
      input: Buffer.from(`${commit}\n^${base}\n`),
      outputLimit: packBytesLimit,
    });
    return { commit, base, pack };
  } catch (error) {
    if (error instanceof Failure && error.code === "output-limit") return null;
    throw error;
  }
}

/**
 * Puts the state in the place of whatever is here of the mandate. Without one, or where its base cannot be had any more,
 * nothing stays: what comes next must not take older files for the work. Throws Failure.
 */
export async function unpackState(
  { home }: WorkPlace,
  { mandateId, repository, pull, state }: CarryRequest,
): Promise<void> {
  const checkout = checkoutOf({ home, mandateId });
  await endLeftovers(checkout);
  await retireCheckout(checkout);
  if (state === null) return;
  const { commit, base, pack } = state;
  const mirror = await openMirror({ home, repositoryId: repository.id });
  if (!(await fetchBase(mirror, { repository, pull, base }))) return;
  await makeShadow(checkout, { mirror, base });
  const { gitDir } = checkout;
  await git({ gitDir, args: ["index-pack", "--stdin", "--fix-thin"], input: Buffer.from(pack) });
  await git({ gitDir, args: ["update-ref", checkout.stateRef, commit] });
}

async function fetchBase(
  mirror: Mirror,
  { repository, pull, base }: Pick<CarryRequest, "repository" | "pull"> & { base: string },
): Promise<boolean> {
  const head = pull === null ? null : { pull, commit: base };
  try {
    await fetchHead(mirror, { ...repository, head });
    return await fetchCommit(mirror, { ...repository, commit: base });
  } catch (error) {
    if (error instanceof Failure && error.code === "head-gone") return false;
    throw error;
  }
}
