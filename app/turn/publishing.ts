// Publishing as a step of its own (spec 5.8, 6.4): branch and pull request by the host, safe to repeat after a crash,
// and the mandate completed only in the transaction that records the outcome.

import { Failure } from "../../policies/failure.ts";
import { isTerminal } from "../../policies/mandate/mandate.ts";
import { isFromPerson } from "../../policies/mandate/order.ts";
import { failureLimit, failurePauseMs } from "../../policies/mandate/settle.ts";
import type { PublishOutcome } from "../../runners/runner.ts";
import { LimitedFailure, type Forge, type PullRequest } from "../forge/forge.ts";
import { forgeOf, type Host } from "../host.ts";
import { accountOf, bookWrite, budgetOf, holdWrites } from "../ledger/forge-writes.ts";
import { record } from "../ledger/history.ts";
import { addEntry, finishClaim, queuedEntries } from "../ledger/inbox.ts";
import type { Tx } from "../ledger/ledger.ts";
import { changeMandate, mandateOf, type MandateRow } from "../ledger/mandates.ts";
import { touchStatus } from "../ledger/outbox.ts";
import { lastTurn } from "../ledger/turns.ts";
import { quote } from "../notices/neutralise.ts";
import { pullBody, pullTitle } from "../notices/pull.ts";
import { takeUpState } from "./carrying.ts";
import { block, finish } from "./checkpoint.ts";
import { sourceOf, type ClaimedEntry } from "./claimed.ts";
import { followHead } from "./head.ts";
import { commit } from "./persist.ts";
import { backToQueue } from "./standing.ts";

/** What runs into what was pushed meanwhile; a person or the next turn has to mend it. */
interface Conflicts {
  readonly kind: "refused";
  readonly why: "conflicts";
  readonly files: readonly string[];
}

type Outcome = PublishOutcome | Conflicts;
type Refused = Extract<Outcome, { kind: "refused" }>;

interface Published {
  readonly outcome: Outcome;
  readonly pull: Pick<PullRequest, "number" | "url"> | null;
}

/** While the forge or the network does not take it nothing is decided: the same publish is tried again (6.4). */
const unreachableCodes = new Set(["unavailable", "limited", "unsure", "forge-refused-git"]);

/** Works on a `publish` entry until its outcome is committed. */
export async function publishEntry(host: Host, context: ClaimedEntry): Promise<void> {
  let published: Published;
  try {
    published = await publish(host, context);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    host.log.warn({ mandate: context.mandate.id, error }, "publishing failed");
    await commit(host, (tx) => afterFailure(tx, host, { context, failure: error }));
    return;
  }
  await commit(host, (tx) => conclude(tx, host, { context, published }));
}

async function publish(host: Host, context: ClaimedEntry): Promise<Published> {
  const { mandate, anchor, repository, claim } = context;
  const { pinnedHead } = mandate;
  const last = await host.ledger.read((sql) => lastTurn(sql, mandate.id));
  if (mandate.baseCommit === null || last === undefined || last.savedCommit === null) {
    return { outcome: { kind: "empty" }, pull: null };
  }
  await takeUpState(host, context);
  const base = await replayed(host, context, mandate.baseCommit);
  if (typeof base !== "string") return { outcome: base, pull: null };
  const forge = forgeOf(host, repository.connection);
  const outcome = await host.runner.publish({
    mandateId: mandate.id,
    repository: sourceOf(host, repository),
    baseCommit: base,
    branch: targetBranch(mandate),
    title: host.redact(pullTitle(mandate)),
    body: host.redact(quote(claim.note ?? "")),
    author: { name: forge.self.name, email: forge.emailOf(forge.self) },
    coAuthor: {
      name: anchor.authorName,
      email: forge.emailOf({ id: anchor.authorId, name: anchor.authorName }),
    },
    // On the pull request's own branch what was pinned is what must still be there.
    publishedCommit: pinnedHead?.mayPush === true ? pinnedHead.commit : mandate.publishedCommit,
    intendedCommit: mandate.intendedCommit,
    intend: (intendedCommit) =>
      commit(host, (tx) => changeMandate(tx, mandate.id, { intendedCommit })),
    paths: mandate.policy.publish.paths,
    untracked: mandate.policy.untracked,
    filesLimit: mandate.policy.publish.filesLimit,
    bytesLimit: mandate.policy.publish.bytesLimit,
    at: last.endedAt ?? last.startedAt,
  });
  if (outcome.kind !== "published") return { outcome, pull: null };
  return { outcome, pull: await openPull(host, context) };
}

