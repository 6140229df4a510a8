// Which local repository a command given at this machine is about (spec 7.1). Those of a forge have their conversations
// there.

import { realpathSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { listRepositories, type RepositoryRow } from "../ledger/conversations.ts";
import type { Sql } from "../ledger/ledger.ts";
import { misused, type Complaint } from "../notices/terminal.ts";

/** `npx holdfast` works inside the program's own folder alone: there the only repository served is meant. */
const programFolder = realPath(join(import.meta.dirname, "../.."));

/** The repository of `--repo`, else the one of the current folder; never one that nobody named. */
export async function chooseRepository(
  sql: Sql,
  path: string | undefined,
): Promise<{ readonly ok: true; readonly repository: RepositoryRow } | Complaint> {
  const all = await listRepositories(sql);
  const known = all.filter(({ connection }) => connection === "local");
  const place = realPath(path ?? ".");
  const around = known
    .filter(({ source }) => place === source || place.startsWith(`${source}${sep}`))
    .toSorted((one, other) => other.source.length - one.source.length);
  const [only] = known;
  const isNpx = path === undefined && place === programFolder && known.length === 1;
  const found = around[0] ?? (isNpx ? only : undefined);
  if (found !== undefined) return { ok: true, repository: found };
  if (only === undefined && all.length > 0) {
    return misused(
      "There is no repository here to write to.",
      "those of this home have their issues and pull requests on a forge",
      "write the comment there",
    );
  }
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
