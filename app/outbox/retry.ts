// How long a message is tried (spec 6.3): with backoff to half an hour, while its mandate is unfinished and for three
// days at least. Decides from the ledger alone.

import { dayMs } from "../../policies/durations.ts";
import { isTerminal } from "../../policies/mandate/mandate.ts";
import type { Sql } from "../ledger/ledger.ts";
import { mandateOf } from "../ledger/mandates.ts";
import type { MessageRow } from "../ledger/outbox.ts";
import type { Timing } from "../settings.ts";

const keepTryingMs = 3 * dayMs;

/** How long after the last try the next one follows. */
export function backoffMs(timing: Timing, { attempts }: Pick<MessageRow, "attempts">): number {
  return Math.min(timing.retryFirstMs * 2 ** Math.min(attempts, 20), timing.retryMaxMs);
}

/**
 * Nobody waits for it any more, and it was tried for long enough: `triedMs` is a span of tries, since an old comment may
 * have been drawn anew only just now.
 */
export async function isGivenUp(
  sql: Sql,
  row: MessageRow,
  { now, triedMs }: { now: number; triedMs: number },
): Promise<boolean> {
  if (Math.min(now - row.createdAt, triedMs) <= keepTryingMs) return false;
  if (row.mandateId === null) return true;
  return isTerminal((await mandateOf(sql, row.mandateId)).status);
}
