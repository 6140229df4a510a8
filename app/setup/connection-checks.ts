// What doctor reads in the ledger about forges behind a network (spec 6.2, 6.3, 7.1): how each connection is kept up,
// which repositories it reaches, and what could not be delivered.

import { formatInstant } from "../../policies/durations.ts";
import { problemLine } from "../../policies/yaml-file.ts";
import type { RepositoryRow } from "../ledger/conversations.ts";
import { healthOf } from "../ledger/facts.ts";
import { isSilent, listConnections, type ConnectionRow } from "../ledger/incoming/connections.ts";
import type { Sql } from "../ledger/ledger.ts";
import { good, problem, warning, type Check } from "./check.ts";

export async function connectionChecks(
  sql: Sql,
  { now, isServed }: { now: number; isServed: boolean },
): Promise<Check[]> {
  const connections = await listConnections(sql);
  const { undelivered } = await healthOf(sql);
  const checks = connections.map((row) => connectionCheck(row, isServed ? now : null));
  return undelivered === 0 ? checks : [...checks, undeliveredCheck(undelivered)];
}

/** `now` is null where nobody serves the home: then nothing is late. */
function connectionCheck(row: ConnectionRow, now: number | null): Check {
  const { name, lastDeliveryAt, sweptAt, recovered } = row;
  const check = `connection ${name}`;
  const seen = `last delivery ${told(lastDeliveryAt)}, last sweep ${told(sweptAt)}, ${recovered} recovered`;
  if (now === null || !isSilent(sweptAt, now)) return good(check, seen);
  const help = "see in the log why the forge is not asked for what was missed";
  return warning(check, seen, help);
}

function told(at: number | null): string {
  return at === null ? "never" : formatInstant(at);
}

function undeliveredCheck(count: number): Check {
  const seen = `${count} ${count === 1 ? "message" : "messages"} could not be delivered`;
  const help = "the page Health counts them and `holdfast log <id>` shows each mandate's own";
  return warning("outbox", seen, help);
}

/** A repository behind a network, as the ledger knows it: doctor has no token to fetch from it. */
export function reachChecks(row: RepositoryRow): Check[] {
  const check = `repository ${row.name}`;
  const faults = (row.problems ?? []).map((fault) => {
    const help = `mend it on ${row.defaultBranch}; until then the last good one counts`;
    return problem(`policy ${row.name}`, problemLine(fault), help);
  });
  switch (row.reach) {
    case "open":
      return [good(check, `reached through installation ${row.account ?? ""}`), ...faults];
    case "suspended": {
      const help = "unsuspend the installation on the forge; its mandates are held until then";
      return [warning(check, "its installation is suspended", help)];
    }
    case "gone": {
      const help = "install the App on it again if it shall be worked on";
      return [warning(check, "it was deleted or taken away from the App", help)];
    }
  }
}
