// Turns and their tool calls in the ledger (spec 2.1, 2.5, 5.5): recorded when they begin and when they finish, so
// that a crash leaves what may have happened. Long output is kept by hash, head and tail.

import type { EntryKind, Report, TurnEnd } from "../../policies/mandate/mandate.ts";
import type { Settlement } from "../../policies/mandate/settlement.ts";
import type { Claim } from "./inbox.ts";
import type { Sql, Tx } from "./ledger.ts";
import { insert, insertOnce, update } from "./rows.ts";

export interface TurnRow {
  readonly id: number;
  readonly mandateId: string;
  readonly number: number;
  readonly entryId: number;
  readonly fence: number;
  readonly cause: EntryKind;
  readonly phase: string;
  readonly startedAt: number;
  readonly promptGivenAt: number | null;
  readonly endedAt: number | null;
  readonly end: TurnEnd | null;
  readonly report: Report | null;
  readonly reply: string | null;
  readonly fingerprintBefore: string | null;
  readonly fingerprintAfter: string | null;
  readonly fingerprintAll: string | null;
  readonly events: readonly string[] | null;
  readonly receipt: string | null;
  readonly receiptReasons: readonly string[] | null;
  readonly savedCommit: string | null;
  readonly isolation: string | null;
  readonly settlement: Settlement | null;
}

export interface ToolCallRow {
  readonly turnId: number;
  readonly sequence: number;
  readonly name: string;
  readonly kind: "work" | "control";
  readonly step: number | null;
  readonly startedAt: number;
  readonly finishedAt: number | null;
  readonly exitCode: number | null;
  readonly failed: number;
  readonly textHead: string;
  readonly textTail: string;
  readonly textLength: number;
  readonly textHash: string | null;
}

export async function beginTurn(tx: Tx, claim: Claim): Promise<TurnRow> {
  const last = await lastTurn(tx, claim.mandateId);
  await insert(tx, "turn", {
    mandateId: claim.mandateId,
    number: (last?.number ?? 0) + 1,
    entryId: claim.entryId,
    fence: claim.fence,
    cause: claim.kind,
    phase: "claimed",
    startedAt: tx.now,
  });
  const turn = await lastTurn(tx, claim.mandateId);
  if (turn === undefined) throw new Error("a turn that was just begun is not in the ledger");
  return turn;
}

export function lastTurn(sql: Sql, mandateId: string): Promise<TurnRow | undefined> {
  return sql.first<TurnRow>(
    "SELECT * FROM turn WHERE mandate_id = ? ORDER BY number DESC LIMIT 1",
    mandateId,
  );
}

export function turnsOf(sql: Sql, mandateId: string): Promise<TurnRow[]> {
  return sql.all<TurnRow>("SELECT * FROM turn WHERE mandate_id = ? ORDER BY number", mandateId);
}

/** The turn that a claim began, if it got that far. */
export function turnOfEntry(
  sql: Sql,
  entry: { entryId: number; fence: number },
): Promise<TurnRow | undefined> {
  return sql.first<TurnRow>(
    "SELECT * FROM turn WHERE entry_id = ? AND fence = ?",
    entry.entryId,
    entry.fence,
  );
}

export type TurnChange = Partial<Omit<TurnRow, "id" | "mandateId" | "number" | "entryId">>;

export async function changeTurn(tx: Tx, id: number, change: TurnChange): Promise<void> {
  await update(tx, "turn", { set: change, where: { id } });
}

/** Records a call when it begins, and again when it has finished. */
export async function saveCall(tx: Tx, call: ToolCallRow): Promise<void> {
  const isNew = await insertOnce(tx, "tool_call", call);
  if (isNew) return;
  const { turnId, sequence, ...change } = call;
  await update(tx, "tool_call", { set: change, where: { turnId, sequence } });
}

export function callsOf(sql: Sql, turnId: number): Promise<ToolCallRow[]> {
  return sql.all<ToolCallRow>(
    "SELECT * FROM tool_call WHERE turn_id = ? ORDER BY sequence",
    turnId,
  );
}
