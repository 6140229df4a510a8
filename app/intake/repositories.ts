// Repositories as the ledger knows them (spec 1.7, 6.2): the forge's own id identifies, everything else is looked up
// when it is used.

import { minuteMs } from "../../policies/durations.ts";
import type { RepositoryRef } from "../forge/forge.ts";
import { forgeOf, type Host } from "../host.ts";
import {
  findRepository,
  repositoryOf,
  noteTextsRead,
  saveRepository,
  type RepositoryRow,
} from "../ledger/conversations.ts";
import { changeReach } from "../ledger/mandates.ts";
import { commit } from "../turn/persist.ts";

/** So far each look for missed texts reaches back: clocks differ, and lists lag. What is known is recognised. */
export const textsOverlapMs = 10 * minuteMs;

/** The repository as it is on the forge now, saved; null when the forge has none that we reach. Throws Failure. */
export async function knownRepository(
  host: Host,
  ref: RepositoryRef,
): Promise<RepositoryRow | null> {
  const found = await forgeOf(host, ref.connection).readRepository(ref);
  if (found === null) return null;
  const row = await host.ledger.read((sql) => findRepository(sql, ref.connection, ref.forgeId));
  const { forgeId, name, source, defaultBranch, account } = found;
  const isSame =
    row?.name === name &&
    row.source === source &&
    row.defaultBranch === defaultBranch &&
    row.reach === "open";
  if (isSame) return row;
  const id = row?.id ?? `${ref.connection}-${forgeId}`;
  const { connection } = ref;
  return commit(host, async (tx) => {
    await saveRepository(tx, { id, connection, forgeId, name, source, defaultBranch, account });
    // What was said before we came is nobody's command to us: the first look reaches back to now and no further.
    const textsReadTo = row?.textsReadTo ?? tx.now + textsOverlapMs;
    await noteTextsRead(tx, id, textsReadTo);
    await changeReach(tx, id, "open");
    return repositoryOf(tx, id);
  });
}
