// What doctor reads in the ledger about the processes that share it (spec 3.6, 7.1): who is there, and who is missed.

import { formatInstant } from "../../policies/durations.ts";
import { isMissed, type ProcessRow } from "../ledger/shared/processes.ts";
import { good, warning, type Check } from "./check.ts";

export function processChecks(rows: readonly ProcessRow[], now: number): Check[] {
  return rows.map((row) => {
    const check = `${row.kind} ${row.id}`;
    const turns = row.slots === 1 ? "one turn" : `${row.slots} turns`;
    const seen = `version ${row.version}, ${turns} at a time, last seen ${formatInstant(row.seenAt)}`;
    if (!isMissed(row, now)) return good(check, seen);
    return warning(
      check,
      seen,
      "see on its machine why it ended; others have taken over its turns",
    );
  });
}

/** True where a process somewhere moves mandates on. */
export function isServedBy(rows: readonly ProcessRow[], now: number): boolean {
  return rows.some((row) => row.kind === "server" && !isMissed(row, now));
}
