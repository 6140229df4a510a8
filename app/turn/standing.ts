// What must hold before a turn and before anything is published (spec 1.5, 1.7): the place is there, its author still
// has the right, the pull request's head is the one that was pinned. What the forge cannot say now is asked again.

import { isAtLeast, stricter, type Level } from "../../policies/authority.ts";
import { minuteMs } from "../../policies/durations.ts";
import { Failure } from "../../policies/failure.ts";
import { permissionFor } from "../../policies/policy-file.ts";
import type { Forge, PullState } from "../forge/forge.ts";
import { levelOf } from "../forge/permission.ts";
import { forgeOf, type Host } from "../host.ts";
import { refOf } from "../ledger/conversations.ts";
import { countEvents, record } from "../ledger/history.ts";
import { finishClaim, putBack } from "../ledger/inbox.ts";
import type { Tx } from "../ledger/ledger.ts";
import { changeMandate, mandateOf, type PinnedHead } from "../ledger/mandates.ts";
import { touchStatus } from "../ledger/outbox.ts";
import { blockGone } from "../outbox/closed.ts";
import { block } from "./checkpoint.ts";
import type { ClaimedEntry } from "./claimed.ts";
import { commit } from "./persist.ts";
import { stopMandate } from "./stop.ts";

/** What is not there three times in ten minutes is gone (1.7). */
const goneWithinMs = 10 * minuteMs;
const goneTries = 3;
const goneRetryMs = 3 * minuteMs;

type Found =
  | { readonly found: "good"; readonly movedTo: string | null }
  | { readonly found: "unreachable" }
  | { readonly found: "no-place" }
  | { readonly found: "closed-place" }
  | { readonly found: "no-right" }
  | { readonly found: "not-allowed" }
  | { readonly found: "head-moved"; readonly to: string };

/** The entry with what is so now; null when it may not go on, which is then settled in the ledger. */
export async function standing(host: Host, entry: ClaimedEntry): Promise<ClaimedEntry | null> {
  const found = await look(host, entry);
  if (found.found === "good" && found.movedTo === null) return entry;
  return commit(host, (tx) => conclude(tx, host, { entry, found }));
}

async function look(host: Host, entry: ClaimedEntry): Promise<Found> {
  try {
    return await lookNow(host, entry);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    host.log.warn({ mandate: entry.mandate.id, error }, "the forge did not say whether it stands");
    return { found: "unreachable" };
  }
}

async function lookNow(host: Host, entry: ClaimedEntry): Promise<Found> {
  const { mandate, repository, conversation } = entry;
  const forge = forgeOf(host, repository.connection);
  const ref = refOf(repository, conversation);
  if ((await forge.readConversation(ref)) === null) return { found: "no-place" };
  // It closed while something ran in it; what is at rest was blocked then (1.7).
  if (conversation.goneAt !== null) return { found: "closed-place" };
  const policy = repository.policy ?? mandate.policy;
  const level = await levelOf(forge, repository, { personId: mandate.actorId, policy });
  if (!isAtLeast(level, neededLevel(entry))) return { found: "no-right" };
  const { pinnedHead } = mandate;
  const isFork = pinnedHead?.isFork ?? false;
  if (!host.mayRun(repository, { isFork })) return { found: "not-allowed" };
  if (pinnedHead === null) return { found: "good", movedTo: null };
  const pull = await forge.readPull({ ...ref, number: pinnedHead.pull });
  if (pull === null) return { found: "no-place" };
  return headNow(forge, entry, { pinnedHead, pull });
}

/** By today's policy file; the task's own demand is part of the definition that was accepted (5.6). */
function neededLevel({ mandate, repository }: ClaimedEntry): Level {
  const name = mandate.task === null ? "do" : "run";
  const policy = repository.policy ?? mandate.policy;
  const { level } = permissionFor({ name, needs: "write" }, policy);
  return mandate.task === null ? level : stricter(level, mandate.task.task.needs);
}

