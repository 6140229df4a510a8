// Which inbox entry of a conversation runs next (spec 1.3): people first, oldest first; then what is ready to be
// published, child results, due rechecks, and continuations of the mandate that least recently ran.

import type { EntryKind } from "./mandate.ts";

const rankOf: Readonly<Record<EntryKind, number>> = {
  request: 0,
  reply: 0,
  continue: 0,
  recover: 0,
  publish: 1,
  "child-result": 2,
  recheck: 3,
  continuation: 4,
};

/** True for entries that a person caused: they go before everything else and hold back rechecks. */
export function isFromPerson(kind: EntryKind): boolean {
  return rankOf[kind] === 0;
}

export interface OrderKey {
  readonly rank: number;
  readonly orderAt: number;
}

/** The sort key stored with an entry; ties are broken by the order of arrival. */
export function orderKey(kind: EntryKind, times: { now: number; lastRanAt: number }): OrderKey {
  return { rank: rankOf[kind], orderAt: kind === "continuation" ? times.lastRanAt : times.now };
}
