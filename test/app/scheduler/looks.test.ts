// Looks (spec 3.2, 3.3, 3.6; I1): one recheck for one registration, deadlines without a turn, and repairs.
import { describe, expect, test } from "vitest";
import { addHold, eventsOf, liftHold } from "../../../app/ledger/history.ts";
import { addEntry, queuedEntries } from "../../../app/ledger/inbox.ts";
import type { Tx } from "../../../app/ledger/ledger.ts";
import {
  changeMandate,
  lookFacts,
  mandateOf,
  nextLookAt,
  refreshLook,
} from "../../../app/ledger/mandates.ts";
import { messagesOf } from "../../../app/ledger/outbox.ts";
import { turnsOf } from "../../../app/ledger/turns.ts";
import { armWait, liveWait } from "../../../app/ledger/waits.ts";
import { lookAtDue } from "../../../app/scheduler/looks.ts";
import { dayMs, secondMs } from "../../../policies/durations.ts";
import { lookGraceMs, missingMover } from "../../../policies/mandate/look.ts";
import { openBareHost, type BareHost } from "../../fakes/host.ts";
import { aWait, claimOnly, entryOf, plant, startAt } from "../../fakes/ledger.ts";

async function plantWaiting({ host }: BareHost): Promise<string> {
  return host.ledger.write(async (tx) => {
    const { id } = await plant(tx, { entry: null });
    await armWait(tx, { mandateId: id, turnId: null }, aWait);
    await changeMandate(tx, id, { status: "waiting" });
    return id;
  });
}

async function stateOf({ host }: BareHost, id: string) {
  return host.ledger.read(async (sql) => {
    const facts = await lookFacts(sql, id);
    return {
      mandate: await mandateOf(sql, id),
      entries: (await queuedEntries(sql, id)).map(({ kind }) => kind),
      wait: (await liveWait(sql, id))?.state ?? null,
      notices: (await messagesOf(sql, id)).filter(({ kind }) => kind === "ask").length,
      turns: (await turnsOf(sql, id)).length,
      events: (await eventsOf(sql, id)).map(({ kind }) => kind),
      missing: facts === undefined ? null : missingMover(facts),
    };
  });
}

const pause = { scope: "mandate", reason: "paused", byName: "ada" } as const;

describe("a due wait (3.2)", () => {
  test("becomes exactly one recheck, however often it is looked at", async () => {
    const bare = openBareHost();
    const id = await plantWaiting(bare);
    bare.clock.at = aWait.dueAt - 1;
    expect(await lookAtDue(bare.host)).toEqual({ count: 0, repairs: 0 });
    bare.clock.at = aWait.dueAt;
    await lookAtDue(bare.host);
    await lookAtDue(bare.host);
    expect(await stateOf(bare, id)).toMatchObject({
      mandate: { status: "queued" },
      entries: ["recheck"],
      wait: "claimed",
    });
    expect(await claimOnly(bare.host.ledger)).toMatchObject({ kind: "recheck" });
  });

  test("waits behind a person's entry in its conversation, at most half a minute", async () => {
    const bare = openBareHost();
    const id = await plantWaiting(bare);
    await bare.host.ledger.write((tx) => plant(tx));
    bare.clock.at = aWait.dueAt;
    await lookAtDue(bare.host);
    expect(await stateOf(bare, id)).toMatchObject({ entries: [], wait: "armed" });
    const next = await bare.host.ledger.read((sql) => mandateOf(sql, id));
    expect(next.lookAt).toBe(aWait.dueAt + lookGraceMs);
  });

  test("waits while somebody else works in its checkout", async () => {
    const bare = openBareHost();
    const id = await plantWaiting(bare);
    bare.outside.add(id);
    bare.clock.at = aWait.dueAt;
    await lookAtDue(bare.host);
    expect(await stateOf(bare, id)).toMatchObject({ entries: [], wait: "armed" });
    bare.outside.delete(id);
    bare.clock.at += lookGraceMs;
    await lookAtDue(bare.host);
    expect(await stateOf(bare, id)).toMatchObject({ entries: ["recheck"] });
  });

  test("1.3: does not fire under a pause, and fires once when it is lifted", async () => {
    const bare = openBareHost();
    const id = await plantWaiting(bare);
    await bare.host.ledger.write(async (tx) => {
      await addHold(tx, { ...pause, subject: id });
      await refreshLook(tx, id);
    });
    bare.clock.at = aWait.dueAt + secondMs;
    expect(await lookAtDue(bare.host)).toEqual({ count: 0, repairs: 0 });
    await bare.host.ledger.write(async (tx) => {
      await liftHold(tx, "mandate", id);
      await refreshLook(tx, id);
    });
    await lookAtDue(bare.host);
    await lookAtDue(bare.host);
    expect(await stateOf(bare, id)).toMatchObject({ entries: ["recheck"], wait: "claimed" });
  });
});

