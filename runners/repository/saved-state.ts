// The state of a checkout on the private ref of its shadow (spec 5.1): what a lost checkout comes back from.
// It says which commit it was made on, which steps' files are in it and whether any are missing (2.5).

import { storeTree } from "../fingerprint.ts";
import { git, gitText } from "../git.ts";
import { commitTree, headOf } from "./commit.ts";
import { resolve, type ObjectStore } from "./mirror.ts";

/** A shadow git dir and the ref in it that is the state's. */
export interface Shadow extends ObjectStore {
  mandateId: string;
  stateRef: string;
}

export interface SavedState {
  commit: string;
  base: string;
  /** Its first parent: the tracked files alone. */
  tracked: string;
  /** Steps that had succeeded; null where nobody counted them. */
  doneSteps: number | null;
  isComplete: boolean;
  message: string;
}

// Saved states carry no time, so that the same state is the same commit.
export const keeper = { name: "Holdfast", email: "holdfast@localhost", at: 0 };
/** What a scan can leave out; a commit without it would look like a deletion. */
export const incomplete = /^(?:unreadable|untracked-over-limit|untracked-unlisted|link-refused)/;

/** Saves tracked and new files; safe to repeat. No process may live in the checkout. */
export async function saveState(
  checkout: Shadow & { workTree: string },
  { doneSteps = null }: { doneSteps?: number | null } = {},
): Promise<{ commit: string; tree: string; events: string[] }> {
  const { tracked, all, events } = await storeTree(checkout, { untracked: "commit" });
  const left = events.filter((event) => incomplete.test(event));
  const counted = doneSteps === null ? [] : [`Done-steps: ${doneSteps}`];
  const notes = [...counted, ...left.map((event) => `Left-out: ${event}`)];
  const message = `${[`State of ${checkout.mandateId}`, "", ...notes].join("\n").trim()}\n`;
  const base = await headOf(checkout);
  const commit = await commitState(checkout, { base, tracked, all, message });
  await git({ gitDir: checkout.gitDir, args: ["update-ref", checkout.stateRef, commit] });
  return { commit, tree: all, events };
}

/** Two commits, so that a restored checkout still tells tracked files from new ones. Moves no ref. */
export async function commitState(
  store: ObjectStore,
  state: { base: string; tracked: string; all: string; message: string },
): Promise<string> {
  const by = { author: keeper, committer: keeper };
  const { base, message } = state;
  const kept = await commitTree(store, { ...by, tree: state.tracked, parents: [base], message });
  return commitTree(store, { ...by, tree: state.all, parents: [kept], message });
}

/** The state that a ref of the shadow leads to, or null. */
export async function readState(
  { gitDir, stateRef }: Pick<Shadow, "gitDir" | "stateRef">,
  ref = stateRef,
): Promise<SavedState | null> {
  const commit = await resolve({ gitDir }, ref);
  if (commit === null) return null;
  const tracked = await gitText({ gitDir, args: ["rev-parse", "--verify", `${commit}^`] });
  const base = await gitText({ gitDir, args: ["rev-parse", "--verify", `${commit}^^`] });
  const message = await gitText({ gitDir, args: ["show", "-s", "--format=%B", commit] });
  const doneSteps = /^Done-steps: (\d+)$/m.exec(message)?.[1];
  return {
    commit,
    base,
    tracked,
    doneSteps: doneSteps === undefined ? null : Number(doneSteps),
    isComplete: !/^Left-out: /m.test(message),
    message: `${message.trim()}\n`,
  };
}
