// Carries a settlement out in the one transaction of its turn (spec 2.1 step 5; I3): state, evidence, wait, entries
// and messages together. Nothing here talks to a forge or starts work.

import { isTerminal, type TaskState } from "../../policies/mandate/mandate.ts";
import { isFromPerson } from "../../policies/mandate/order.ts";
import { settle } from "../../policies/mandate/settle.ts";
import type { Block, SettleNotice, Settlement } from "../../policies/mandate/settlement.ts";
import type { TurnOutcome } from "../../policies/mandate/turn-outcome.ts";
import { waitBounds } from "../../policies/mandate/waits.ts";
import type { Host } from "../host.ts";
import { factsOf, lastSeen } from "../ledger/facts.ts";
import { addEvidence, evidenceOf, record } from "../ledger/history.ts";
import { addEntry, dropEntries, finishClaim, queuedEntries, type Claim } from "../ledger/inbox.ts";
import type { Tx } from "../ledger/ledger.ts";
import {
  findAnchor,
  changeMandate,
  mandateOf,
  wakeConversation,
  type MandateRow,
} from "../ledger/mandates.ts";
import { messagesOf, post, touchStatus } from "../ledger/outbox.ts";
import { keepState } from "../ledger/shared/saved-states.ts";
import { changeTurn, type TurnChange } from "../ledger/turns.ts";
import { armWait, endWait, liveWait } from "../ledger/waits.ts";
import { blockedNotice } from "../notices/blocked.ts";
import { questionNotice } from "../notices/question.ts";
import { resultNotice, type PublishWords } from "../notices/result.ts";
import { postWhole } from "../outbox/whole.ts";
import type { NewState } from "./carrying.ts";
import { ringForKept } from "./nudging.ts";

export interface EndedTurn {
  readonly claim: Claim;
  readonly turnId: number;
  readonly outcome: TurnOutcome;
  readonly facts: TurnChange;
  readonly task: TaskState | null;
  readonly baseCommit: string | null;
  /** What other workers go on from; missing where the state before stays. */
  readonly state?: NewState | undefined;
}

/**
 * Settles an ended turn and commits everything that follows, with the state that others go on from. Throws StaleClaim when
 * the lease was lost.
 */
export async function commitTurn(tx: Tx, host: Host, turn: EndedTurn): Promise<void> {
  await finishClaim(tx, turn.claim);
  if (turn.state !== undefined) await keepState(tx, turn.state);
  await settleTurn(tx, host, turn);
}

/** As `commitTurn`, for a turn whose claim has been ended already: one that was cut off (2.5). */
export async function settleTurn(tx: Tx, host: Host, turn: EndedTurn): Promise<void> {
  const mandate = await mandateOf(tx, turn.claim.mandateId);
  await changeTurn(tx, turn.turnId, { ...turn.facts, endedAt: tx.now });
  if (isTerminal(mandate.status)) {
    await refuseLate(tx, mandate, turn.turnId);
    return;
  }
  const settlement = await decide(tx, host, { mandate, turn });
  await changeTurn(tx, turn.turnId, { settlement });
  await apply(tx, host, { mandate, turn, settlement });
}

/** A result of revoked work is recorded and refused (1.3); nothing revives (I8). */
async function refuseLate(tx: Tx, mandate: MandateRow, turnId: number): Promise<void> {
  const facts = { reason: "authority-revoked", status: mandate.status };
  await record(tx, "late-result-refused", { mandateId: mandate.id, turnId, facts });
  await wakeConversation(tx, mandate.conversationId);
}

