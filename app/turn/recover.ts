// Carries out what policies/recovery decides for claims whose lease has expired: at start and at every sweep (2.5).

import { isTerminal, type Status, type TurnEnd } from "../../policies/mandate/mandate.ts";
import { recover, type CutOff, type Recovery } from "../../policies/mandate/recovery.ts";
import type { Host } from "../host.ts";
import { record } from "../ledger/history.ts";
import { expiredClaims, releaseExpired, type Claim, type EntryRow } from "../ledger/inbox.ts";
import type { Tx } from "../ledger/ledger.ts";
import { changeMandate, mandateOf } from "../ledger/mandates.ts";
import { turnOfEntry, type TurnRow } from "../ledger/turns.ts";
import { block, settleTurn } from "./checkpoint.ts";

/** Recovers every expired claim; returns how many there were. A claim that is renewed meanwhile is left alone. */
export async function recoverExpired(host: Host): Promise<number> {
  const expired = await host.ledger.read((sql) => expiredClaims(sql, host.ledger.now()));
  // A turn that runs in this very process is alive: only the ledger was away, and its commit is being tried again.
  const orphaned = expired.filter((entry) => !host.running.has(entry.mandateId));
  for (const entry of orphaned) {
    await host.ledger.write((tx) => recoverOne(tx, host, entry));
    // The claim is taken away first: what still lives of it now belongs to nobody.
    await host.runner.endLeftovers(entry.mandateId);
  }
  return orphaned.length;
}

async function recoverOne(tx: Tx, host: Host, seen: EntryRow): Promise<void> {
  const current = (await expiredClaims(tx, tx.now)).find(
    (entry) => entry.id === seen.id && entry.fence === seen.fence,
  );
  if (current === undefined) return;
  const mandate = await mandateOf(tx, current.mandateId);
  const turn = await turnOfEntry(tx, { entryId: current.id, fence: current.fence });
  const isShared = host.homeId !== null;
  const decision = decide(current, { turn, task: mandate.task, isShared });
  await record(tx, "lease-lost", {
    mandateId: mandate.id,
    turnId: turn?.id ?? null,
    facts: decision,
  });
  if (decision.do === "queue-again") {
    await queueAgain(tx, current, { status: mandate.status, note: decision.note });
    return;
  }
  await releaseExpired(tx, current, { state: "done" });
  if (decision.do === "give-up" || turn === undefined) {
    if (isTerminal(mandate.status)) return;
    await block(tx, host, { mandate, reason: "agent-failed", what: decision.what });
    return;
  }
  const end = endOf(decision);
  const isTask = mandate.task !== null;
  await settleTurn(tx, host, cutOffTurn({ entry: current, turn, end, isTask }));
}

/** What never began is queued once more, unless the mandate has ended meanwhile: an entry of it would stay (I8). */
async function queueAgain(
  tx: Tx,
  entry: EntryRow,
  { status, note }: { status: Status; note: string },
): Promise<void> {
  if (isTerminal(status)) {
    await releaseExpired(tx, entry, { state: "done" });
    return;
  }
  // The note of a publish is the summary that its commit and its result are made of.
  const kept = entry.kind === "publish" ? entry.note : note;
  await releaseExpired(tx, entry, { state: "queued", availableAt: tx.now, note: kept });
  await changeMandate(tx, entry.mandateId, { status: "queued" });
}

function decide(
  entry: EntryRow,
  { turn, ...at }: { turn: TurnRow | undefined } & Pick<CutOff, "task" | "isShared">,
): Recovery {
  return recover({
    // Publishing is safe to repeat: it adopts what it finds (6.4).
    ...at,
    hasBegun: entry.kind !== "publish" && turn !== undefined && turn.promptGivenAt !== null,
    leasesLost: entry.leasesLost + 1,
  });
}

function endOf(decision: Exclude<Recovery, { do: "queue-again" | "give-up" }>): TurnEnd {
  switch (decision.do) {
    case "ask-person":
      return { kind: "uncertain", what: decision.what };
    case "recovery-turn":
      return { kind: "died", what: decision.what };
  }
}

/** Nothing is known of a cut-off turn but that it was: no evidence, no report. */
function cutOffTurn(cut: { entry: EntryRow; turn: TurnRow; end: TurnEnd; isTask: boolean }) {
  const { entry, turn, end } = cut;
  const claim = { ...entry, entryId: entry.id } as unknown as Claim;
  return {
    claim,
    turnId: turn.id,
    task: null,
    baseCommit: null,
    facts: { end },
    outcome: {
      cause: entry.kind,
      end,
      report: null,
      isTask: cut.isTask,
      usedWorkTools: true,
      baseline: null,
      found: [],
      tokens: 0,
      cost: 0,
    },
  };
}