/** Moved by whoever may write here it is pinned anew; by anyone else a person must say so (1.5). */
async function headNow(
  forge: Forge,
  { mandate, conversation, repository }: ClaimedEntry,
  { pinnedHead, pull }: { pinnedHead: PinnedHead; pull: PullState },
): Promise<Found> {
  const to = pull.headCommit;
  const ours = [pinnedHead.commit, mandate.publishedCommit, mandate.intendedCommit];
  if (ours.includes(to)) return { found: "good", movedTo: null };
  const mover = conversation.movedHead?.commit === to ? conversation.movedHead.byId : null;
  const isByWriter =
    mover === null
      ? // Nobody else can push to a branch of the repository itself.
        !pinnedHead.isFork
      : isAtLeast(await forge.permissionOf(repository, mover), "write");
  return isByWriter ? { found: "good", movedTo: to } : { found: "head-moved", to };
}

async function conclude(
  tx: Tx,
  host: Host,
  { entry, found }: { entry: ClaimedEntry; found: Found },
): Promise<ClaimedEntry | null> {
  const { claim, mandate } = entry;
  switch (found.found) {
    case "good":
      return pinAnew(tx, entry, found.movedTo);
    case "unreachable":
      await backToQueue(tx, host, entry);
      return null;
    case "no-place":
      await missPlace(tx, host, entry);
      return null;
    case "closed-place":
      await finishClaim(tx, claim);
      await blockGone(tx, host, mandate);
      return null;
    case "no-right":
      await finishClaim(tx, claim);
      await block(tx, host, {
        mandate,
        reason: "authority-revoked",
        what: "the person who asked for it no longer has the needed permission",
      });
      return null;
    case "not-allowed":
      await finishClaim(tx, claim);
      await block(tx, host, {
        mandate,
        reason: "not-permitted",
        what: "the operator's settings no longer let anything run here",
      });
      return null;
    case "head-moved":
      await finishClaim(tx, claim);
      await block(tx, host, {
        mandate,
        reason: "head-moved",
        what: `the pull request was moved to ${found.to} by someone without write permission`,
      });
      return null;
  }
}

/** The work so far follows when the turn is prepared (5.1). */
async function pinAnew(tx: Tx, entry: ClaimedEntry, to: string | null): Promise<ClaimedEntry> {
  const { mandate } = entry;
  const { pinnedHead } = mandate;
  if (pinnedHead === null || to === null) return entry;
  await changeMandate(tx, mandate.id, { pinnedHead: { ...pinnedHead, commit: to } });
  const facts = { from: pinnedHead.commit, to };
  await record(tx, "head-pinned", { mandateId: mandate.id, facts });
  return { ...entry, mandate: await mandateOf(tx, mandate.id) };
}

/** Gives the claim back for a while: what stands in the way passes by itself. */
export async function backToQueue(
  tx: Tx,
  host: Host,
  { claim, mandate, afterMs }: ClaimedEntry & { readonly afterMs?: number },
): Promise<void> {
  await putBack(tx, claim, tx.now + (afterMs ?? host.timing.unreachableRetryMs));
  await changeMandate(tx, mandate.id, { status: "queued" });
  await touchStatus(tx, mandate, host.timing.statusThrottleMs);
}

/** An answer may lag: only what stays away is gone, and then nobody could be told of anything (1.7). */
async function missPlace(tx: Tx, host: Host, entry: ClaimedEntry): Promise<void> {
  const { mandate } = entry;
  await record(tx, "place-missing", { mandateId: mandate.id });
  const seen = { mandateId: mandate.id, kind: "place-missing", since: tx.now - goneWithinMs };
  if ((await countEvents(tx, seen)) < goneTries) {
    await backToQueue(tx, host, { ...entry, afterMs: goneRetryMs });
    return;
  }
  await finishClaim(tx, entry.claim);
  await stopMandate(tx, host, { mandate, byName: "the forge: its place is gone" });
}
