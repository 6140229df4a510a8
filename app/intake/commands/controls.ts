// Commands about mandates that exist (spec 1.3, 1.4): stop, pause, resume, reply, continue, extend, check, recover.
// What does not fit the mandate's state changes nothing and is answered with what does.

import type { Command, Keyword } from "../../../policies/commands/commands.ts";
import { dayMs, formatDuration } from "../../../policies/durations.ts";
import { fits, fittingCommands, type FitFacts } from "../../../policies/mandate/fits.ts";
import type { EntryKind } from "../../../policies/mandate/mandate.ts";
import { factsOf, factsOfEach } from "../../ledger/facts.ts";
import { addGrant, addHold, holdOn, liftHold, record } from "../../ledger/history.ts";
import { addEntry } from "../../ledger/inbox.ts";
import type { Tx } from "../../ledger/ledger.ts";
import {
  changeMandate,
  findMandate,
  mandatesIn,
  refreshLook,
  type MandateChange,
  type MandateRow,
} from "../../ledger/mandates.ts";
import { touchStatus } from "../../ledger/outbox.ts";
import { lastTurn } from "../../ledger/turns.ts";
import { bringForward, liveWait } from "../../ledger/waits.ts";
import { answerNotice } from "../../notices/answers.ts";
import { refusalNotice, type Refusal } from "../../notices/refusal.ts";
import { stopMandate } from "../../turn/stop.ts";
import type { Accepted } from "../texts.ts";
import type { Outcome } from "./commands.ts";

type Controlling = Extract<
  Command,
  { name: "reply" | "stop" | "pause" | "resume" | "continue" | "extend" | "check" | "recover" }
>;

/** A grant that nobody uses ends after a day (2.6). */
const grantMs = dayMs;

export async function control(tx: Tx, accepted: Accepted, command: Controlling): Promise<Outcome> {
  const { id } = command.args;
  if (id === null) return controlAll(tx, accepted, command);
  const mandate = await findMandate(tx, id);
  if (mandate === undefined || mandate.conversationId !== accepted.conversation.id) {
    const candidates = await mandatesIn(tx, accepted.conversation.id);
    return refuse(accepted, { kind: "unknown-id", id, candidates });
  }
  if (!(await fitsNow(tx, mandate, command.name))) {
    return misfit(tx, accepted, { mandate, keyword: command.name, command });
  }
  const answer = await controlOne(tx, accepted, { command, mandate });
  if (typeof answer !== "string") return refuse(accepted, answer);
  return { mandateId: mandate.id, say: answer };
}

function refuse(accepted: Accepted, refusal: Refusal): Outcome {
  return { mandateId: null, say: refusalNotice(refusal, accepted.host.mention) };
}

async function fitFacts(tx: Tx, mandate: MandateRow): Promise<FitFacts> {
  // Under a pause nothing looks, so a look that is asked for would not come.
  const isHeld = (await holdOn(tx, mandate)) !== undefined;
  return {
    status: mandate.status,
    reason: mandate.reason,
    wayOut: mandate.wayOut,
    isTask: mandate.task !== null,
    hasArmedWait: (await liveWait(tx, mandate.id))?.state === "armed" && !isHeld,
    isExpired: mandate.deadlineAt <= tx.now,
  };
}

async function fitsNow(tx: Tx, mandate: MandateRow, keyword: Keyword): Promise<boolean> {
  return fits(keyword, await fitFacts(tx, mandate));
}

/** Answered with the state and what fits it; a reply is kept for the next turn all the same (1.6). */
export async function misfit(
  tx: Tx,
  accepted: Accepted,
  refused: { mandate: MandateRow; keyword: Keyword; command: Controlling | null },
): Promise<Outcome> {
  const { mandate, keyword, command } = refused;
  const facts = await fitFacts(tx, mandate);
  if (command?.name === "reply" && mandate.status === "blocked" && !facts.isTask) {
    await keepReply(tx, accepted, { mandate, text: command.text });
  }
  return refuse(accepted, {
    kind: "wrong-state",
    facts: await factsOf(tx, mandate.id, accepted.host),
    keyword,
    fitting: fittingCommands(facts),
  });
}

