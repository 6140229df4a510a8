// Committing a settled turn (spec 2.1 step 5; I2, I3, I8): all of it or nothing, and only under the live claim.
import { describe, expect, test } from "vitest";
import type { Host } from "../../../app/host.ts";
import { eventsOf, evidenceOf } from "../../../app/ledger/history.ts";
import { addEntry, queuedEntries, releaseExpired, StaleClaim } from "../../../app/ledger/inbox.ts";
import { changeMandate, lookFacts, mandateOf } from "../../../app/ledger/mandates.ts";
import { messagesOf } from "../../../app/ledger/outbox.ts";
import { beginTurn, turnsOf } from "../../../app/ledger/turns.ts";
import { liveWait } from "../../../app/ledger/waits.ts";
import { block, commitTurn, type EndedTurn } from "../../../app/turn/checkpoint.ts";
import { missingMover } from "../../../policies/mandate/look.ts";
import type { Report } from "../../../policies/mandate/mandate.ts";
import type { TurnOutcome } from "../../../policies/mandate/turn-outcome.ts";
import { defaultPolicy } from "../../../policies/policy-file.ts";
import { openBareHost } from "../../fakes/host.ts";
import { aWait, claimOnly, entryOf, plant, startAt } from "../../fakes/ledger.ts";
import { asks, fingerprint, gaveUp, goesOn, turn } from "../../policies/mandate/example.ts";

const policy = { ...defaultPolicy, publish: { ...defaultPolicy.publish, on: "request" } } as const;
const waits: Report = { kind: "waiting", reason: aWait.reason, wait: aWait };
const isDone: Report = { kind: "completed", summary: "wrote the entry" };

/** A mandate whose first turn has just ended. */
async function endTurn(host: Host, outcome: Partial<TurnOutcome>): Promise<EndedTurn> {
  await host.ledger.write((tx) => plant(tx, { policy }));
  const claim = await claimOnly(host.ledger);
  const { id: turnId } = await host.ledger.write((tx) => beginTurn(tx, claim));
  const ended = { ...turn, ...outcome };
  const facts = { end: ended.end, report: ended.report };
  return { claim, turnId, outcome: ended, facts, task: null, baseCommit: null };
}

async function stateOf(host: Host, id: string) {
  return host.ledger.read(async (sql) => {
    const facts = await lookFacts(sql, id);
    return {
      mandate: await mandateOf(sql, id),
      entries: (await queuedEntries(sql, id)).map(({ kind }) => kind),
      wait: await liveWait(sql, id),
      turns: await turnsOf(sql, id),
      evidence: (await evidenceOf(sql, id)).length,
      messages: (await messagesOf(sql, id)).map(({ key }) => key.replace(id, "id")),
      events: (await eventsOf(sql, id)).map(({ kind }) => kind),
      missing: facts === undefined ? null : missingMover(facts),
    };
  });
}

const outcomes: readonly [string, Report | null, object][] = [
  ["continue", goesOn, { status: "queued", entries: ["continuation"], messages: ["status id"] }],
  ["waiting", waits, { status: "waiting", entries: [], messages: ["status id"] }],
  ["a question", asks, { status: "waiting", entries: [], messages: ["ask id 1", "status id"] }],
  [
    "blocked",
    gaveUp,
    { status: "blocked", entries: [], messages: ["ask id 1", "reaction id confused", "status id"] },
  ],
  [
    "completed",
    isDone,
    {
      status: "completed",
      entries: [],
      messages: ["result id", "reaction id rocket", "status id"],
    },
  ],
];