/** Where the work goes: to the pull request's own branch where that can be, else to the mandate's (5.8). */
function targetBranch({ pinnedHead, branch }: MandateRow): string {
  return pinnedHead?.mayPush === true ? pinnedHead.branch : branch;
}

/** A head of ours, or of one who pinned it anew, is followed before anything is published (1.5). */
async function replayed(
  host: Host,
  { mandate, repository }: ClaimedEntry,
  baseCommit: string,
): Promise<string | Conflicts> {
  const followed = await followHead(host, { mandate, repository, baseCommit });
  return followed.conflicts.length === 0
    ? followed.baseCommit
    : { kind: "refused", why: "conflicts", files: followed.conflicts };
}

/** The pull request of the branch: the one that was there before, or a draft of ours; adopted, never doubled (6.4). */
async function openPull(
  host: Host,
  context: ClaimedEntry,
): Promise<Pick<PullRequest, "number" | "url"> | null> {
  const { mandate, repository } = context;
  const forge = forgeOf(host, repository.connection);
  const branch = targetBranch(mandate);
  const known = await forge.findPull(repository, branch);
  if (known !== null) return known;
  // Its own pull request has ended meanwhile; what was pushed is there for whoever opens it again.
  if (branch !== mandate.branch) return null;
  await reserveWrite(host, context, forge);
  try {
    return await forge.createPull(repository, newPull(host, context));
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "refused") throw error;
    const made = await forge.findPull(repository, branch);
    if (made === null) throw error;
    return made;
  }
}

/** A pull request is a write like any other (6.3). Throws LimitedFailure until there is room for it. */
async function reserveWrite(host: Host, { repository }: ClaimedEntry, forge: Forge): Promise<void> {
  const limits = forge.writeLimits;
  if (limits === null) return;
  const account = accountOf(repository);
  const until = await commit(host, async (tx) => {
    const budget = await budgetOf(tx, account, { limits, isUrgent: true });
    if (budget.left > 0) await bookWrite(tx, account);
    return budget.left > 0 ? null : budget.nextAt;
  });
  if (until === null) return;
  throw new LimitedFailure(until, { message: "the budget of writes is used up" });
}

function newPull(host: Host, context: ClaimedEntry): Parameters<Forge["createPull"]>[1] {
  const { mandate, anchor, repository, claim } = context;
  const forge = forgeOf(host, repository.connection);
  const { pinnedHead } = mandate;
  return {
    title: host.redact(pullTitle(mandate)),
    body: host.redact(
      pullBody({
        mandate,
        anchor,
        summary: claim.note ?? "",
        recordUrl: host.recordUrl(mandate.id),
      }),
    ),
    head: mandate.branch,
    base: pinnedHead?.isFork === false ? pinnedHead.branch : repository.defaultBranch,
    isDraft: forge.capabilities.drafts,
  };
}

async function conclude(
  tx: Tx,
  host: Host,
  { context, published }: { context: ClaimedEntry; published: Published },
): Promise<void> {
  const { claim } = context;
  const { outcome, pull } = published;
  await finishClaim(tx, claim);
  const facts = { outcome, pull: pull?.number ?? null };
  await record(tx, "published", { mandateId: claim.mandateId, facts });
  const mandate = await unfinished(tx, claim.mandateId);
  if (mandate === null) return;
  if (outcome.kind === "published") {
    await changeMandate(tx, mandate.id, {
      publishedCommit: outcome.commit,
      intendedCommit: null,
      pullNumber: pull?.number ?? null,
      ...(mandate.pinnedHead?.mayPush === true
        ? { pinnedHead: { ...mandate.pinnedHead, commit: outcome.commit } }
        : {}),
    });
  }
  // A person spoke meanwhile: that comes first, and its turn publishes what then is (1.3).
  if (outcome.kind !== "refused" && (await hasPersonInput(tx, mandate.id))) {
    await changeMandate(tx, mandate.id, { status: "queued" });
    return;
  }
  const summary = claim.note ?? "";
  switch (outcome.kind) {
    case "published":
      await finish(tx, host, {
        mandate,
        summary,
        publish: {
          kind: "published",
          branch: targetBranch(mandate),
          commit: outcome.commit,
          files: outcome.files,
          pullNumber: pull?.number ?? null,
          pullUrl: pull?.url ?? null,
        },
      });
      return;
    case "empty":
      await finish(tx, host, { mandate, summary, publish: { kind: "empty" } });
      return;
    case "refused":
      await refuse(tx, host, { mandate, outcome });
      return;
  }
}

