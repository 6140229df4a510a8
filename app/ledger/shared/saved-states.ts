// Saved states that follow their mandates to other workers (spec 5.1, 7.1). Decides nothing.

import type { Sql, Tx } from "../ledger.ts";
import { insert } from "../rows.ts";

export interface SavedStateRow {
  readonly mandateId: string;
  /** The home where it was saved: there the checkout itself is the state. */
  readonly home: string;
  /** Null, as the two beside it, where the files could not be saved, or are more than can be carried. */
  readonly commitHash: string | null;
  readonly baseHash: string | null;
  readonly pack: Uint8Array | null;
  readonly at: number;
}

/** Takes the place of the mandate's state before. */
export async function keepState(tx: Tx, state: Omit<SavedStateRow, "at">): Promise<void> {
  await tx.run("DELETE FROM saved_state WHERE mandate_id = ?", state.mandateId);
  await insert(tx, "saved_state", { ...state, at: tx.now });
}

/** Where the mandate's files are, and as which commit. */
export function findState(
  sql: Sql,
  mandateId: string,
): Promise<Pick<SavedStateRow, "home" | "commitHash"> | undefined> {
  return sql.first("SELECT home, commit_hash FROM saved_state WHERE mandate_id = ?", mandateId);
}

export function readState(sql: Sql, mandateId: string): Promise<SavedStateRow | undefined> {
  return sql.first("SELECT * FROM saved_state WHERE mandate_id = ?", mandateId);
}

/** Forgets the states of mandates that ended before `before`. Returns how many. */
export function dropStates(tx: Tx, before: number): Promise<number> {
  return tx.run(
    `DELETE FROM saved_state WHERE at < ?
       AND EXISTS (SELECT 1 FROM mandate m WHERE m.id = mandate_id AND m.ended_at < ?)`,
    before,
    before,
  );
}
