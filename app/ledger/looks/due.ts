// What is due to be looked at (spec 3.2, 3.6), read in one question and moved on in a few statements for a whole batch:
// ten thousand rechecks of one instant cost little more than the rows that they make.

import { lookAt, type LookFacts } from "../../../policies/mandate/look.ts";
import type { MandateId } from "../../../policies/mandate/mandate.ts";
import { recordEach } from "../history.ts";
import { insertEntries, isBusy } from "../inbox.ts";
import type { Sql, Tx } from "../ledger.ts";
import { lookColumns, lookFactsFrom, lookTables, type LookRow } from "../mandates.ts";
import { updateEach } from "../rows.ts";
import { claimWaits } from "../waits.ts";

/** A mandate whose look is due, with all that decides what is done about it. */
export interface DueMandate {
  readonly id: MandateId;
  readonly conversationId: string;
  readonly lastRanAt: number;
  readonly facts: LookFacts;
  /** Its live wait. */
  readonly waitId: number | null;
  /** Something in its conversation comes before a recheck (3.2). */
  readonly isBusy: boolean;
  /** Outside events that its next turn is to be told of. */
  readonly hasNudges: boolean;
}

interface DueRow
  extends LookRow, Pick<DueMandate, "id" | "conversationId" | "lastRanAt" | "waitId"> {
  readonly busy: number;
  readonly nudges: number;
}

const dueQuery = `
  SELECT m.id, m.conversation_id, m.last_ran_at, w.id AS wait_id,
    CASE WHEN ${isBusy("m.conversation_id")} THEN 1 ELSE 0 END AS busy,
    (SELECT COUNT(*) FROM nudge n WHERE n.mandate_id = m.id AND n.told_at IS NULL) AS nudges,
    ${lookColumns}
  FROM ${lookTables} WHERE m.look_at <= ? ORDER BY m.look_at LIMIT ?`;

/** Mandates whose look is due, the longest overdue first. */
export async function dueMandates(sql: Sql, now: number, limit: number): Promise<DueMandate[]> {
  const rows = await sql.all<DueRow>(dueQuery, now, limit);
  return rows.map((row) => {
    const { id, conversationId, lastRanAt, waitId, busy, nudges } = row;
    const flags = { isBusy: busy > 0, hasNudges: nudges > 0 };
    return { id, conversationId, lastRanAt, waitId, facts: lookFactsFrom(row), ...flags };
  });
}

/** When a mandate is looked at next; null when nothing has to move it. */
export interface NextLook {
  readonly id: MandateId;
  readonly at: number | null;
}

export async function setLooks(tx: Tx, looks: readonly NextLook[]): Promise<void> {
  await setEach(tx, looks, {});
}

/** Most looks of a batch fall on one instant. */
async function setEach(tx: Tx, looks: readonly NextLook[], set: object): Promise<void> {
  for (const [at, group] of Map.groupBy(looks, (look) => look.at)) {
    const ids = group.map(({ id }) => id);
    await updateEach(tx, "mandate", { set: { ...set, lookAt: at }, ids });
  }
}

/** A due wait's recheck, and what its turn is told. */
export interface Recheck {
  readonly mandate: DueMandate;
  readonly waitId: number;
  readonly note: string | null;
}

/**
 * One registration buys exactly one recheck: the compare-and-set and the entry's cause both say so (3.2). Gives the
 * mandates whose wait was claimed here.
 */
export async function queueRechecks(tx: Tx, due: readonly Recheck[]): Promise<DueMandate[]> {
  const claimed = await claimWaits(
    tx,
    due.map(({ waitId }) => waitId),
  );
  const rechecks = due.filter(({ waitId }) => claimed.has(waitId));
  const looks = rechecks.map(({ mandate: { id, facts } }) => ({
    id,
    at: lookAt(queued(facts, tx.now), tx.now),
  }));
  await setEach(tx, looks, { status: "queued", changedAt: tx.now });
  const entries = rechecks.map(({ mandate, waitId, note }) => ({
    mandateId: mandate.id,
    conversationId: mandate.conversationId,
    kind: "recheck" as const,
    availableAt: tx.now,
    lastRanAt: mandate.lastRanAt,
    note,
    waitId,
    cause: `recheck ${waitId}`,
  }));
  await insertEntries(tx, entries);
  const abouts = rechecks.map(({ mandate, waitId }) => ({
    mandateId: mandate.id,
    facts: { waitId },
  }));
  await recordEach(tx, "recheck-due", abouts);
  return rechecks.map(({ mandate }) => mandate);
}

/** The same mandate with its wait claimed and its entry in the queue. */
function queued(facts: LookFacts, now: number): LookFacts {
  const wait = facts.wait === null ? null : { ...facts.wait, state: "claimed" as const };
  return { ...facts, status: "queued", wait, entryAt: Math.min(facts.entryAt ?? now, now) };
}
