// The work so far on another head (spec 1.5): merged as trees in the shadow, never through the checkout's `.git`.
// The state's ref is what decides: moved once, it is found again by a repeat after a crash, and all else follows it.

import { Failure } from "../../policies/failure.ts";
import { git } from "../git.ts";
import { endLeftovers } from "../processes.ts";
import type { Replay, ReplayRequest, WorkPlace } from "../runner.ts";
import { checkoutOf, isInPlace, openShadow, retireCheckout, type Checkout } from "./checkout.ts";
import { commitTree, treeOf } from "./commit.ts";
import { fetchHead } from "./head.ts";
import { openMirror, pin } from "./mirror.ts";
import { commitState, keeper, readState, saveState, type SavedState } from "./saved-state.ts";

// What both sides of a conflict are called between its markers.
const newHead = "new-head";
const workSoFar = "work-so-far";

/**
 * Moves the saved state; the checkout is retired and comes back from it. Throws Failure `head-gone`, and
 * `checkout-incomplete` where the checkout has files that no state can hold.
 */
export async function replayWork(place: WorkPlace, request: ReplayRequest): Promise<Replay> {
  const { mandateId, repository, from, to } = request;
  const mirror = await openMirror({ home: place.home, repositoryId: repository.id });
  await fetchHead(mirror, { ...repository, head: to });
  await pin(mirror, mandateId, to.commit);
  const checkout = checkoutOf({ home: place.home, mandateId });
  await endLeftovers(checkout);
  const state = await currentState(checkout);
  if (state === null) {
    await retireCheckout(checkout);
    return { kind: "nothing" };
  }
  const origin = await stateOn(checkout, { state, from });
  const { commit, files } = await moved(checkout, { origin, to: to.commit });
  if (state.base !== to.commit) {
    await keepOrigin(checkout, origin);
    await retireCheckout(checkout, { keepState: true });
    await git({ gitDir: checkout.gitDir, args: ["update-ref", checkout.stateRef, commit] });
  }
  if (files.length > 0) return { kind: "conflicts", files };
  const isEmpty = (await treeOf(checkout, commit)) === (await treeOf(checkout, to.commit));
  return { kind: isEmpty ? "nothing" : "replayed" };
}

/** The work as it stands: what a turn could not save is saved now, since the checkout is about to go. */
async function currentState(checkout: Checkout): Promise<SavedState | null> {
  if (!(await openShadow(checkout))) return null;
  const before = await readState(checkout);
  if (!(await isInPlace(checkout))) return before;
  const { commit } = await saveState(checkout, { doneSteps: before?.doneSteps ?? null });
  // Which steps made the rest is not known here.
  if (commit !== before?.commit) await saveState(checkout);
  const state = await readState(checkout);
  if (state?.isComplete !== false) return state;
  const message = `the checkout of ${checkout.mandateId} has files that no saved state can hold`;
  throw new Failure("checkout-incomplete", "never", { message });
}

/** The state on the old head: the present one, or the one before a replay that nobody was told of. */
async function stateOn(
  checkout: Checkout,
  { state, from }: { state: SavedState; from: string },
): Promise<SavedState> {
  if (state.base === from) return state;
  const kept = await readState(checkout, originRef(checkout));
  return kept?.base === from ? kept : state;
}

async function keepOrigin(checkout: Checkout, origin: SavedState): Promise<void> {
  const args = ["update-ref", originRef(checkout), origin.commit];
  await git({ gitDir: checkout.gitDir, args });
}

function originRef({ mandateId }: Checkout): string {
  return `refs/replayed/${mandateId}`;
}

/** The state on the new head, as a commit that no ref leads to yet, and the files that conflict in it. */
async function moved(
  checkout: Checkout,
  { origin, to }: { origin: SavedState; to: string },
): Promise<{ commit: string; files: string[] }> {
  const { base, commit: work, message } = origin;
  const all = await mergeTrees(checkout, { base, to, work });
  const tracked = await mergeTrees(checkout, { base, to, work: origin.tracked });
  const commit = await commitState(checkout, {
    base: to,
    tracked: tracked.tree,
    all: all.tree,
    message,
  });
  return { commit, files: all.files };
}

/** Git looks for a common ancestor in the history; three commits made for this leave it one choice. */
async function mergeTrees(
  checkout: Checkout,
  sides: { base: string; to: string; work: string },
): Promise<{ tree: string; files: string[] }> {
  const { gitDir } = checkout;
  const base = await bareCommit(checkout, sides.base);
  const moves =
    `update refs/heads/${newHead} ${await bareCommit(checkout, sides.to, base)}\n` +
    `update refs/heads/${workSoFar} ${await bareCommit(checkout, sides.work, base)}\n`;
  await git({ gitDir, args: ["update-ref", "--stdin"], input: Buffer.from(moves) });
  const merge = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"];
  const answer = await git({ gitDir, args: [...merge, newHead, workSoFar], answers: [1] });
  const [tree = "", ...names] = answer.toString("utf8").split("\0");
  return { tree, files: [...new Set(names.filter((name) => name !== ""))] };
}

async function bareCommit(checkout: Checkout, of: string, ...parents: string[]): Promise<string> {
  const tree = await treeOf(checkout, of);
  return commitTree(checkout, { tree, parents, message: "", author: keeper, committer: keeper });
}