describe("a deadline (3.3)", () => {
  test.each([
    ["of the wait", aWait.deadlineAt, "continue"],
    [
      "of the mandate, long after the wait's own, as when the server was down",
      startAt + 9 * dayMs,
      "extend",
    ],
  ])("%s blocks once, with a notice and without a turn", async (_, at, wayOut) => {
    const bare = openBareHost();
    const id = await plantWaiting(bare);
    bare.clock.at = at;
    await lookAtDue(bare.host);
    await lookAtDue(bare.host);
    expect(await stateOf(bare, id)).toMatchObject({
      mandate: { status: "blocked", reason: "deadline-passed", wayOut },
      entries: [],
      wait: null,
      notices: 1,
      turns: 0,
      missing: null,
    });
  });

  test("passes under a pause as well", async () => {
    const bare = openBareHost();
    const id = await plantWaiting(bare);
    await bare.host.ledger.write(async (tx) => {
      await addHold(tx, { ...pause, subject: id });
      await refreshLook(tx, id);
    });
    expect(await bare.host.ledger.read(nextLookAt)).toBe(aWait.deadlineAt);
    bare.clock.at = aWait.deadlineAt;
    await lookAtDue(bare.host);
    expect(await stateOf(bare, id)).toMatchObject({ mandate: { status: "blocked" }, notices: 1 });
  });

  test("of a queued mandate takes its entry away", async () => {
    const bare = openBareHost();
    const { id } = await bare.host.ledger.write((tx) =>
      plant(tx, { entry: { kind: "continuation", availableAt: startAt + 9 * dayMs } }),
    );
    const { deadlineAt } = (await stateOf(bare, id)).mandate;
    bare.clock.at = deadlineAt;
    await lookAtDue(bare.host);
    expect(await stateOf(bare, id)).toMatchObject({
      mandate: { status: "blocked", reason: "deadline-passed" },
      entries: [],
    });
  });

  test("of a running turn cancels it and leaves the end to its own commit", async () => {
    const bare = openBareHost();
    const { id } = await bare.host.ledger.write((tx) => plant(tx));
    await claimOnly(bare.host.ledger);
    const causes: (string | null)[] = [];
    bare.host.running.start(id, async (turn) => {
      await new Promise((resolve) => turn.signal.addEventListener("abort", resolve));
      causes.push(turn.cause());
    });
    bare.clock.at = (await stateOf(bare, id)).mandate.deadlineAt;
    await Promise.resolve();
    await lookAtDue(bare.host);
    await bare.host.running.idle();
    expect(causes).toEqual(["deadline"]);
    expect(await stateOf(bare, id)).toMatchObject({ mandate: { status: "running" }, notices: 0 });
  });
});

type Break = (tx: Tx, id: string) => Promise<unknown>;

const silences: readonly [string, Break, object][] = [
  [
    "a queued mandate without an entry",
    async () => {},
    { mandate: { status: "queued" }, entries: ["continuation"] },
  ],
  [
    "a running one without a claim",
    (tx, id) => changeMandate(tx, id, { status: "running" }),
    { mandate: { status: "queued" }, entries: ["continuation"] },
  ],
  [
    "a waiting one without a wait or a question",
    (tx, id) => changeMandate(tx, id, { status: "waiting" }),
    { mandate: { status: "queued" }, entries: ["continuation"] },
  ],
  [
    "a blocked one of which nobody was told",
    (tx, id) => changeMandate(tx, id, { status: "blocked", reason: "stalled" }),
    { mandate: { status: "blocked", reason: "stalled" }, entries: [], notices: 1 },
  ],
];

describe("I1: whatever has no mover is moved on within half a minute", () => {
  test.each(silences)("%s", async (_, fallSilent, expected) => {
    const bare = openBareHost();
    const { id } = await bare.host.ledger.write((tx) => plant(tx, { entry: null }));
    await bare.host.ledger.write((tx) => fallSilent(tx, id));
    bare.clock.at += lookGraceMs;
    expect(await lookAtDue(bare.host)).toEqual({ count: 1, repairs: 1 });
    const after = await stateOf(bare, id);
    expect(after).toMatchObject({ ...expected, missing: null });
    expect(after.events).toContain("repaired");
    expect(bare.errors).toEqual(["I1 violated, repairing"]);
    expect((await lookAtDue(bare.host)).repairs).toBe(0);
  });

  test("what has its mover is left as it is", async () => {
    const bare = openBareHost();
    const { id, conversationId } = await bare.host.ledger.write((tx) => plant(tx));
    await bare.host.ledger.write((tx) => addEntry(tx, entryOf({ id, conversationId }, tx.now)));
    bare.clock.at += lookGraceMs;
    expect(await lookAtDue(bare.host)).toEqual({ count: 1, repairs: 0 });
    expect(bare.errors).toEqual([]);
  });
});
