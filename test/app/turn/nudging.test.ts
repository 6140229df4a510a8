// Ringing at waits (spec 3.4; I6, I7): one registration is one recheck, however often it is rung at.
import { describe, expect, test } from "vitest";
import { acceptNudge } from "../../../app/intake/nudges.ts";
import { queuedEntries } from "../../../app/ledger/inbox.ts";
import { addDelivery, openDeliveries } from "../../../app/ledger/incoming/deliveries.ts";
import { untoldNudges } from "../../../app/ledger/incoming/nudges.ts";
import { changeMandate, mandateOf } from "../../../app/ledger/mandates.ts";
import { beginTurn } from "../../../app/ledger/turns.ts";
import { armWait, liveWait } from "../../../app/ledger/waits.ts";
import { lookAtDue } from "../../../app/scheduler/looks.ts";
import { commitTurn } from "../../../app/turn/checkpoint.ts";
import { secondMs } from "../../../policies/durations.ts";
import type { NudgeEvent } from "../../../policies/events.ts";
import { openBareHost, type BareHost } from "../../fakes/host.ts";
import { aWait, claimOnly, plant, startAt } from "../../fakes/ledger.ts";
import { turn } from "../../policies/mandate/example.ts";

const release: NudgeEvent = {
  kind: "nudge",
  connection: "local",
  forgeId: "r-1",
  event: "release.published",
  tag: "v2.1",
  branch: null,
  commit: null,
  number: null,
};

let sent = 0;

async function tell({ host }: BareHost, event: NudgeEvent = release): Promise<void> {
  sent += 1;
  const delivery = { connection: "local", guid: `g-${sent}`, payload: event };
  await host.ledger.write((tx) => addDelivery(tx, delivery));
  const open = await host.ledger.read((sql) => openDeliveries(sql, host.ledger.now(), 10));
  for (const row of open) await acceptNudge(host, row, event);
}

/** A mandate that waits for a release. */
async function waiting(bare: BareHost): Promise<string> {
  return bare.host.ledger.write(async (tx) => {
    const { id } = await plant(tx, { entry: null });
    await armWait(tx, { mandateId: id, turnId: null }, aWait);
    await changeMandate(tx, id, { status: "waiting" });
    return id;
  });
}

function stateOf({ host }: BareHost, id: string) {
  return host.ledger.read(async (sql) => ({
    status: (await mandateOf(sql, id)).status,
    wait: await liveWait(sql, id),
    rechecks: await queuedEntries(sql, id),
    untold: (await untoldNudges(sql, id)).length,
  }));
}

describe("an armed wait", () => {
  test("is due at once, and its recheck is told why", async () => {
    const bare = openBareHost();
    const id = await waiting(bare);
    await tell(bare);
    expect((await stateOf(bare, id)).wait?.dueAt).toBe(startAt);
    await lookAtDue(bare.host);
    const { status, rechecks, untold } = await stateOf(bare, id);
    expect({ status, untold }).toEqual({ status: "queued", untold: 0 });
    expect(rechecks).toMatchObject([{ kind: "recheck" }]);
    expect(rechecks[0]?.note).toContain("release.published v2.1");
  });

  test("a burst of a hundred is one recheck, and little of it is kept", async () => {
    const bare = openBareHost();
    const id = await waiting(bare);
    for (let count = 0; count < 100; count += 1) await tell(bare);
    expect((await stateOf(bare, id)).untold).toBe(20);
    await lookAtDue(bare.host);
    for (let count = 0; count < 10; count += 1) await tell(bare);
    await lookAtDue(bare.host);
    expect((await stateOf(bare, id)).rechecks).toHaveLength(1);
  });

  test("just after a recheck it waits for the end of that minute", async () => {
    const bare = openBareHost();
    const id = await waiting(bare);
    await tell(bare);
    await lookAtDue(bare.host);
    await bare.host.ledger.write(async (tx) => {
      await tx.run("UPDATE inbox SET state = 'dropped' WHERE mandate_id = ?", id);
      await armWait(tx, { mandateId: id, turnId: null }, aWait);
      await changeMandate(tx, id, { status: "waiting" });
    });
    bare.clock.at += 10 * secondMs;
    await tell(bare);
    const { wait } = await stateOf(bare, id);
    expect(wait).toMatchObject({ dueAt: startAt + 60 * secondMs, deadlineAt: aWait.deadlineAt });
  });

  test.each([
    ["another event", { ...release, event: "push" }],
    ["another repository", { ...release, forgeId: "r-2" }],
  ])("stays as it is at %s", async (_, event) => {
    const bare = openBareHost();
    const id = await waiting(bare);
    await tell(bare, event);
    expect(await stateOf(bare, id)).toMatchObject({ wait: { dueAt: aWait.dueAt }, untold: 0 });
  });
});

test("what comes during the turn that registers the wait is not lost", async () => {
  const bare = openBareHost();
  const { host } = bare;
  const { id } = await host.ledger.write((tx) => plant(tx));
  const claim = await claimOnly(host.ledger);
  const { id: turnId } = await host.ledger.write((tx) => beginTurn(tx, claim));
  await tell(bare);
  await tell(bare, { ...release, event: "push" });
  const report = { kind: "waiting", reason: aWait.reason, wait: aWait } as const;
  const facts = { end: turn.end, report };
  const ended = {
    claim,
    turnId,
    outcome: { ...turn, report },
    facts,
    task: null,
    baseCommit: null,
  };
  await host.ledger.write((tx) => commitTurn(tx, host, ended));
  expect(await stateOf(bare, id)).toMatchObject({ wait: { dueAt: startAt }, untold: 1 });
});

test.each(["blocked", "completed", "stopped"] as const)(
  "I7, I8: a %s mandate hears nothing",
  async (status) => {
    const bare = openBareHost();
    const id = await waiting(bare);
    const reason = status === "blocked" ? ("agent-blocked" as const) : null;
    await bare.host.ledger.write((tx) => changeMandate(tx, id, { status, reason }));
    await tell(bare);
    expect(await stateOf(bare, id)).toMatchObject({ status, rechecks: [], untold: 0 });
  },
);
