// One turn (spec 2.1): a claim in hand, see that it still stands, prepare and run in the checkout, settle, commit.
// What happens outside is recorded before it starts; a result that cannot be written is kept and tried again.

import { receipt, type ToolCall } from "../../policies/evidence/receipts.ts";
import type { Evidence } from "../../policies/evidence/stall.ts";
import { Failure } from "../../policies/failure.ts";
import { isTerminal, type TaskState, type TurnEnd } from "../../policies/mandate/mandate.ts";
import type { TaskProgress } from "../../policies/tasks.ts";
import type { CallRecord, TurnResult, Work } from "../../runners/runner.ts";
import { hashOf, type Host, type TurnHandle } from "../host.ts";
import { consumeGrant, record } from "../ledger/history.ts";
import { finishClaim, isLive, StaleClaim, type Claim } from "../ledger/inbox.ts";
import type { Tx } from "../ledger/ledger.ts";
import { mandateOf, type MandateRow } from "../ledger/mandates.ts";
import { touchStatus } from "../ledger/outbox.ts";
import { beginTurn, type TurnRow } from "../ledger/turns.ts";
import { stateHere, takeUpState, type NewState } from "./carrying.ts";
import { block, commitTurn, type EndedTurn } from "./checkpoint.ts";
import { claimedEntry, sourceOf, type ClaimedEntry } from "./claimed.ts";
import { followHead } from "./head.ts";
import { commit } from "./persist.ts";
import { publishEntry } from "./publishing.ts";
import { backToQueue, standing } from "./standing.ts";
import { turnHost } from "./turn-host.ts";

/** Works on one claimed entry until it is committed. Never rejects: whatever happens ends in the ledger or the log. */
export async function runEntry(host: Host, claim: Claim, turn: TurnHandle): Promise<void> {
  const lease = host.leases.hold(claim, () => turn.cancel("lease"));
  try {
    const claimed = await host.ledger.read((sql) => claimedEntry(sql, claim));
    const context = await standing(host, claimed);
    if (context === null) return;
    if (claim.kind === "publish") await publishEntry(host, context);
    else await workOn(host, context, turn);
  } catch (error) {
    if (error instanceof StaleClaim)
      host.log.warn({ mandate: claim.mandateId }, "stale result refused");
    else host.log.error({ mandate: claim.mandateId, error }, "turn failed inside the host");
  } finally {
    lease.release();
  }
}

async function workOn(host: Host, context: ClaimedEntry, handle: TurnHandle): Promise<void> {
  const start = await startingPoint(host, context);
  if (start === null) return;
  const begun = await host.ledger.write((tx) => begin(tx, host, context));
  if (begun === null) return;
  const result = await host.runner.runTurn(
    {
      mandateId: context.mandate.id,
      turnNumber: begun.turn.number,
      cause: context.claim.kind,
      repository: sourceOf(host, context.repository),
      head: context.mandate.pinnedHead,
      baseCommit: start.baseCommit,
      work: begun.work,
      untracked: context.mandate.policy.untracked,
      savesSteps: host.homeId !== null,
      endsAt: host.ledger.now() + context.mandate.ceilings.turnWallMs,
    },
    turnHost(host, context, { turn: begun.turn, signal: handle.signal }),
  );
  if (handle.cause() === "lease") throw new StaleClaim(context.claim);
  const ended = endedTurn(context, begun.turn, { result, end: endOf(result.end, handle) });
  const state = await stateAfter(host, context, result);
  await commit(host, (tx) => commitTurn(tx, host, { ...ended, state }));
}

/** A turn that was not even prepared has left everything as it was. */
async function stateAfter(
  host: Host,
  { mandate }: ClaimedEntry,
  { baseCommit, savedCommit }: TurnResult,
): Promise<NewState | undefined> {
  if (baseCommit === null) return undefined;
  return stateHere(host, { mandateId: mandate.id, isSaved: savedCommit !== null });
}