async function controlOne(
  tx: Tx,
  accepted: Accepted,
  { command, mandate }: { command: Controlling; mandate: MandateRow },
): Promise<string | Refusal> {
  const { host } = accepted;
  const { id } = mandate;
  switch (command.name) {
    case "stop":
      await stopMandate(tx, host, { mandate, byName: accepted.author.name });
      return stoppedText(tx, accepted, [mandate]);
    case "pause":
      await hold(tx, accepted, { scope: "mandate", subject: id, mandates: [mandate] });
      return answerNotice({ kind: "paused", id }, host.mention);
    case "resume": {
      const own = { scope: "mandate", subject: id, mandates: [mandate] } as const;
      if (!(await release(tx, accepted, own))) return notPaused(tx, accepted, mandate);
      return answerNotice({ kind: "resumed", id }, host.mention);
    }
    case "reply":
      await queueReply(tx, accepted, { mandate, text: command.text });
      return answerNotice({ kind: "reply-delivered", id }, host.mention);
    case "continue":
      await goOn(tx, accepted, {
        mandate,
        kind: "continue",
        change: freshAllowance(accepted, mandate),
      });
      return answerNotice({ kind: "continued", id }, host.mention);
    case "extend":
      return extend(tx, accepted, { mandate, command });
    case "check":
      await bringForward(tx, id);
      await record(tx, "check-asked", { mandateId: id, facts: { by: accepted.author.name } });
      return answerNotice({ kind: "recheck-asked", id }, host.mention);
    case "recover":
      await grantRecovery(tx, accepted, mandate);
      return answerNotice({ kind: "recover-granted", id }, host.mention);
  }
}

async function controlAll(tx: Tx, accepted: Accepted, command: Controlling): Promise<Outcome> {
  const { conversation, host } = accepted;
  const mandates = await mandatesIn(tx, conversation.id);
  const whole = { scope: "conversation", subject: conversation.id, mandates } as const;
  switch (command.name) {
    case "stop":
      for (const mandate of mandates)
        await stopMandate(tx, host, { mandate, byName: accepted.author.name });
      return { mandateId: null, say: await stoppedText(tx, accepted, mandates) };
    case "pause":
      await hold(tx, accepted, whole);
      return { mandateId: null, say: answerNotice({ kind: "paused", id: null }, host.mention) };
    case "resume":
      await release(tx, accepted, whole);
      return { mandateId: null, say: answerNotice({ kind: "resumed", id: null }, host.mention) };
    case "reply":
    case "continue":
    case "extend":
    case "check":
    case "recover":
      throw new Error(`${command.name} needs the id of a mandate`);
  }
}

async function stoppedText(
  tx: Tx,
  accepted: Accepted,
  stopped: readonly MandateRow[],
): Promise<string> {
  const { host } = accepted;
  const mandates = await factsOfEach(tx, stopped, host);
  return answerNotice({ kind: "stopped", mandates, alsoExists: [] }, host.mention);
}

interface Scope {
  readonly scope: "conversation" | "mandate";
  readonly subject: string;
  readonly mandates: readonly MandateRow[];
}

async function hold(tx: Tx, accepted: Accepted, held: Scope): Promise<void> {
  const { scope, subject } = held;
  const byName = accepted.author.name;
  await addHold(tx, { scope, subject, reason: "paused", byName });
  await settleHold(tx, accepted, { held, event: "paused" });
}

/** What came due under the hold fires once, now: the looks are set anew (1.3). */
async function release(tx: Tx, accepted: Accepted, held: Scope): Promise<boolean> {
  const isLifted = await liftHold(tx, held.scope, held.subject);
  await settleHold(tx, accepted, { held, event: "resumed" });
  return isLifted;
}

