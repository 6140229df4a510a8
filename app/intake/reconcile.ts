// Missed deliveries are found (spec 6.2): failed ones are asked for again, and texts that no delivery told of are looked
// up by a cursor. What is found goes through the same intake as everything else, and once (I4).

import { mayHoldCommand } from "../../policies/commands/comment.ts";
import { hourMs, minuteMs, secondMs } from "../../policies/durations.ts";
import { Failure } from "../../policies/failure.ts";
import type { Forge, ForgeText } from "../forge/forge.ts";
import type { Host } from "../host.ts";
import { noteTextsRead, listRepositories, type RepositoryRow } from "../ledger/conversations.ts";
import { changeConnection, findConnection } from "../ledger/incoming/connections.ts";
import { addDelivery, findDelivery } from "../ledger/incoming/deliveries.ts";
import type { Tx } from "../ledger/ledger.ts";
import { commit } from "../turn/persist.ts";
import { knownRepository, textsOverlapMs } from "./repositories.ts";

const deliveriesEveryMs = 5 * minuteMs;
const textsEveryMs = hourMs;
const textsLimit = 500;

interface Looking {
  /** The process has just started: nothing is known of the time before. */
  readonly isStart: boolean;
  /** Ends it between two repositories; the rest is looked at next time. */
  readonly signal?: AbortSignal;
}

/**
 * Looks for what was missed, where it is time to; at the start of a process always. A forge that does not answer is
 * asked again at the next call. Returns how much was recovered. At the start it throws that Failure when it is through:
 * the start is to be repeated.
 */
export async function reconcile(host: Host, looking: Looking): Promise<number> {
  let recovered = 0;
  let failure: Failure | null = null;
  for (const forge of host.forges.values()) {
    try {
      recovered += await reconcileOne(host, forge, looking);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const { connection } = forge;
      host.log.warn({ connection, error }, "missed deliveries could not be looked for yet");
      failure = error;
    }
  }
  if (looking.isStart && failure !== null) throw failure;
  return recovered;
}

async function reconcileOne(host: Host, forge: Forge, looking: Looking): Promise<number> {
  if (looking.isStart) await readRepositories(host, forge, looking);
  const asked = await askAgain(host, forge, looking);
  const found = await findTexts(host, forge, looking);
  const recovered = asked + found;
  if (recovered > 0) {
    const { connection } = forge;
    host.log.warn({ connection, recovered }, "missed deliveries were recovered");
    await commit(host, async (tx) => {
      const row = await findConnection(tx, connection);
      await changeConnection(tx, connection, { recovered: (row?.recovered ?? 0) + recovered });
    });
  }
  return recovered;
}

async function readRepositories(host: Host, forge: Forge, { signal }: Looking): Promise<void> {
  const { connection } = forge;
  for (const { forgeId } of await forge.listRepositories()) {
    if (signal?.aborted === true) return;
    await knownRepository(host, { connection, forgeId });
  }
}

/** Deliveries that the forge says failed, and that are not here all the same. */
async function askAgain(host: Host, forge: Forge, { isStart }: Looking): Promise<number> {
  if (!forge.capabilities.deliveryListing) return 0;
  const { connection } = forge;
  const now = host.ledger.now();
  const row = await host.ledger.read((sql) => findConnection(sql, connection));
  if (!isStart && now - (row?.sweptAt ?? 0) < deliveriesEveryMs) return 0;
  const since = row?.deliveriesReadTo ?? 0;
  // Nobody has listened yet, so nothing was missed.
  const failed = since === 0 ? [] : await forge.failedDeliveries(since - textsOverlapMs);
  let count = 0;
  for (const { id, guid } of failed) {
    if ((await host.ledger.read((sql) => findDelivery(sql, connection, guid))) !== undefined) {
      continue;
    }
    await forge.redeliver(id);
    count += 1;
  }
  await commit(host, (tx) =>
    changeConnection(tx, connection, { sweptAt: now, deliveriesReadTo: now }),
  );
  return count;
}

async function findTexts(host: Host, forge: Forge, { isStart, signal }: Looking): Promise<number> {
  const { connection } = forge;
  const rows = await host.ledger.read(listRepositories);
  let count = 0;
  for (const row of rows) {
    if (signal?.aborted === true) break;
    if (row.connection !== connection || row.reach !== "open") continue;
    if (!isStart && host.ledger.now() - row.textsReadTo < textsEveryMs) continue;
    count += await findTextsIn(host, forge, row);
  }
  return count;
}

async function findTextsIn(host: Host, forge: Forge, row: RepositoryRow): Promise<number> {
  const now = host.ledger.now();
  const since = row.textsReadTo - textsOverlapMs;
  // A repository that is new to us has no past here.
  const texts = row.textsReadTo === 0 ? [] : await forge.textsSince(row, since, textsLimit);
  const last = texts.at(-1);
  const isCut = texts.length >= textsLimit && last !== undefined;
  const told = texts.filter(
    (text) => text.author.id !== forge.self.id && mayHoldCommand(text.body, host.mention),
  );
  return commit(host, async (tx) => {
    let count = 0;
    for (const text of told) if (await tell(tx, text, since)) count += 1;
    // A cut list is read on from its end at the next look.
    const textsReadTo = isCut ? Math.max(last.changedAt, row.textsReadTo + 1) : now;
    await noteTextsRead(tx, row.id, textsReadTo);
    return count;
  });
}

/** False when its delivery came before. An older text that changed is an edit, which runs nothing (1.4). */
async function tell(tx: Tx, text: ForgeText, since: number): Promise<boolean> {
  const { ref, number, createdAt, changedAt } = text;
  // Forges tell times in whole seconds.
  const kind = createdAt >= Math.floor(since / secondMs) * secondMs ? "text" : "edited";
  const guid = `look ${ref.forgeId} ${ref.kind} ${ref.id}${kind === "edited" ? ` ${changedAt}` : ""}`;
  return addDelivery(tx, {
    connection: ref.connection,
    guid,
    payload: { kind, text: ref, number },
  });
}
