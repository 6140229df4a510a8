// Looks: mandates whose next look is due, and what is done about each (spec 3.2, 3.3, 3.6).
// Shared by the pump, which looks in time, and the sweep, which counts what it had to repair.

import { look, lookAt, lookGraceMs } from "../../policies/mandate/look.ts";
import type { MandateId } from "../../policies/mandate/mandate.ts";
import { mandateExpired, waitExpired } from "../../policies/mandate/settle.ts";
import type { Host } from "../host.ts";
import { record } from "../ledger/history.ts";
import { addEntry } from "../ledger/inbox.ts";
import type { Tx } from "../ledger/ledger.ts";
import {
  dueMandates,
  queueRechecks,
  setLooks,
  type DueMandate,
  type NextLook,
  type Recheck,
} from "../ledger/looks/due.ts";
import { changeMandate, mandateOf, nextLookAt, type MandateRow } from "../ledger/mandates.ts";
import { touchStatuses } from "../ledger/outbox.ts";
import { liveWait } from "../ledger/waits.ts";
import { block } from "../turn/checkpoint.ts";
import { nudgeWords } from "../turn/nudging.ts";

const batchLimit = 500;

export interface Looked {
  readonly count: number;
  readonly repairs: number;
}

/** Looks at every mandate that is due, in one durable transaction per batch. */
export async function lookAtDue(host: Host): Promise<Looked> {
  const at = await host.ledger.read(nextLookAt);
  if (at === null || at > host.ledger.now()) return { count: 0, repairs: 0 };
  // Asked before the transaction: inside one nothing outside the ledger may be awaited.
  const outside = await host.runner.managedOutside();
  let count = 0;
  let repairs = 0;
  for (let isFull = true; isFull;) {
    const looked = await host.ledger.write((tx) => lookAtBatch(tx, host, outside));
    count += looked.count;
    repairs += looked.repairs;
    isFull = looked.count === batchLimit;
  }
  return { count, repairs };
}

interface Found {
  /** Nothing is to be done now: only when to look again. */
  readonly looks: NextLook[];
  readonly due: DueMandate[];
  readonly expired: { readonly id: MandateId; readonly of: "mandate" | "wait" }[];
  readonly silent: { readonly id: MandateId; readonly missing: string }[];
}

async function lookAtBatch(tx: Tx, host: Host, outside: ReadonlySet<string>): Promise<Looked> {
  const mandates = await dueMandates(tx, tx.now, batchLimit);
  const { looks, due, expired, silent } = sort(mandates, { outside, now: tx.now });
  await setLooks(tx, looks);
  await recheck(tx, host, due);
  // Last, because a block that frees its conversation sets the looks of others anew.
  for (const { id, of } of expired)
    await expire(tx, host, { mandate: await mandateOf(tx, id), of });
  for (const { id, missing } of silent) {
    await repair(tx, host, { mandate: await mandateOf(tx, id), missing });
  }
  return { count: mandates.length, repairs: silent.length };
}

function sort(
  mandates: readonly DueMandate[],
  { outside, now }: { outside: ReadonlySet<string>; now: number },
): Found {
  const found: Found = { looks: [], due: [], expired: [], silent: [] };
  for (const mandate of mandates) {
    const { id, facts } = mandate;
    const looked = look(facts, now);
    switch (looked.found) {
      case "nothing":
        found.looks.push({ id, at: lookAt(facts, now) });
        break;
      case "due":
        if (outside.has(id) || mandate.isBusy) found.looks.push({ id, at: deferred(facts, now) });
        else found.due.push(mandate);
        break;
      case "expired":
        found.expired.push({ id, of: looked.of });
        break;
      case "no-mover":
        found.silent.push({ id, missing: looked.missing });
        break;
    }
  }
  return found;
}

/** Its mover is there, but something stands before it: looked at again later, and at its deadline at the latest. */
function deferred({ deadlineAt }: { readonly deadlineAt: number }, now: number): number {
  const at = now + lookGraceMs;
  return deadlineAt > now ? Math.min(at, deadlineAt) : at;
}

/** A deadline ends a mandate without another turn; a running one is cancelled first and settles as expired (3.3). */
async function expire(
  tx: Tx,
  host: Host,
  { mandate, of }: { mandate: MandateRow; of: "mandate" | "wait" },
): Promise<void> {
  if (mandate.status === "running") {
    host.running.cancel(mandate.id, "deadline");
    await setLooks(tx, [{ id: mandate.id, at: deferred(mandate, tx.now) }]);
    return;
  }
  const wait = await liveWait(tx, mandate.id);
  await record(tx, "expired", { mandateId: mandate.id, facts: { of } });
  const cause = of === "wait" && wait !== undefined ? waitExpired(wait) : mandateExpired(mandate);
  await block(tx, host, { mandate, ...cause });
}

async function recheck(tx: Tx, host: Host, due: readonly DueMandate[]): Promise<void> {
  const rechecks: Recheck[] = [];
  for (const mandate of due) {
    const { id, waitId, hasNudges } = mandate;
    if (waitId === null) continue;
    rechecks.push({ mandate, waitId, note: hasNudges ? await nudgeWords(tx, id) : null });
  }
  const queued = await queueRechecks(tx, rechecks);
  await touchStatuses(tx, queued, host.timing.statusThrottleMs);
}

/** I1 is broken: this must not happen, and when it does the mandate is moved on and everybody can see that it was. */
async function repair(
  tx: Tx,
  host: Host,
  { mandate, missing }: { mandate: MandateRow; missing: string },
): Promise<void> {
  host.log.error(
    { mandate: mandate.id, status: mandate.status, missing },
    "I1 violated, repairing",
  );
  await record(tx, "repaired", {
    mandateId: mandate.id,
    facts: { status: mandate.status, missing },
  });
  if (mandate.status === "blocked") {
    await block(tx, host, {
      mandate,
      reason: mandate.reason ?? "agent-failed",
      what: mandate.reasonText ?? "it was blocked",
      wayOut: mandate.wayOut,
    });
    return;
  }
  await changeMandate(tx, mandate.id, { status: "queued" });
  await addEntry(tx, {
    mandateId: mandate.id,
    conversationId: mandate.conversationId,
    kind: "continuation",
    availableAt: tx.now,
    lastRanAt: mandate.lastRanAt,
    note: `nothing was left that would have moved it on (${missing}), so it goes on from its next step`,
  });
}
