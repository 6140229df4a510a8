// Rows for tests of the ledger and what stands on it: repositories, conversations, mandates, their entries.
// Holds no expectation.
import { ensureConversation, saveRepository } from "../../app/ledger/conversations.ts";
import { addEntry, claimEntries, type Claim, type NewEntry } from "../../app/ledger/inbox.ts";
import type { DeliveryRow } from "../../app/ledger/incoming/deliveries.ts";
import type { Ledger, Tx } from "../../app/ledger/ledger.ts";
import { addMandate, type NewMandate } from "../../app/ledger/mandates.ts";
import { hourMs, minuteMs, secondMs } from "../../policies/durations.ts";
import type { MandateId } from "../../policies/mandate/mandate.ts";
import type { Wait } from "../../policies/mandate/waits.ts";
import { defaultPolicy } from "../../policies/policy-file.ts";

export const startAt = Date.UTC(2026, 11, 1, 9);
export const leaseMs = 10 * secondMs;

/** As many turns as there are entries, of this worker. */
export const claimLimits = { worker: "w-1", leaseMs, slots: 100, perRepository: 100 };

export const anchor = {
  text: "update the changelog",
  commentKind: "comment",
  commentId: "7",
  commentUrl: "https://forge.example/o/r/issues/1#c7",
  authorId: "1",
  authorName: "ada",
  permission: "write",
  bodyHash: "h",
};

export const aWait: Wait = {
  reason: "the build runs",
  nextStep: "look at the build",
  everyMs: 5 * minuteMs,
  dueAt: startAt + 5 * minuteMs,
  deadlineAt: startAt + hourMs,
  signals: [{ event: "release.published" }],
  subject: "",
};

export interface Planted {
  readonly id: MandateId;
  readonly conversationId: string;
}

interface Wanted extends Partial<NewMandate> {
  readonly repositoryId?: string;
  readonly number?: number;
  /** Null: nothing that would move it on. */
  readonly entry?: Partial<NewEntry> | null;
}

/** A mandate with its anchor and, unless told otherwise, the entry of its request. */
export async function plant(tx: Tx, wanted: Wanted = {}): Promise<Planted> {
  const { repositoryId = "r-1", number = 1, entry = {}, ...change } = wanted;
  const repository = {
    id: repositoryId,
    connection: "local",
    forgeId: repositoryId,
    name: "door",
    source: "/srv/door",
    defaultBranch: "main",
  };
  await saveRepository(tx, repository);
  const conversation = await ensureConversation(tx, repository, { number, kind: "issue" });
  const conversationId = conversation.id;
  const id = await addMandate(
    tx,
    { ...newMandate(tx.now), ...change, conversationId },
    { anchor, random: Math.random },
  );
  if (entry !== null) await addEntry(tx, { ...entryOf({ id, conversationId }, tx.now), ...entry });
  return { id, conversationId };
}

function newMandate(now: number): NewMandate {
  const { limits, stall } = defaultPolicy;
  return {
    conversationId: "",
    kind: "request",
    title: "update the changelog",
    nextStep: "begin: update the changelog",
    nextStepBy: "host",
    deadlineAt: now + limits.deadlineMs,
    deadlineMaxAt: now + limits.deadlineMsLimit,
    ceilings: { ...limits, stallLimit: stall.limit, thinkLimit: null },
    task: null,
    grant: null,
    policy: defaultPolicy,
    actorId: anchor.authorId,
    actorName: anchor.authorName,
    pinnedHead: null,
  };
}

export function entryOf(owner: { id: string; conversationId: string }, now: number): NewEntry {
  const { id, conversationId } = owner;
  return { mandateId: id, conversationId, kind: "request", availableAt: now, lastRanAt: 0 };
}

/** Claims whatever may be claimed and gives the only claim. */
export async function claimOnly(ledger: Ledger): Promise<Claim> {
  const claims = await ledger.write((tx) => claimEntries(tx, claimLimits));
  const [claim] = claims;
  if (claim === undefined || claims.length > 1) throw new Error(`${claims.length} claims`);
  return claim;
}

/** Every delivery, in the order they came. */
export function allDeliveries(ledger: Ledger): Promise<DeliveryRow[]> {
  return ledger.read((sql) => sql.all<DeliveryRow>("SELECT * FROM delivery ORDER BY id"));
}
