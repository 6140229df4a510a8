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
  const perHour = isUrgent ? limits.perHour : Math.floor(limits.perHour * (1 - reservedShare));
  const windows = [
    { ms: secondMs, limit: limits.perSecond },
    { ms: minuteMs, limit: limits.perMinute },
    { ms: hourMs, limit: perHour },
  ];
  let budget: Budget = { left: Infinity, nextAt: tx.now };
  for (const { ms, limit } of windows) {
    const { count, oldest } = await writesSince(tx, account, tx.now - ms);
    const left = Math.max(limit - count, 0);
    // With the window used up, the oldest write in it is the first to leave it.
    const nextAt = left > 0 ? tx.now : (oldest ?? tx.now) + ms + 1;
    budget = { left: Math.min(budget.left, left), nextAt: Math.max(budget.nextAt, nextAt) };
  }
  return budget;
}

async function writesSince(
  sql: Sql,
  account: string,
  since: number,
): Promise<{ count: number; oldest: number | null }> {
  const row = await sql.first<{ count: number; oldest: number | null }>(
    "SELECT COUNT(*) AS count, MIN(at) AS oldest FROM forge_write WHERE account = ? AND at > ?",
    account,
    since,
  );
  return row ?? { count: 0, oldest: null };
}

/** Counts a write that is about to be made; what is older than any window is forgotten. */
export async function bookWrite(tx: Tx, account: string): Promise<void> {
  await tx.run("DELETE FROM forge_write WHERE account = ? AND at <= ?", account, tx.now - hourMs);
  await tx.run("INSERT INTO forge_write (account, at) VALUES (?, ?)", account, tx.now);
}

/** The forge said that it takes nothing before `until`. */
export async function holdWrites(tx: Tx, account: string, until: number): Promise<void> {
  await tx.run(
    `INSERT INTO forge_limit (account, until) VALUES (?, ?)
     ON CONFLICT (account) DO UPDATE SET until = MAX(until, excluded.until)`,
    account,
    until,
  );
}

/** By which account a repository's writes are counted. */
export function accountOf(repository: { connection: string; account: string | null }): string {
  return `${repository.connection} ${repository.account ?? ""}`;
}