/** The commit that the work stands on, once it has followed its pull request; null where it may not go on now. */
async function startingPoint(
  host: Host,
  context: ClaimedEntry,
): Promise<{ baseCommit: string | null } | null> {
  const { mandate, repository, claim } = context;
  const { baseCommit } = mandate;
  if (baseCommit === null) return { baseCommit };
  try {
    await takeUpState(host, context);
    const { conflicts, ...followed } = await followHead(host, { mandate, repository, baseCommit });
    if (conflicts.length === 0 || mandate.task === null) return followed;
    const what = `the pull request was moved, and the work so far does not fit onto it: conflicts in ${conflicts.join(", ")}`;
    await commit(host, async (tx) => {
      await finishClaim(tx, claim);
      await block(tx, host, { mandate, reason: "head-moved", what });
    });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    host.log.warn({ mandate: mandate.id, error }, "the work cannot go on from where it was yet");
    await commit(host, (tx) => backToQueue(tx, host, context));
  }
  return null;
}

async function begin(
  tx: Tx,
  host: Host,
  { claim, mandate, anchor }: ClaimedEntry,
): Promise<{ turn: TurnRow; work: Work } | null> {
  if (!(await isLive(tx, claim))) throw new StaleClaim(claim);
  // Stopped after it was claimed: nothing of it begins (I8).
  if (isTerminal((await mandateOf(tx, mandate.id)).status)) {
    await finishClaim(tx, claim);
    return null;
  }
  const turn = await beginTurn(tx, claim);
  await record(tx, "turn-started", {
    mandateId: mandate.id,
    turnId: turn.id,
    facts: { number: turn.number, cause: claim.kind, note: claim.note },
  });
  await touchStatus(tx, mandate, host.timing.statusThrottleMs);
  if (mandate.task === null) {
    if (host.script === null) throw new Error("a request was accepted without an agent");
    return { turn, work: { kind: "scripted", script: host.script, prompt: anchor.text } };
  }
  const grant = claim.kind === "recover" ? await consumeGrant(tx, mandate.id) : undefined;
  const grantedStep = grant === undefined ? null : cutOffStep(mandate.task.progress);
  return { turn, work: { kind: "task", state: mandate.task, grantedStep } };
}

function cutOffStep(progress: TaskProgress): number | null {
  const index = progress.findIndex((step) => step.state === "started");
  return index === -1 ? null : index;
}

/** The runner reports a cancelled turn; only the host knows by whom. */
function endOf(end: TurnEnd, handle: TurnHandle): TurnEnd {
  const cause = handle.cause();
  if (end.kind !== "cancelled" || cause === null || cause === "lease") return end;
  return { kind: "cancelled", by: cause };
}

function endedTurn(
  context: ClaimedEntry,
  turn: TurnRow,
  { result, end }: { result: TurnResult; end: TurnEnd },
): EndedTurn {
  const { mandate, claim } = context;
  const given = receipt(result.calls.map(asToolCall), {
    succeeded: end.kind === "completed",
    hash: hashOf,
  });
  return {
    claim,
    turnId: turn.id,
    task: taskAfter(mandate.task, result.progress),
    baseCommit: result.baseCommit,
    outcome: {
      cause: claim.kind,
      end,
      report: result.report,
      isTask: mandate.task !== null,
      usedWorkTools: result.calls.some((call) => call.kind === "work"),
      baseline: turn.number === 1 ? fingerprintEvidence(result.fingerprintBefore) : null,
      found: [
        ...(given.given ? [{ kind: "receipt", hash: given.hash } as const] : []),
        ...[fingerprintEvidence(evidenceHash(mandate, result))].filter((one) => one !== null),
      ],
      tokens: 0,
      cost: 0,
    },
    facts: {
      end,
      report: result.report,
      reply: result.reply,
      fingerprintBefore: result.fingerprintBefore,
      fingerprintAfter: result.fingerprintAfter,
      fingerprintAll: result.fingerprintAll,
      events: result.events,
      receipt: given.given ? given.hash : null,
      receiptReasons: given.given ? null : given.reasons,
      savedCommit: result.savedCommit,
      isolation: result.isolation,
    },
  };
}

function asToolCall({ sequence, isError, ...call }: CallRecord): ToolCall {
  return { ...call, id: String(sequence), error: isError, length: call.text.length };
}

function taskAfter(task: TaskState | null, progress: TaskProgress | null): TaskState | null {
  return task === null || progress === null ? null : { ...task, progress };
}

/** Credit comes from tracked content alone, unless policy counts untracked files (5.2). */
function evidenceHash(mandate: MandateRow, result: TurnResult): string | null {
  return mandate.policy.untracked === "count" ? result.fingerprintAll : result.fingerprintAfter;
}

function fingerprintEvidence(hash: string | null): Evidence | null {
  return hash === null ? null : { kind: "fingerprint", hash };
}
