// Who gives commands at this machine, and which repository they are about (spec 7.1).

import { realpathSync } from "node:fs";
import { userInfo } from "node:os";
import { resolve, sep } from "node:path";
import type { Person } from "../forge/forge.ts";
import { listRepositories, type RepositoryRow } from "../ledger/conversations.ts";
import type { Sql } from "../ledger/ledger.ts";
import { misused, type Complaint } from "../notices/terminal.ts";

/** Who works at this machine, as the local forge knows them. */
export function operator(): Person {
  try {
    return { id: "1", name: userInfo().username, isBot: false };
  } catch {
    // A user id without a name, as in many containers.
    return { id: "1", name: "operator", isBot: false };
  }
}

/** The repository of `--repo`, else the one of the current folder, else the only one. */
export async function chooseRepository(
  sql: Sql,
  path: string | undefined,
): Promise<{ readonly ok: true; readonly repository: RepositoryRow } | Complaint> {
  const known = await listRepositories(sql);
  const place = realPath(path ?? ".");
  const around = known
    .filter(({ source }) => place === source || place.startsWith(`${source}${sep}`))
    .toSorted((one, other) => other.source.length - one.source.length);
  const [only] = known;
  const found = around[0] ?? (path === undefined && known.length === 1 ? only : undefined);
  if (found !== undefined) return { ok: true, repository: found };
  if (only === undefined) {
    return misused(
      "There is no repository here to write to.",
      "this home has not served one yet",
      "run `holdfast local <repository>` once, or set HOLDFAST_HOME to the home that has",
    );
  }
  return misused(
    "It is not clear which repository is meant.",
    `${place} lies in none of those that this home knows: ${known.map(({ source }) => source).join(", ")}`,
    "name one with --repo <path>",
  );
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}