describe("I3: a turn is committed in one transaction", () => {
  test.each(outcomes)("%s: the state, and all that must happen because of it", async (...row) => {
    const { host } = openBareHost();
    const ended = await endTurn(host, { report: row[1], found: [fingerprint("a")] });
    await host.ledger.write((tx) => commitTurn(tx, host, ended));
    const { mandate, entries, messages, ...rest } = await stateOf(host, ended.claim.mandateId);
    expect({ status: mandate.status, entries, messages }).toEqual(row[2]);
    expect(rest).toMatchObject({ evidence: 1, missing: null });
    expect(rest.turns).toMatchObject([
      { endedAt: startAt, settlement: { status: mandate.status }, report: row[1] },
    ]);
  });

  test.each(outcomes)("%s: where the commit breaks off nothing of it happened", async (...row) => {
    const { host } = openBareHost();
    const ended = await endTurn(host, { report: row[1], found: [fingerprint("a")] });
    const before = await stateOf(host, ended.claim.mandateId);
    const committing = host.ledger.write(async (tx) => {
      await commitTurn(tx, host, ended);
      throw new Error("the disk was pulled out");
    });
    await expect(committing).rejects.toThrow("pulled out");
    expect(await stateOf(host, ended.claim.mandateId)).toEqual(before);
    await host.ledger.write((tx) => commitTurn(tx, host, ended));
    const after = await stateOf(host, ended.claim.mandateId);
    expect(after.mandate.counters.turns).toBe(1);
  });

  test("I2: a result whose claim was taken away is refused whole", async () => {
    const { host } = openBareHost();
    const ended = await endTurn(host, { report: isDone });
    const { mandateId, entryId, fence } = ended.claim;
    await host.ledger.write(async (tx) => {
      const [entry] = await tx.all<Parameters<typeof releaseExpired>[1]>(
        "SELECT * FROM inbox WHERE id = ? AND fence = ?",
        entryId,
        fence,
      );
      if (entry === undefined) throw new Error("the entry is gone");
      await releaseExpired(tx, entry, { state: "queued", availableAt: tx.now, note: null });
      await changeMandate(tx, mandateId, { status: "queued" });
    });
    const before = await stateOf(host, mandateId);
    const late = host.ledger.write((tx) => commitTurn(tx, host, ended));
    await expect(late).rejects.toThrow(StaleClaim);
    expect(await stateOf(host, mandateId)).toEqual(before);
  });

  test("I8: the result of a stopped mandate is recorded, refused and starts nothing", async () => {
    const { host } = openBareHost();
    const ended = await endTurn(host, { report: goesOn });
    const { mandateId } = ended.claim;
    await host.ledger.write((tx) => changeMandate(tx, mandateId, { status: "stopped" }));
    await host.ledger.write((tx) => commitTurn(tx, host, ended));
    expect(await stateOf(host, mandateId)).toMatchObject({
      mandate: { status: "stopped", counters: { turns: 0 } },
      entries: [],
      messages: [],
      events: ["late-result-refused"],
      turns: [{ endedAt: startAt, settlement: null }],
    });
  });
});

describe("a person's word that came while the turn ran (1.3)", () => {
  test.each([
    ["a completed report", isDone],
    ["a blocked report", gaveUp],
    ["a registered wait", waits],
    ["a question", asks],
  ])("is heard next, whatever %s says", async (_, report) => {
    const { host } = openBareHost();
    const ended = await endTurn(host, { report });
    const planted = { id: ended.claim.mandateId, conversationId: ended.claim.conversationId };
    await host.ledger.write((tx) => addEntry(tx, { ...entryOf(planted, tx.now), kind: "reply" }));
    await host.ledger.write((tx) => commitTurn(tx, host, ended));
    const { mandate, entries } = await stateOf(host, planted.id);
    expect([mandate.status, entries]).toEqual(["queued", ["reply"]]);
    expect(await claimOnly(host.ledger)).toMatchObject({ kind: "reply" });
  });
});

test("1.6: each block has its own notice, and one block has one", async () => {
  const { host } = openBareHost();
  const { id } = await host.ledger.write((tx) => plant(tx, { entry: null }));
  const cause = { reason: "stalled", what: "nothing new came" } as const;
  for (let blocks = 0; blocks < 2; blocks += 1) {
    await host.ledger.write(async (tx) => {
      await changeMandate(tx, id, { status: "queued" });
      await block(tx, host, { mandate: await mandateOf(tx, id), ...cause });
    });
  }
  const { mandate, messages, missing } = await stateOf(host, id);
  expect(messages.filter((key) => key.startsWith("ask"))).toEqual(["ask id 1", "ask id 2"]);
  expect(mandate).toMatchObject({ status: "blocked", reason: "stalled", noticeKey: `ask ${id} 2` });
  expect(missing).toBeNull();
});