async function decide(
  tx: Tx,
  host: Host,
  { mandate, turn }: { mandate: MandateRow; turn: EndedTurn },
): Promise<Settlement> {
  const wait = await liveWait(tx, mandate.id);
  const queued = await queuedEntries(tx, mandate.id);
  return settle({
    mandate,
    turn: turn.outcome,
    wait: wait === undefined ? null : { wait, isClaimed: wait.state === "claimed" },
    binding: mandate.binding,
    history: await evidenceOf(tx, mandate.id),
    hasPersonInput: queued.some((entry) => isFromPerson(entry.kind)),
    publishes: mandate.policy.publish.on === "completed",
    bounds: { ...waitBounds, ...mandate.policy.waits },
    failureFirstMs: host.timing.failureFirstMs,
    now: tx.now,
  });
}

interface Applied {
  readonly mandate: MandateRow;
  readonly turn: EndedTurn;
  readonly settlement: Settlement;
}

async function apply(tx: Tx, host: Host, applied: Applied): Promise<void> {
  const { mandate, turn, settlement } = applied;
  const { turnId } = turn;
  const known = (await evidenceOf(tx, mandate.id)).length;
  await addEvidence(tx, { mandateId: mandate.id, turnId, known }, settlement);
  await applyWait(tx, mandate.id, { turnId, change: settlement.wait });
  // A new plan takes the place of an older one: no second continuation, no publish of older work.
  await dropEntries(tx, mandate.id, ["continuation", "recheck", "publish"]);
  await planEntry(tx, mandate, settlement);
  const hasEntry = (await queuedEntries(tx, mandate.id)).length > 0;
  await changeMandate(tx, mandate.id, {
    status: settlement.status === "waiting" && hasEntry ? "queued" : settlement.status,
    reason: settlement.reason,
    reasonText: settlement.notice?.kind === "blocked" ? settlement.notice.what : null,
    wayOut: settlement.notice?.kind === "blocked" ? settlement.notice.wayOut : null,
    nextStep: settlement.nextStep,
    nextStepBy: settlement.nextStepBy,
    counters: settlement.counters,
    binding: settlement.binding,
    ...(turn.task === null ? {} : { task: turn.task }),
    ...(turn.baseCommit === null ? {} : { baseCommit: turn.baseCommit }),
    ...(turn.outcome.report?.checklist === undefined
      ? {}
      : { checklist: turn.outcome.report.checklist }),
    noticeKey: null,
  });
  await ringForKept(tx, mandate);
  const facts = { status: settlement.status, reason: settlement.reason };
  await record(tx, "turn-settled", { mandateId: mandate.id, turnId, facts });
  if (settlement.notice !== null) {
    await tell(tx, host, { mandate, notice: settlement.notice });
  }
  await touchStatus(tx, mandate, host.timing.statusThrottleMs);
  await wakeConversation(tx, mandate.conversationId);
}

async function applyWait(
  tx: Tx,
  mandateId: string,
  { turnId, change }: { turnId: number; change: Settlement["wait"] },
): Promise<void> {
  switch (change.change) {
    case "register":
      await armWait(tx, { mandateId, turnId }, change.wait);
      await record(tx, "wait-registered", { mandateId, turnId, facts: change.wait });
      return;
    case "end":
      await endWait(tx, mandateId);
      return;
    case "keep":
      return;
  }
}

async function planEntry(tx: Tx, mandate: MandateRow, settlement: Settlement): Promise<void> {
  if (settlement.entry === null) return;
  await addEntry(tx, {
    ...settlement.entry,
    mandateId: mandate.id,
    conversationId: mandate.conversationId,
    lastRanAt: mandate.lastRanAt,
  });
}

/** Puts the notice of a settlement into the outbox, rendered now: what it says was true when it was decided. */
async function tell(
  tx: Tx,
  host: Host,
  { mandate, notice }: { mandate: MandateRow; notice: SettleNotice },
): Promise<void> {
  switch (notice.kind) {
    case "result":
      await finish(tx, host, { mandate, summary: notice.summary, publish: { kind: "none" } });
      return;
    case "question":
      await ask(tx, host, {
        mandate,
        body: questionNotice(await facts(tx, host, mandate), {
          reason: notice.reason,
          mention: host.mention,
        }),
      });
      return;
    case "blocked":
      await tellBlock(tx, host, { mandate, what: notice.what });
      return;
  }
}