/** No pause of its own lies on it; a wider one is shown with who laid it. */
async function notPaused(tx: Tx, accepted: Accepted, mandate: MandateRow): Promise<Refusal> {
  const fitting = fittingCommands(await fitFacts(tx, mandate));
  return {
    kind: "wrong-state",
    facts: await factsOf(tx, mandate.id, accepted.host),
    keyword: "resume",
    fitting: fitting.filter((keyword) => keyword !== "resume"),
  };
}

async function settleHold(
  tx: Tx,
  accepted: Accepted,
  { held, event }: { held: Scope; event: "paused" | "resumed" },
): Promise<void> {
  const facts = { scope: held.scope, by: accepted.author.name };
  for (const mandate of held.mandates) {
    await refreshLook(tx, mandate.id);
    await record(tx, event, { mandateId: mandate.id, facts });
    await touchStatus(tx, mandate, 0);
  }
}

async function queueReply(
  tx: Tx,
  accepted: Accepted,
  { mandate, text }: { mandate: MandateRow; text: string },
): Promise<void> {
  const isAsking = mandate.status === "waiting" || mandate.reason === "agent-blocked";
  if (!isAsking) return keepReply(tx, accepted, { mandate, text });
  const payload = { text, by: accepted.author.name };
  await record(tx, "reply", { mandateId: mandate.id, facts: payload });
  await goOn(tx, accepted, { mandate, kind: "reply", change: {}, payload });
}

/** For the next turn, whatever brings it: a reply alone does not undo a deadline that has passed (1.6). */
async function keepReply(
  tx: Tx,
  accepted: Accepted,
  { mandate, text }: { mandate: MandateRow; text: string },
): Promise<void> {
  const payload = { text, by: accepted.author.name };
  await record(tx, "reply", { mandateId: mandate.id, facts: payload });
  await enqueue(tx, mandate, { kind: "reply", payload });
}

/** A mandate that stood still has an entry from a person again. */
async function goOn(
  tx: Tx,
  accepted: Accepted,
  next: { mandate: MandateRow; kind: EntryKind; change: MandateChange; payload?: unknown },
): Promise<void> {
  const { mandate, kind, change, payload } = next;
  await changeMandate(tx, mandate.id, {
    ...change,
    status: "queued",
    reason: null,
    reasonText: null,
    wayOut: null,
    noticeKey: null,
  });
  await enqueue(tx, mandate, { kind, payload: payload ?? null });
  await record(tx, "goes-on", { mandateId: mandate.id, facts: { kind, by: accepted.author.name } });
  await touchStatus(tx, mandate, 0);
}

async function enqueue(
  tx: Tx,
  mandate: MandateRow,
  entry: { kind: EntryKind; payload: unknown },
): Promise<void> {
  await addEntry(tx, {
    ...entry,
    mandateId: mandate.id,
    conversationId: mandate.conversationId,
    availableAt: tx.now,
    lastRanAt: mandate.lastRanAt,
  });
}

/** Attempts begin anew, a wait may be registered freely; evidence keeps its history. */
function freshAllowance(accepted: Accepted, mandate: MandateRow): MandateChange {
  const takesOver = mandate.reason === "authority-revoked";
  const { id: actorId, name: actorName } = accepted.author;
  return {
    counters: { ...mandate.counters, attempts: 0, neutralTurns: 0, failures: 0 },
    binding: null,
    ...headSeen(accepted, mandate),
    ...(takesOver ? { actorId, actorName } : {}),
  };
}

/** Whoever says so has seen the head as it is now: it is pinned anew (1.5). */
function headSeen({ pull }: Accepted, { pinnedHead }: MandateRow): MandateChange {
  if (pull === null || pinnedHead === null || pull.number !== pinnedHead.pull) return {};
  return { pinnedHead: { ...pinnedHead, commit: pull.headCommit } };
}

