// Publishing as a step of its own (spec 5.8, 6.4): branch and pull request by the host, safe to repeat after a crash,
// and the mandate completed only in the transaction that records the outcome.

import { Failure } from "../../policies/failure.ts";
import { isTerminal } from "../../policies/mandate/mandate.ts";
import { isFromPerson } from "../../policies/mandate/order.ts";
import { failureBackoffMs, failureLimit } from "../../policies/mandate/settle.ts";
import type { PublishOutcome } from "../../runners/runner.ts";
import type { PullRequest } from "../forge/forge.ts";
import { forgeOf, type Host } from "../host.ts";
import { record } from "../ledger/history.ts";
import { addEntry, finishClaim, queuedEntries } from "../ledger/inbox.ts";
import type { Tx } from "../ledger/ledger.ts";
import { changeMandate, mandateOf, type MandateRow } from "../ledger/mandates.ts";
import { touchStatus } from "../ledger/outbox.ts";
import { lastTurn } from "../ledger/turns.ts";
import { quote } from "../notices/neutralise.ts";
import { pullBody, pullTitle } from "../notices/pull.ts";
import { block, finish } from "./checkpoint.ts";
import { sourceOf, type ClaimedEntry } from "./claimed.ts";
import { commit } from "./persist.ts";

interface Published {
  readonly outcome: PublishOutcome;
  readonly pull: PullRequest | null;
}

/** Works on a `publish` entry until its outcome is committed. */
export async function publishEntry(host: Host, context: ClaimedEntry): Promise<void> {
  let published: Published;
  try {
    published = await publish(host, context);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    host.log.warn({ mandate: context.mandate.id, error }, "publishing failed");
    const isLost = error.code === "checkout-lost";
    await commit(host, (tx) => (isLost ? lose(tx, host, context) : again(tx, host, context)));
    return;
  }
  await commit(host, (tx) => conclude(tx, host, { context, published }));
}

async function publish(host: Host, context: ClaimedEntry): Promise<Published> {
  const { mandate, anchor, repository, claim } = context;
  const last = await host.ledger.read((sql) => lastTurn(sql, mandate.id));
  if (mandate.baseCommit === null || last === undefined || last.savedCommit === null) {
    return { outcome: { kind: "empty" }, pull: null };
  }
  const outcome = await host.runner.publish({
    mandateId: mandate.id,
    repository: sourceOf(repository),
    baseCommit: mandate.baseCommit,
    branch: mandate.branch,
    title: pullTitle(mandate),
    body: quote(claim.note ?? ""),
    coAuthor: { name: anchor.authorName, email: `${anchor.authorId}@${repository.connection}` },
    publishedCommit: mandate.publishedCommit,
    paths: mandate.policy.publish.paths,
    untracked: mandate.policy.untracked,
    filesLimit: mandate.policy.publish.filesLimit,
    bytesLimit: mandate.policy.publish.bytesLimit,
    at: last.endedAt ?? last.startedAt,
  });
  if (outcome.kind !== "published") return { outcome, pull: null };
  return { outcome, pull: await openPull(host, context) };
}

/** An open pull request of this branch is adopted, not doubled (6.4). */
async function openPull(host: Host, context: ClaimedEntry): Promise<PullRequest> {
  const { mandate, anchor, repository, claim } = context;
  const forge = forgeOf(host, repository.connection);
  const known = await forge.findPull(repository, mandate.branch);
  if (known !== null) return known;
  return forge.createPull(repository, {
    title: pullTitle(mandate),
    body: pullBody({
      mandate,
      anchor,
      summary: claim.note ?? "",
      recordUrl: host.recordUrl(mandate.id),
    }),
    head: mandate.branch,
    base: repository.defaultBranch,
    isDraft: false,
  });
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
    const published = { publishedCommit: outcome.commit, pullNumber: pull?.number ?? null };
    await changeMandate(tx, mandate.id, published);
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
          branch: mandate.branch,
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
  refused: { mandate: MandateRow; outcome: Extract<PublishOutcome, { kind: "refused" }> },
): Promise<void> {
  const { mandate, outcome } = refused;
  const files = outcome.files.slice(0, 20).join(", ");
  const what =
    outcome.why === "files"
      ? `these files may not be published: ${files}`
      : `the branch ${mandate.branch} was moved by somebody else`;
  await block(tx, host, { mandate, reason: "publish-refused", what });
}

/** The disk it was on is gone (5.1): trying again finds nothing, and an empty result would hide it. */
async function lose(tx: Tx, host: Host, { claim }: ClaimedEntry): Promise<void> {
  await finishClaim(tx, claim);
  const mandate = await unfinished(tx, claim.mandateId);
  if (mandate === null) return;
  const what = "what it had made is no longer on this machine, so nothing was published";
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
  const backoffMs = failureBackoffMs[failures - 1] ?? failureBackoffMs[0];
  await changeMandate(tx, mandate.id, { status: "queued" });
  await addEntry(tx, {
    mandateId: mandate.id,
    conversationId: mandate.conversationId,
    kind: "publish",
    availableAt: tx.now + backoffMs,
    lastRanAt: mandate.lastRanAt,
    note: claim.note,
  });
  await touchStatus(tx, mandate, host.timing.statusThrottleMs);
}
