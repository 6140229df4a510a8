// Doctor (spec 1.1, 8.3): reads the whole ledger and names every invariant that does not hold, with what to do.
// Repairs nothing and writes nothing; the CLI, the page and the simulation print the same list.

import { secondMs } from "../policies/durations.ts";
import { lookGraceMs, missingMover } from "../policies/mandate/look.ts";
import { brokenInvariants, unfinishedMandates, type Broken } from "./ledger/invariants.ts";
import type { Sql } from "./ledger/ledger.ts";
import { lookFacts } from "./ledger/mandates.ts";

export type Violation = Broken;

/** How late anything may be: the grace of a look and one tick of the sweep, jitter included. */
export const lateMs = lookGraceMs + 20 * secondMs;

/** Every violated invariant of the ledger as it is at `now` (epoch ms); empty when all is well. */
export async function violations(sql: Sql, now: number): Promise<Violation[]> {
  const silent = await silentMandates(sql, now);
  return [...silent, ...(await brokenInvariants(sql, now - lateMs))];
}

/** I1 in full: what should move each unfinished mandate is there, and was not missed. */
async function silentMandates(sql: Sql, now: number): Promise<Violation[]> {
  const found: Violation[] = [];
  for (const { id, status, lookAt } of await unfinishedMandates(sql)) {
    const facts = await lookFacts(sql, id);
    const missing = facts === undefined ? null : missingMover(facts);
    const about = { invariant: "I1", subject: id };
    if (missing !== null) {
      const what = `it is ${status}, and there is no ${missing.replace(/^an? /, "")}`;
      const todo = "the next sweep moves it on; keep the log, this must not happen";
      found.push({ ...about, what, todo, isLate: false });
    } else if (lookAt !== null && lookAt < now - lateMs) {
      const seconds = Math.round((now - lookAt) / secondMs);
      const what = `it is ${status} and should have been looked at ${seconds} s ago`;
      found.push({ ...about, what, todo: "see that the scheduling process runs", isLate: true });
    }
  }
  return found;
}
