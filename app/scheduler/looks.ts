// Looks: mandates whose next look is due, and what is done about each (spec 3.2, 3.3, 3.6).
// Shared by the pump, which looks in time, and the sweep, which counts what it had to repair.

import { look, lookGraceMs } from "../../policies/mandate/look.ts";
import type { MandateId } from "../../policies/mandate/mandate.ts";
import { mandateExpired, waitExpired } from "../../policies/mandate/settle.ts";
import type { Host } from "../host.ts";
import { record } from "../ledger/history.ts";
import { addEntry, isConversationBusy } from "../ledger/inbox.ts";
import type { Tx } from "../ledger/ledger.ts";
import {
  changeMandate,
  deferLook,
  dueLooks,
  lookFacts,
  mandateOf,
  refreshLook,
  type MandateRow,
} from "../ledger/mandates.ts";
import { touchStatus } from "../ledger/outbox.ts";
import { claimWait, liveWait } from "../ledger/waits.ts";
import { block } from "../turn/checkpoint.ts";
import { nudgeWords } from "../turn/nudging.ts";

const batchLimit = 500;

export interface Looked {
  readonly count: number;
  readonly repairs: number;
}

/** Looks at every mandate that is due, in one durable transaction per batch. */
export async function lookAtDue(host: Host): Promise<Looked> {
  const due = await host.ledger.read((sql) => dueLooks(sql, host.ledger.now(), batchLimit));
  if (due.length === 0) return { count: 0, repairs: 0 };
  // Asked before the transaction: inside one nothing outside the ledger may be awaited.
  const outside = await host.runner.managedOutside();
  return host.ledger.write(async (tx) => {
    let repairs = 0;
    for (const id of due) {
      if (await lookAtOne(tx, host, { id, isManagedOutside: outside.has(id) })) repairs += 1;
    }
    return { count: due.length, repairs };
  });
}

/** True when something had to be repaired. */
async function lookAtOne(
  tx: Tx,
  host: Host,
  at: { id: MandateId; isManagedOutside: boolean },
): Promise<boolean> {
  const facts = await lookFacts(tx, at.id);
  if (facts === undefined) return false;
  const mandate = await mandateOf(tx, at.id);
  const found = look(facts, tx.now);
  switch (found.found) {
    case "nothing":
      await refreshLook(tx, at.id);
      return false;
    case "expired":
      await expire(tx, host, { mandate, of: found.of });
      return false;
    case "due":
      if (at.isManagedOutside || (await isConversationBusy(tx, mandate.conversationId))) {
        await deferLook(tx, at.id, tx.now + lookGraceMs);
      } else await recheck(tx, host, mandate);
      return false;
    case "no-mover":
      await repair(tx, host, { mandate, missing: found.missing });
      return true;
  }
}

/** A deadline ends a mandate without another turn; a running one is cancelled first and settles as expired (3.3). */
async function expire(
  tx: Tx,
  host: Host,
  { mandate, of }: { mandate: MandateRow; of: "mandate" | "wait" },
): Promise<void> {
  if (mandate.status === "running") {
    host.running.cancel(mandate.id, "deadline");
    await deferLook(tx, mandate.id, tx.now + lookGraceMs);
    return;
  }
  const wait = await liveWait(tx, mandate.id);
  await record(tx, "expired", { mandateId: mandate.id, facts: { of } });
  const cause = of === "wait" && wait !== undefined ? waitExpired(wait) : mandateExpired(mandate);
  await block(tx, host, { mandate, ...cause });
}

/** One registration buys exactly one recheck: the compare-and-set and the entry's cause both say so (3.2). */
async function recheck(tx: Tx, host: Host, mandate: MandateRow): Promise<void> {
  const wait = await liveWait(tx, mandate.id);
  if (wait === undefined || !(await claimWait(tx, wait.id))) return;
  await changeMandate(tx, mandate.id, { status: "queued" });
  await addEntry(tx, {
    mandateId: mandate.id,
    conversationId: mandate.conversationId,
    kind: "recheck",
    availableAt: tx.now,
    lastRanAt: mandate.lastRanAt,
    note: await nudgeWords(tx, mandate.id),
    waitId: wait.id,
    cause: `recheck ${wait.id}`,
  });
  await record(tx, "recheck-due", { mandateId: mandate.id, facts: { waitId: wait.id } });
  await touchStatus(tx, mandate, host.timing.statusThrottleMs);
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