async function extend(
  tx: Tx,
  accepted: Accepted,
  { mandate, command }: { mandate: MandateRow; command: Extract<Command, { name: "extend" }> },
): Promise<string | Refusal> {
  const { host } = accepted;
  const change =
    "byMs" in command.args
      ? laterDeadline(accepted, mandate, { now: tx.now, byMs: command.args.byMs })
      : higherCeilings(mandate, command.args.ceilings);
  if (!change.ok) return change.refusal;
  const isUnblocked = fittingCommands(await fitFacts(tx, mandate))[0] === "extend";
  if (isUnblocked && mandate.status === "blocked") {
    await goOn(tx, accepted, { mandate, kind: "continue", change: change.to });
  } else await changeMandate(tx, mandate.id, change.to);
  const recorded = { ...change.to, by: accepted.author.name };
  await record(tx, "extended", { mandateId: mandate.id, facts: recorded });
  await touchStatus(tx, mandate, 0);
  const facts = await factsOf(tx, mandate.id, host);
  const byMs = "byMs" in command.args ? command.args.byMs : null;
  return answerNotice({ kind: "extended", facts, byMs }, host.mention);
}

type Extension =
  | { readonly ok: true; readonly to: MandateChange }
  | { readonly ok: false; readonly refusal: Refusal };

/** Counted from now; beyond the policy's maximum it is refused, never clamped (1.4). */
function laterDeadline(
  { policy }: Accepted,
  mandate: MandateRow,
  { now, byMs }: { now: number; byMs: number },
): Extension {
  const { deadlineMsLimit } = policy.limits;
  if (byMs > deadlineMsLimit) {
    const maximum = formatDuration(deadlineMsLimit);
    return { ok: false, refusal: { kind: "beyond-maximum", what: "this deadline", maximum } };
  }
  if (now + byMs <= mandate.deadlineAt) {
    const problem = "this would end earlier than the deadline it has, and `extend` counts from now";
    const suggestion = `more than ${formatDuration(mandate.deadlineAt - now)}`;
    return {
      ok: false,
      refusal: { kind: "unparsable", errors: [{ line: 1, problem, suggestion }] },
    };
  }
  // A person moves the deadline, so an earlier wait's one binds no longer.
  return { ok: true, to: { deadlineAt: now + byMs, binding: null } };
}

function higherCeilings(
  mandate: MandateRow,
  asked: Readonly<Partial<Record<"turns" | "tokens" | "cost", number>>>,
): Extension {
  for (const name of ["turns", "tokens", "cost"] as const) {
    const limit = mandate.ceilings[name];
    const wanted = asked[name];
    if (wanted === undefined || (limit !== null && wanted > limit)) continue;
    const problem =
      limit === null
        ? `there is no ceiling for ${name}`
        : `${name} has the ceiling ${limit} already`;
    const suggestion = limit === null ? "leaving it out" : `a number above ${limit}`;
    return {
      ok: false,
      refusal: { kind: "unparsable", errors: [{ line: 1, problem, suggestion }] },
    };
  }
  return { ok: true, to: { ceilings: { ...mandate.ceilings, ...asked } } };
}

/** Names the interrupted turn and is consumed by exactly one recovery turn (2.6). */
async function grantRecovery(tx: Tx, accepted: Accepted, mandate: MandateRow): Promise<void> {
  const turn = await lastTurn(tx, mandate.id);
  if (turn === undefined) throw new Error(`mandate ${mandate.id} has no turn to recover`);
  const byName = accepted.author.name;
  await addGrant(tx, {
    mandateId: mandate.id,
    turnId: turn.id,
    byName,
    expiresAt: tx.now + grantMs,
  });
  await goOn(tx, accepted, { mandate, kind: "recover", change: freshAllowance(accepted, mandate) });
}
