// Which repository a command given at this machine is about (spec 7.1).

import { realpathSync } from "node:fs";
import { resolve, sep } from "node:path";
import { listRepositories, type RepositoryRow } from "../ledger/conversations.ts";
import type { Sql } from "../ledger/ledger.ts";
import { misused, type Complaint } from "../notices/terminal.ts";

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
