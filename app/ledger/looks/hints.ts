// What other processes can be told to look at (spec 3.5), by ids and a revision: hints are worth nothing else.

import type { Sql } from "../ledger.ts";

/** `looks` is for whoever looks at mandates, `turns` for whoever takes turns. */
export type HintLane = "looks" | "turns";

export interface Hint {
  readonly lane: HintLane;
  /** Another one as soon as anything about it has changed. */
  readonly id: string;
  /** From when on it is worth a look, epoch ms. */
  readonly at: number;
}

interface Asked {
  /** What is due until then. */
  readonly until: number;
  readonly limit: number;
}

/** Armed waits, the next first. */
export async function comingWaits(sql: Sql, { until, limit }: Asked): Promise<Hint[]> {
  const rows = await sql.all<{ id: number; dueAt: number }>(
    // Crossed, so that SQLite begins with the mandates: their index knows what comes.
    `SELECT w.id, w.due_at FROM mandate m CROSS JOIN wait w
     WHERE m.look_at <= ? AND w.mandate_id = m.id AND w.state <> 'ended' AND w.state = 'armed'
       AND w.due_at <= ? ORDER BY m.look_at LIMIT ?`,
    until,
    until,
    limit,
  );
  return rows.map(({ id, dueAt }) => ({ lane: "looks", id: `w_${id}_${dueAt}`, at: dueAt }));
}

/** Entries that wait for a turn, the next first. */
export async function comingEntries(sql: Sql, { until, limit }: Asked): Promise<Hint[]> {
  const rows = await sql.all<{ id: number; fence: number; availableAt: number }>(
    `SELECT id, fence, available_at FROM inbox WHERE state = 'queued' AND available_at <= ?
     ORDER BY available_at LIMIT ?`,
    until,
    limit,
  );
  return rows.map(({ id, fence, availableAt: at }) => ({
    lane: "turns",
    id: `e_${id}_${fence}_${at}`,
    at,
  }));
}
