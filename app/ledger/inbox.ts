// The inbox: durable entries waiting to be claimed, one live claim per conversation (spec 1.3, 2.1; I2).
// A `Claim` is made only here; whoever commits a turn must show it, and a stale one is refused by its fence.

import type { EntryKind } from "../../policies/mandate/mandate.ts";
import { orderKey } from "../../policies/mandate/order.ts";
import { listRepositories } from "./conversations.ts";
import type { Sql, Tx } from "./ledger.ts";
import { changeMandate, isHeld, refreshLook } from "./mandates.ts";
import { insertEach, update } from "./rows.ts";

declare const claimed: unique symbol;

/** The exclusive, leased right to work on one entry. */
export interface Claim {
  readonly [claimed]: true;
  readonly entryId: number;
  readonly mandateId: string;
  readonly conversationId: string;
  readonly kind: EntryKind;
  readonly fence: number;
  readonly note: string | null;
  readonly waitId: number | null;
  readonly payload: unknown;
}

export interface EntryRow {
  readonly id: number;
  readonly mandateId: string;
  readonly conversationId: string;
  readonly kind: EntryKind;
  readonly state: "queued" | "claimed" | "done" | "dropped";
  readonly availableAt: number;
  readonly note: string | null;
  readonly payload: unknown;
  readonly waitId: number | null;
  readonly fence: number;
  readonly worker: string | null;
  readonly leaseUntil: number | null;
  readonly leasesLost: number;
}

/** The holder's lease is gone and somebody else decides: its result is only recorded. */
export class StaleClaim extends Error {
  constructor(claim: Claim) {
    super(`claim ${claim.fence} on entry ${claim.entryId} is stale`);
    this.name = "StaleClaim";
  }
}

export interface NewEntry {
  readonly mandateId: string;
  readonly conversationId: string;
  readonly kind: EntryKind;
  readonly availableAt: number;
  readonly lastRanAt: number;
  readonly note?: string | null;
  readonly payload?: unknown;
  readonly waitId?: number;
  /** One cause makes one entry, however often it is told. */
  readonly cause?: string;
}

/** Adds an entry; false when its cause has made one already. */
export async function addEntry(tx: Tx, entry: NewEntry): Promise<boolean> {
  const isNew = (await insertEntries(tx, [entry])) > 0;
  await refreshLook(tx, entry.mandateId);
  return isNew;
}

/** As `addEntry`, for entries of the same fields; the looks of their mandates are the caller's. Returns how many are new. */
export function insertEntries(tx: Tx, entries: readonly NewEntry[]): Promise<number> {
  const rows = entries.map(({ lastRanAt, ...entry }) => {
    const key = orderKey(entry.kind, { now: tx.now, lastRanAt });
    return { ...entry, ...key, createdAt: tx.now };
  });
  return insertEach(tx, "inbox", rows);
}

/** Drops what is queued for a mandate: all of it, or only the kinds named. */
export async function dropEntries(
  tx: Tx,
  mandateId: string,
  kinds?: readonly EntryKind[],
): Promise<void> {
  const filter = kinds === undefined ? "" : `AND kind IN (${kinds.map(() => "?").join(", ")})`;
  await tx.run(
    `UPDATE inbox SET state = 'dropped' WHERE mandate_id = ? AND state = 'queued' ${filter}`,
    mandateId,
    ...(kinds ?? []),
  );
}

export function queuedEntries(sql: Sql, mandateId: string): Promise<EntryRow[]> {
  return sql.all<EntryRow>(
    "SELECT * FROM inbox WHERE mandate_id = ? AND state = 'queued' ORDER BY rank, order_at, id",
    mandateId,
  );
}

const runnable = `
  SELECT i.*, c.repository_id FROM inbox i
  JOIN mandate m ON m.id = i.mandate_id AND m.status = 'queued'
  JOIN conversation c ON c.id = i.conversation_id
  WHERE i.state = 'queued' AND i.available_at <= ?
    AND NOT EXISTS (SELECT 1 FROM inbox r WHERE r.conversation_id = i.conversation_id AND r.state = 'claimed')
    AND NOT ${isHeld("i.mandate_id", "i.conversation_id")}
  ORDER BY c.last_claimed_at, c.id, i.rank, i.order_at, i.id`;

export interface ClaimLimits {
  readonly worker: string;
  readonly leaseMs: number;
  /** Turns this process may start now. */
  readonly slots: number;
  /** The installation's cap; a repository's policy file may only ask for less. */
  readonly perRepository: number;
}

/** Claims at most one entry per free conversation, the longest unserved conversation first. */
export async function claimEntries(tx: Tx, limits: ClaimLimits): Promise<Claim[]> {
  if (limits.slots <= 0) return [];
  const rows = await tx.all<EntryRow & { repositoryId: string }>(runnable, tx.now);
  const running = await runningPerRepository(tx);
  const asked = await concurrencyPerRepository(tx);
  const taken = new Set<string>();
  const claims: Claim[] = [];
  for (const row of rows) {
    const busy = running.get(row.repositoryId) ?? 0;
    const limit = Math.min(limits.perRepository, asked.get(row.repositoryId) ?? Infinity);
    if (claims.length >= limits.slots) break;
    if (taken.has(row.conversationId) || busy >= limit) continue;
    taken.add(row.conversationId);
    running.set(row.repositoryId, busy + 1);
    claims.push(await claimOne(tx, row, limits));
  }
  return claims;
}

async function concurrencyPerRepository(sql: Sql): Promise<Map<string, number>> {
  const repositories = await listRepositories(sql);
  return new Map(
    repositories.map(({ id, policy }) => [id, policy?.limits.concurrency ?? Infinity] as const),
  );
}

