// What was written to a forge, counted for all processes (spec 6.3): the budgets of each account, and until when a forge
// takes nothing from it. Whoever writes books first.

import { hourMs, minuteMs, secondMs } from "../../policies/durations.ts";
import type { WriteLimits } from "../forge/forge.ts";
import type { Sql, Tx } from "./ledger.ts";

/** What an account may write now, and when it may write again where that is nothing. */
export interface Budget {
  readonly left: number;
  readonly nextAt: number;
}

/** Of the hour this share is kept for what people wait for: edits of status comments do not get it. */
const reservedShare = 0.2;

/** `isUrgent`: a person waits for it. Status edits are not, and leave the reserve alone. */
export async function budgetOf(
  tx: Tx,
  account: string,
  { limits, isUrgent }: { limits: WriteLimits; isUrgent: boolean },
): Promise<Budget> {
  const held = await tx.first<{ until: number }>(
    "SELECT until FROM forge_limit WHERE account = ? AND until > ?",
    account,
    tx.now,
  );
  if (held !== undefined) return { left: 0, nextAt: held.until };
  const perHour = isUrgent ? limits.perHour : Math.ceil(limits.perHour * (1 - reservedShare));
  const windows = [
    { ms: secondMs, limit: limits.perSecond },
    { ms: minuteMs, limit: limits.perMinute },
    { ms: hourMs, limit: perHour },
  ];
  let budget: Budget = { left: Infinity, nextAt: tx.now };
  for (const { ms, limit } of windows) {
    const { left, nextAt } = await roomIn(tx, account, { since: tx.now - ms, limit });
    budget = {
      left: Math.min(budget.left, left),
      nextAt: Math.max(budget.nextAt, nextAt === null ? tx.now : nextAt + ms),
    };
  }
  return budget;
}

/** What a window has left; where that is nothing, the write that must leave it before there is room. */
async function roomIn(
  sql: Sql,
  account: string,
  { since, limit }: { since: number; limit: number },
): Promise<{ left: number; nextAt: number | null }> {
  const counted = await sql.first<{ count: number }>(
    "SELECT COUNT(*) AS count FROM forge_write WHERE account = ? AND at > ?",
    account,
    since,
  );
  const count = counted?.count ?? 0;
  if (count < limit) return { left: limit - count, nextAt: null };
  const first = await sql.first<{ at: number }>(
    "SELECT at FROM forge_write WHERE account = ? AND at > ? ORDER BY at LIMIT 1 OFFSET ?",
    account,
    since,
    count - limit,
  );
  return { left: 0, nextAt: first?.at ?? null };
}

/** Counts a write that is about to be made; what is older than any window is forgotten. */
export async function bookWrite(tx: Tx, account: string): Promise<void> {
  await tx.run("DELETE FROM forge_write WHERE account = ? AND at <= ?", account, tx.now - hourMs);
  await tx.run("INSERT INTO forge_write (account, at) VALUES (?, ?)", account, tx.now);
}

/** Gives back what was booked at `at` and then not written. */
export async function returnWrite(tx: Tx, account: string, at: number): Promise<void> {
  await tx.run(
    `DELETE FROM forge_write WHERE id =
       (SELECT MIN(id) FROM forge_write WHERE account = ? AND at = ?)`,
    account,
    at,
  );
}

/** The forge said that it takes nothing before `until`. */
export async function holdWrites(tx: Tx, account: string, until: number): Promise<void> {
  await tx.run(
    `INSERT INTO forge_limit (account, until) VALUES (?, ?)
     ON CONFLICT (account) DO UPDATE SET until = GREATEST(forge_limit.until, excluded.until)`,
    account,
    until,
  );
}

/** By which account a repository's writes are counted. */
export function accountOf(repository: { connection: string; account: string | null }): string {
  return `${repository.connection} ${repository.account ?? ""}`;
}