async function hasPersonInput(tx: Tx, mandateId: string): Promise<boolean> {
  return (await queuedEntries(tx, mandateId)).some((entry) => isFromPerson(entry.kind));
}

/** The mandate as it is now; null when it was stopped meanwhile, which nothing revives (I8). */
async function unfinished(tx: Tx, id: string): Promise<MandateRow | null> {
  const mandate = await mandateOf(tx, id);
  return isTerminal(mandate.status) ? null : mandate;
}

/** A task cannot mend what may not be published: a person decides at once instead of after a second try. */
async function refuse(
  tx: Tx,
  host: Host,
  refused: { mandate: MandateRow; outcome: Refused },
): Promise<void> {
  const { mandate, outcome } = refused;
  const files = outcome.files.slice(0, 20).join(", ");
  await block(tx, host, {
    mandate,
    reason: "publish-refused",
    what: refusedWords(outcome.why, { mandate, files }),
  });
}

function refusedWords(
  why: Refused["why"],
  { mandate, files }: { mandate: MandateRow; files: string },
): string {
  switch (why) {
    case "files":
      return `these files may not be published: ${files}`;
    case "conflicts":
      return `the pull request was moved, and the work does not fit onto it: conflicts in ${files}`;
    case "not-allowed":
      return `the forge does not let the branch ${targetBranch(mandate)} be pushed: ${files}`;
    case "remote-moved":
      return `the branch ${targetBranch(mandate)} was moved by somebody else`;
  }
}

async function afterFailure(
  tx: Tx,
  host: Host,
  { context, failure }: { context: ClaimedEntry; failure: Failure },
): Promise<void> {
  if (failure.code === "checkout-lost") return lose(tx, host, context);
  if (!unreachableCodes.has(failure.code)) return again(tx, host, context);
  if (failure instanceof LimitedFailure) {
    await holdWrites(tx, accountOf(context.repository), failure.until);
  }
  const soonest = tx.now + host.timing.unreachableRetryMs;
  const until = failure instanceof LimitedFailure ? Math.max(failure.until, soonest) : soonest;
  await backToQueue(tx, host, { ...context, afterMs: until - tx.now });
}

/** The disk it was on is gone (5.1): trying again finds nothing, and an empty result would hide it. */
async function lose(tx: Tx, host: Host, { claim }: ClaimedEntry): Promise<void> {
  await finishClaim(tx, claim);
  const mandate = await unfinished(tx, claim.mandateId);
  if (mandate === null) return;
  const what = "what it had made is nowhere any more, so nothing was published";
  await block(tx, host, { mandate, reason: "checkout-failed", what });
}

/** The repository or forge did not take it this time: the same publish again, three failures in a row block. */
async function again(tx: Tx, host: Host, { claim }: ClaimedEntry): Promise<void> {
  await finishClaim(tx, claim);
  const mandate = await unfinished(tx, claim.mandateId);
  if (mandate === null) return;
  const failures = mandate.counters.failures + 1;
  await changeMandate(tx, mandate.id, { counters: { ...mandate.counters, failures } });
  if (failures >= failureLimit) {
    const what = "the result could not be written to the repository three times in a row";
    await block(tx, host, { mandate, reason: "publish-refused", what });
    return;
  }
  await changeMandate(tx, mandate.id, { status: "queued" });
  await addEntry(tx, {
    mandateId: mandate.id,
    conversationId: mandate.conversationId,
    kind: "publish",
    availableAt: tx.now + failurePauseMs(failures, host.timing.failureFirstMs),
    lastRanAt: mandate.lastRanAt,
    note: claim.note,
  });
  await touchStatus(tx, mandate, host.timing.statusThrottleMs);
}