async function runningPerRepository(sql: Sql): Promise<Map<string, number>> {
  const rows = await sql.all<{ repositoryId: string; count: number }>(
    `SELECT c.repository_id, COUNT(*) AS count FROM inbox i JOIN conversation c ON c.id = i.conversation_id
     WHERE i.state = 'claimed' GROUP BY c.repository_id`,
  );
  return new Map(rows.map((row) => [row.repositoryId, row.count]));
}

async function claimOne(tx: Tx, row: EntryRow, limits: ClaimLimits): Promise<Claim> {
  const fence = row.fence + 1;
  await update(tx, "inbox", {
    set: { state: "claimed", fence, worker: limits.worker, leaseUntil: tx.now + limits.leaseMs },
    where: { id: row.id, state: "queued" },
  });
  await update(tx, "conversation", {
    set: { runningEntryId: row.id, lastClaimedAt: tx.now },
    where: { id: row.conversationId },
  });
  await changeMandate(tx, row.mandateId, { status: "running", lastRanAt: tx.now });
  return {
    entryId: row.id,
    mandateId: row.mandateId,
    conversationId: row.conversationId,
    kind: row.kind,
    fence,
    note: row.note,
    waitId: row.waitId,
    payload: row.payload,
  } as Claim;
}

/** Ends the claim with its entry done. Throws StaleClaim when the lease was lost: then nothing may be committed. */
export async function finishClaim(tx: Tx, claim: Claim): Promise<void> {
  const count = await update(tx, "inbox", {
    set: { state: "done", leaseUntil: null, doneAt: tx.now },
    where: { id: claim.entryId, fence: claim.fence, state: "claimed" },
  });
  if (count !== 1) throw new StaleClaim(claim);
  await freeConversation(tx, claim.conversationId);
}

/** Gives the claim back unused: the same entry is taken up again at `availableAt`. Throws StaleClaim. */
export async function putBack(tx: Tx, claim: Claim, availableAt: number): Promise<void> {
  const count = await update(tx, "inbox", {
    set: { state: "queued", leaseUntil: null, worker: null, availableAt },
    where: { id: claim.entryId, fence: claim.fence, state: "claimed" },
  });
  if (count !== 1) throw new StaleClaim(claim);
  await freeConversation(tx, claim.conversationId);
}

/** True while this claim is the live one; the check that every step before a commit makes. */
export async function isLive(sql: Sql, claim: Claim): Promise<boolean> {
  const row = await sql.first(
    "SELECT 1 AS one FROM inbox WHERE id = ? AND fence = ? AND state = 'claimed'",
    claim.entryId,
    claim.fence,
  );
  return row !== undefined;
}

/** Prolongs the lease; false when it is lost. */
export async function renewLease(
  tx: Tx,
  claim: Pick<Claim, "entryId" | "fence">,
  leaseMs: number,
): Promise<boolean> {
  const count = await update(tx, "inbox", {
    set: { leaseUntil: tx.now + leaseMs },
    where: { id: claim.entryId, fence: claim.fence, state: "claimed" },
  });
  return count === 1;
}

export function expiredClaims(sql: Sql, now: number): Promise<EntryRow[]> {
  return sql.all<EntryRow>(
    "SELECT * FROM inbox WHERE state = 'claimed' AND lease_until <= ? ORDER BY lease_until",
    now,
  );
}

/** Puts an expired claim back to the queue (`again`) or ends its entry; the old holder's fence is stale from now on. */
export async function releaseExpired(
  tx: Tx,
  entry: EntryRow,
  to: { state: "queued"; availableAt: number; note: string | null } | { state: "done" },
): Promise<void> {
  const { state, ...rest } = to;
  await update(tx, "inbox", {
    set: {
      ...rest,
      state,
      fence: entry.fence + 1,
      leaseUntil: null,
      worker: null,
      leasesLost: entry.leasesLost + 1,
      doneAt: state === "done" ? tx.now : null,
    },
    where: { id: entry.id, fence: entry.fence, state: "claimed" },
  });
  await freeConversation(tx, entry.conversationId);
}

async function freeConversation(tx: Tx, conversationId: string): Promise<void> {
  await update(tx, "conversation", {
    set: { runningEntryId: null },
    where: { id: conversationId },
  });
}

/**
 * When the next entry becomes available or the next lease ends; null when nothing is queued or claimed. What has passed
 * is left out: a claim that is due to be recovered is the sweep's, and looking at once again would find it unchanged.
 */
export async function nextInboxAt(sql: Sql, now: number): Promise<number | null> {
  const row = await sql.first<{ at: number | null }>(
    `SELECT MIN(at) AS at FROM (
       SELECT MIN(available_at) AS at FROM inbox WHERE state = 'queued' AND available_at > ?
       UNION ALL SELECT MIN(lease_until) FROM inbox WHERE state = 'claimed' AND lease_until > ?) AS times`,
    now,
    now,
  );
  return row?.at ?? null;
}

/**
 * Condition: a person's entry could be claimed, or any entry is being worked on, in the conversation that this expression
 * names (3.2). A word kept for a blocked or paused mandate holds nobody else back: it may never be taken up.
 */
export function isBusy(conversationId: string): string {
  return `EXISTS (SELECT 1 FROM inbox i JOIN mandate o ON o.id = i.mandate_id
    WHERE i.conversation_id = ${conversationId} AND i.state IN ('queued', 'claimed')
      AND (i.state = 'claimed' OR (i.rank = 0 AND o.status = 'queued' AND NOT ${isHeld("i.mandate_id", "i.conversation_id")})))`;
}