async function tellBlock(
  tx: Tx,
  host: Host,
  { mandate, what }: { mandate: MandateRow; what: string },
): Promise<void> {
  const seen = (await lastSeen(tx, mandate.id)) ?? "";
  await ask(tx, host, {
    mandate,
    body: blockedNotice(await facts(tx, host, mandate), {
      what,
      lastSeen: seen,
      mention: host.mention,
    }),
  });
  await react(tx, mandate, "confused");
  await record(tx, "blocked", { mandateId: mandate.id, facts: { what } });
}

function facts(tx: Tx, host: Host, mandate: MandateRow) {
  return factsOf(tx, mandate.id, host);
}

/** A comment that a person has to see; the mandate's next look depends on it (I1). One per block or question. */
async function ask(
  tx: Tx,
  host: Host,
  { mandate, body }: { mandate: MandateRow; body: string },
): Promise<void> {
  const earlier = (await messagesOf(tx, mandate.id)).filter((message) => message.kind === "ask");
  const noticeKey = `ask ${mandate.id} ${earlier.length + 1}`;
  const { id: mandateId, conversationId } = mandate;
  await postWhole(tx, host, { key: noticeKey, conversationId, mandateId, kind: "ask", body });
  await changeMandate(tx, mandateId, { noticeKey });
}

/** The reaction on the command that made a mandate tells its state without a mail (1.6). */
export async function react(
  tx: Tx,
  mandate: Pick<MandateRow, "id" | "conversationId">,
  content: "eyes" | "rocket" | "confused",
): Promise<void> {
  const anchor = await findAnchor(tx, mandate.id);
  if (anchor === undefined || anchor.commentId === "") return;
  await post(tx, {
    key: `reaction ${mandate.id} ${content}`,
    conversationId: mandate.conversationId,
    mandateId: mandate.id,
    kind: "reaction",
    payload: { kind: anchor.commentKind, id: anchor.commentId, content },
  });
}

/** Ends a mandate as completed with its one result comment. */
export async function finish(
  tx: Tx,
  host: Host,
  done: { mandate: MandateRow; summary: string; publish: PublishWords },
): Promise<void> {
  const { mandate } = done;
  await endWait(tx, mandate.id);
  await dropEntries(tx, mandate.id);
  await changeMandate(tx, mandate.id, {
    status: "completed",
    reason: null,
    reasonText: null,
    wayOut: null,
    nextStep: "",
    noticeKey: null,
  });
  const body = resultNotice(await facts(tx, host, mandate), {
    summary: done.summary,
    checked: mandate.kind === "task" ? "rules" : "not-checked",
    publish: done.publish,
    mention: host.mention,
  });
  const { id: mandateId, conversationId } = mandate;
  await postWhole(tx, host, {
    key: `result ${mandateId}`,
    conversationId,
    mandateId,
    kind: "tell",
    body,
  });
  await react(tx, mandate, "rocket");
  await record(tx, "completed", { mandateId, facts: { summary: done.summary } });
  await touchStatus(tx, mandate, 0);
}

/** Blocks a mandate outside a turn: a deadline, a lost right, a lost lease (3.3, 1.7). */
export async function block(
  tx: Tx,
  host: Host,
  { mandate, ...cause }: Block & { readonly mandate: MandateRow },
): Promise<void> {
  await endWait(tx, mandate.id);
  await dropEntries(tx, mandate.id, ["continuation", "recheck", "publish", "child-result"]);
  await changeMandate(tx, mandate.id, {
    status: "blocked",
    reason: cause.reason,
    reasonText: cause.what,
    wayOut: cause.wayOut ?? null,
    noticeKey: null,
  });
  await tellBlock(tx, host, { mandate, what: cause.what });
  await touchStatus(tx, mandate, host.timing.statusThrottleMs);
  await wakeConversation(tx, mandate.conversationId);
}
