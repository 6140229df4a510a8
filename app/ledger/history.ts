// Append-only history, evidence, holds and grants (spec 1.2, 1.3, 2.4, 2.6). Nothing here is ever changed in place.

import type { Evidence, EvidenceKind } from "../../policies/evidence/stall.ts";
import type { ReasonCode } from "../../policies/reasons.ts";
import type { Sql, Tx } from "./ledger.ts";
import { insert, insertEach, insertOnce } from "./rows.ts";

export interface EventRow {
  readonly id: number;
  readonly at: number;
  readonly conversationId: string | null;
  readonly mandateId: string | null;
  readonly turnId: number | null;
  readonly kind: string;
  readonly facts: Record<string, unknown>;
}

/** What a line of history is about. */
export interface About {
  readonly mandateId?: string | null;
  readonly conversationId?: string | null;
  readonly turnId?: number | null;
  readonly facts?: object;
}

/** Writes one line of history; it is what timelines and `log` show. */
export async function record(tx: Tx, kind: string, about: About): Promise<void> {
  await recordEach(tx, kind, [about]);
}

/** A line of the same kind for each; all must name the same subjects. */
export async function recordEach(tx: Tx, kind: string, abouts: readonly About[]): Promise<void> {
  const rows = abouts.map(({ facts = {}, ...subject }) => ({
    at: tx.now,
    kind,
    ...subject,
    facts,
  }));
  await insertEach(tx, "event", rows);
}

export function eventsOf(sql: Sql, mandateId: string): Promise<EventRow[]> {
  return sql.all<EventRow>("SELECT * FROM event WHERE mandate_id = ? ORDER BY id", mandateId);
}

/** How often something is in a mandate's history since an instant. */
export async function countEvents(
  sql: Sql,
  wanted: { mandateId: string; kind: string; since: number },
): Promise<number> {
  const row = await sql.first<{ count: number }>(
    "SELECT COUNT(*) AS count FROM event WHERE mandate_id = ? AND kind = ? AND at >= ?",
    wanted.mandateId,
    wanted.kind,
    wanted.since,
  );
  return row?.count ?? 0;
}

export interface EvidenceRow extends Evidence {
  readonly turnId: number | null;
  readonly credited: number;
  readonly at: number;
}

export function evidenceOf(sql: Sql, mandateId: string): Promise<EvidenceRow[]> {
  return sql.all<EvidenceRow>(
    "SELECT * FROM evidence WHERE mandate_id = ? ORDER BY sequence",
    mandateId,
  );
}

/** Appends what a settlement entered; the constraint refuses a hash that is there already (I9). */
export async function addEvidence(
  tx: Tx,
  owner: { mandateId: string; turnId: number; known: number },
  found: { entered: readonly Evidence[]; credited: readonly Evidence[] },
): Promise<void> {
  for (const [index, { kind, hash }] of found.entered.entries()) {
    const isCredited = found.credited.some((one) => one.kind === kind && one.hash === hash);
    await insert(tx, "evidence", {
      mandateId: owner.mandateId,
      sequence: owner.known + index,
      kind: kind satisfies EvidenceKind,
      hash,
      turnId: owner.turnId,
      credited: isCredited,
      at: tx.now,
    });
  }
}

export type HoldScope = "installation" | "conversation" | "mandate";

export interface HoldRow {
  readonly scope: HoldScope;
  readonly subject: string;
  readonly reason: ReasonCode;
  readonly byName: string;
  readonly at: number;
}

/** Lays a hold; false when one of this scope lies there already. */
export function addHold(tx: Tx, hold: Omit<HoldRow, "at">): Promise<boolean> {
  return insertOnce(tx, "hold", { ...hold, at: tx.now });
}

export async function liftHold(tx: Tx, scope: HoldScope, subject: string): Promise<boolean> {
  const count = await tx.run("DELETE FROM hold WHERE scope = ? AND subject = ?", scope, subject);
  return count === 1;
}

/** The hold that lies on a mandate, the widest first. */
export function holdOn(
  sql: Sql,
  mandate: { id: string; conversationId: string },
): Promise<HoldRow | undefined> {
  return sql.first<HoldRow>(
    `SELECT * FROM hold WHERE scope = 'installation' OR (scope = 'conversation' AND subject = ?)
       OR (scope = 'mandate' AND subject = ?) ORDER BY scope = 'installation' DESC, scope LIMIT 1`,
    mandate.conversationId,
    mandate.id,
  );
}

export interface GrantRow {
  readonly mandateId: string;
  readonly turnId: number;
  readonly byName: string;
  readonly at: number;
  readonly expiresAt: number;
  readonly consumedAt: number | null;
}

export async function addGrant(tx: Tx, grant: Omit<GrantRow, "at" | "consumedAt">): Promise<void> {
  await insert(tx, "recovery_grant", { ...grant, at: tx.now });
}

/** Consumes the one open recovery grant of a mandate; undefined when there is none that is still valid. */
export async function consumeGrant(tx: Tx, mandateId: string): Promise<GrantRow | undefined> {
  const grant = await tx.first<GrantRow>(
    `SELECT * FROM recovery_grant WHERE mandate_id = ? AND consumed_at IS NULL AND expires_at > ?
     ORDER BY at DESC LIMIT 1`,
    mandateId,
    tx.now,
  );
  if (grant === undefined) return undefined;
  await tx.run(
    "UPDATE recovery_grant SET consumed_at = ? WHERE mandate_id = ? AND turn_id = ? AND at = ?",
    tx.now,
    mandateId,
    grant.turnId,
    grant.at,
  );
  return grant;
}
