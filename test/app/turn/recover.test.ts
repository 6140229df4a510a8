// Recovery of claims whose lease has ended (spec 2.5, 3.6): what never began runs once more, what began never does.
import { describe, expect, test } from "vitest";
import type { Host } from "../../../app/host.ts";
import { claimEntries, finishClaim, isLive, queuedEntries } from "../../../app/ledger/inbox.ts";
import { changeMandate, mandateOf } from "../../../app/ledger/mandates.ts";
import { beginTurn, changeTurn, turnsOf } from "../../../app/ledger/turns.ts";
import { recoverExpired } from "../../../app/turn/recover.ts";
import { minuteMs } from "../../../policies/durations.ts";
import type { TaskState } from "../../../policies/mandate/mandate.ts";
import { beginTask, Task } from "../../../policies/tasks.ts";
import { openBareHost, type BareHost } from "../../fakes/host.ts";
import { claimLimits, leaseMs, plant } from "../../fakes/ledger.ts";

type Reached = "claimed" | "prepared" | "begun";

/** A turn that got that far when its worker was lost, and whose lease has ended since. */
async function loseTurn({ host, clock }: BareHost, reached: Reached): Promise<void> {
  const claims = await host.ledger.write((tx) => claimEntries(tx, claimLimits));
  for (const claim of claims) {
    await host.ledger.write(async (tx) => {
      if (reached === "claimed") return;
      const { id } = await beginTurn(tx, claim);
      if (reached === "begun") await changeTurn(tx, id, { promptGivenAt: tx.now });
    });
  }
  clock.at += leaseMs;
}

async function stateOf(host: Host, id: string) {
  return host.ledger.read(async (sql) => {
    const { status, reason, counters } = await mandateOf(sql, id);
    const entries = await queuedEntries(sql, id);
    return { status, reason, attempts: counters.attempts, entries };
  });
}

const once: readonly [string, Reached, object][] = [
  [
    "claimed only: the same entry is queued again",
    "claimed",
    { status: "queued", attempts: 0, entries: [{ kind: "request", leasesLost: 1 }] },
  ],
  [
    "before its prompt was given: the same entry is queued again, with a note",
    "prepared",
    {
      status: "queued",
      attempts: 0,
      entries: [{ kind: "request", note: "the turn before was cut off before it began" }],
    },
  ],
  [
    "after it: a new turn after a minute, told that it was cut off",
    "begun",
    {
      status: "queued",
      attempts: 1,
      entries: [
        { kind: "continuation", note: "the turn before failed: its worker was lost while it ran" },
      ],
    },
  ],
];

describe("a lost turn (2.5)", () => {
  test.each(once)("%s", async (_, reached, expected) => {
    const bare = openBareHost();
    const { id } = await bare.host.ledger.write((tx) => plant(tx));
    await loseTurn(bare, reached);
    expect(await recoverExpired(bare.host)).toBe(1);
    expect(await stateOf(bare.host, id)).toMatchObject(expected);
    expect(await recoverExpired(bare.host)).toBe(0);
  });

  test.each(["claimed", "prepared", "begun"] as const)(
    "3.6: three lost in a row block it, %s each time",
    async (reached) => {
      const bare = openBareHost();
      const { id } = await bare.host.ledger.write((tx) => plant(tx));
      for (let lost = 0; lost < 3; lost += 1) {
        expect(await stateOf(bare.host, id)).toMatchObject({ status: "queued" });
        bare.clock.at += 5 * minuteMs;
        await loseTurn(bare, reached);
        await recoverExpired(bare.host);
      }
      expect(await stateOf(bare.host, id)).toMatchObject({
        status: "blocked",
        reason: "agent-failed",
        entries: [],
      });
    },
  );

  test("a task's step that was cut off waits for a person", async () => {
    const bare = openBareHost();
    const task = Task.parse({ steps: [{ run: "make release" }] });
    const progress = beginTask(task).map(() => ({ state: "started" as const }));
    const state: TaskState = { name: "release", task, inputs: {}, progress };
    const { id } = await bare.host.ledger.write((tx) => plant(tx, { kind: "task", task: state }));
    await loseTurn(bare, "begun");
    await recoverExpired(bare.host);
    expect(await stateOf(bare.host, id)).toMatchObject({
      status: "blocked",
      reason: "recovery-uncertain",
      entries: [],
    });
  });

  test("every turn that began is settled in the end", async () => {
    const bare = openBareHost();
    const { id } = await bare.host.ledger.write((tx) => plant(tx));
    await loseTurn(bare, "begun");
    await recoverExpired(bare.host);
    expect(await bare.host.ledger.read((sql) => turnsOf(sql, id))).toMatchObject([
      { end: { kind: "died" }, endedAt: bare.clock.at, settlement: { status: "queued" } },
    ]);
  });

  test("I8: a stopped mandate stays stopped, and nothing of it stays queued", async () => {
    for (const reached of ["claimed", "prepared", "begun"] as const) {
      const bare = openBareHost();
      const { id } = await bare.host.ledger.write((tx) => plant(tx));
      await loseTurn(bare, reached);
      await bare.host.ledger.write((tx) => changeMandate(tx, id, { status: "stopped" }));
      await recoverExpired(bare.host);
      expect(await stateOf(bare.host, id)).toMatchObject({ status: "stopped", entries: [] });
    }
  });

  test("I2: what lives in this very process is left alone, and its late commit still counts", async () => {
    const bare = openBareHost();
    const { host, clock } = bare;
    const { id } = await host.ledger.write((tx) => plant(tx));
    const [claim] = await host.ledger.write((tx) => claimEntries(tx, claimLimits));
    if (claim === undefined) throw new Error("nothing was claimed");
    const ending = Promise.withResolvers<void>();
    host.running.start(id, () => ending.promise);
    clock.at += leaseMs;
    expect(await recoverExpired(host)).toBe(0);
    expect(await host.ledger.read((sql) => isLive(sql, claim))).toBe(true);
    await host.ledger.write((tx) => finishClaim(tx, claim));
    ending.resolve();
    await host.running.idle();
  });
});
