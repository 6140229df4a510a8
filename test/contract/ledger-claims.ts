// The part of the ledger's contract about entries and claims (spec 1.3, 2.1; I2): order, fairness, holds, fences.
import { describe, expect, test } from "vitest";
import { addHold, liftHold } from "../../app/ledger/history.ts";
import {
  addEntry,
  claimEntries,
  expiredClaims,
  finishClaim,
  isLive,
  nextInboxAt,
  releaseExpired,
  renewLease,
  StaleClaim,
  type Claim,
} from "../../app/ledger/inbox.ts";
import type { Ledger } from "../../app/ledger/ledger.ts";
import { dueMandates } from "../../app/ledger/looks/due.ts";
import { changeMandate, mandateOf } from "../../app/ledger/mandates.ts";
import { armWait } from "../../app/ledger/waits.ts";
import { secondMs } from "../../policies/durations.ts";
import type { EntryKind } from "../../policies/mandate/mandate.ts";
import {
  aWait,
  claimLimits,
  claimOnly,
  entryOf,
  leaseMs,
  plant,
  startAt,
} from "../fakes/ledger.ts";
import { sharedOf, type Begin } from "./ledger-harness.ts";

export function describeClaims(begin: Begin, isShared: boolean): void {
  describeOrder(begin);
  describeFences(begin);
  if (isShared) describeStaleProcess(begin);
}

function claim(ledger: Ledger, limits: Partial<typeof claimLimits> = {}): Promise<Claim[]> {
  return ledger.write((tx) => claimEntries(tx, { ...claimLimits, ...limits }));
}

/** Claims and ends entries until none is left; the order in which their mandates came. */
async function drain(ledger: Ledger): Promise<string[]> {
  const order: string[] = [];
  for (;;) {
    const [next] = await claim(ledger, { slots: 1 });
    if (next === undefined) return order;
    order.push(next.mandateId);
    await ledger.write(async (tx) => {
      await finishClaim(tx, next);
      await changeMandate(tx, next.mandateId, { status: "queued" });
    });
  }
}

function describeOrder(begin: Begin): void {
  describe("claiming", () => {
    test("I2: one claim at a time in a conversation, side by side in others", async () => {
      const { ledger } = await begin();
      await ledger.write(async (tx) => {
        for (const number of [1, 1, 2]) await plant(tx, { number });
      });
      const first = await claim(ledger);
      expect(first.map(({ conversationId }) => conversationId).sort()).toEqual(["r-1#1", "r-1#2"]);
      expect(await claim(ledger)).toEqual([]);
      const [done] = first;
      if (done !== undefined) await ledger.write((tx) => finishClaim(tx, done));
      expect(await claim(ledger)).toMatchObject([{ conversationId: done?.conversationId }]);
    });

    test("1.3: people first, then results, rechecks and continuations", async () => {
      const { ledger, clock } = await begin();
      const kinds: readonly EntryKind[] = [
        "continuation",
        "recheck",
        "publish",
        "reply",
        "request",
      ];
      const ids = new Map<string, EntryKind>();
      for (const kind of kinds) {
        clock.at += secondMs;
        const { id } = await ledger.write((tx) => plant(tx, { entry: { kind } }));
        ids.set(id, kind);
      }
      const order = (await drain(ledger)).map((id) => ids.get(id));
      expect(order).toEqual(["reply", "request", "publish", "recheck", "continuation"]);
    });

    test("1.3: the continuation of the mandate that least recently ran comes first", async () => {
      const { ledger } = await begin();
      const entry = { kind: "continuation" } as const;
      const planted = await ledger.write(async (tx) => [
        await plant(tx, { entry: { ...entry, lastRanAt: 20 } }),
        await plant(tx, { entry: { ...entry, lastRanAt: 10 } }),
      ]);
      const [lately, longAgo] = planted.map(({ id }) => id);
      expect(await drain(ledger)).toEqual([longAgo, lately]);
    });

    test("the conversation that was not served for longest comes first, so that none starves", async () => {
      const { ledger, clock } = await begin();
      await ledger.write(async (tx) => {
        for (const number of [1, 1, 1, 2, 3]) await plant(tx, { number });
      });
      const served: string[] = [];
      for (let at = 0; at < 5; at += 1) {
        clock.at += secondMs;
        const [next] = await claim(ledger, { slots: 1 });
        if (next === undefined) break;
        served.push(next.conversationId);
        await ledger.write((tx) => finishClaim(tx, next));
      }
      expect(served).toEqual(["r-1#1", "r-1#2", "r-1#3", "r-1#1", "r-1#1"]);
    });

    test("no more than the slots, and no more in one repository than its share", async () => {
      const { ledger } = await begin();
      await ledger.write(async (tx) => {
        for (const number of [1, 2, 3]) await plant(tx, { number });
        await plant(tx, { number: 1, repositoryId: "r-2" });
      });
      expect(await claim(ledger, { slots: 0 })).toEqual([]);
      const shared = await claim(ledger, { perRepository: 1 });
      expect(shared.map(({ conversationId }) => conversationId)).toEqual(["r-1#1", "r-2#1"]);
      expect(await claim(ledger, { perRepository: 2, slots: 5 })).toHaveLength(1);
    });

    test("nothing before its time", async () => {
      const { ledger, clock } = await begin();
      const availableAt = startAt + secondMs;
      await ledger.write((tx) => plant(tx, { entry: { availableAt } }));
      clock.at = availableAt - 1;
      expect(await claim(ledger)).toEqual([]);
      expect(await ledger.read((sql) => nextInboxAt(sql, clock.at))).toBe(availableAt);
      clock.at = availableAt;
      expect(await claim(ledger)).toHaveLength(1);
    });

    test("nothing of a mandate that is blocked or has ended", async () => {
      const { ledger } = await begin();
      const { id } = await ledger.write((tx) => plant(tx));
      await ledger.write((tx) => changeMandate(tx, id, { status: "blocked", reason: "stalled" }));
      expect(await claim(ledger)).toEqual([]);
      await ledger.write((tx) => changeMandate(tx, id, { status: "stopped" }));
      expect(await claim(ledger)).toEqual([]);
    });

    test("a claim makes its mandate run, and the conversation busy", async () => {
      const { ledger } = await begin();
      const { id, conversationId } = await ledger.write((tx) => plant(tx));
      const held = await claimOnly(ledger);
      expect(held).toMatchObject({ mandateId: id, kind: "request", fence: 1 });
      expect(await ledger.read((sql) => mandateOf(sql, id))).toMatchObject({
        status: "running",
        lastRanAt: startAt,
      });
      const other = await ledger.write(async (tx) => {
        const planted = await plant(tx, { entry: null });
        await armWait(tx, { mandateId: planted.id, turnId: null }, aWait);
        await changeMandate(tx, planted.id, { status: "waiting" });
        return planted;
      });
      expect(other.conversationId).toBe(conversationId);
      const due = await ledger.read((sql) => dueMandates(sql, aWait.dueAt, 10));
      expect(due.find((one) => one.id === other.id)).toMatchObject({ isBusy: true });
    });
  });

  describe("a hold", () => {
    test.each(["installation", "conversation", "mandate"] as const)(
      "on the %s lets nothing of it start until it is lifted",
      async (scope) => {
        const { ledger } = await begin();
        const held = await ledger.write((tx) => plant(tx, { number: 1 }));
        await ledger.write((tx) => plant(tx, { number: 2 }));
        const subjects = { installation: "", conversation: "r-1#1", mandate: held.id };
        const subject = subjects[scope];
        const hold = { scope, subject, reason: "paused", byName: "ada" } as const;
        expect(await ledger.write((tx) => addHold(tx, hold))).toBe(true);
        expect(await ledger.write((tx) => addHold(tx, hold))).toBe(false);
        expect(await claim(ledger)).toHaveLength(scope === "installation" ? 0 : 1);
        expect(await ledger.write((tx) => liftHold(tx, scope, subject))).toBe(true);
        expect((await claim(ledger)).map(({ mandateId }) => mandateId)).toContain(held.id);
      },
    );
  });
}

function describeFences(begin: Begin): void {
  describe("I2: a claim", () => {
    test("is ended once; after that it is stale", async () => {
      const { ledger } = await begin();
      await ledger.write((tx) => plant(tx));
      const held = await claimOnly(ledger);
      expect(await ledger.read((sql) => isLive(sql, held))).toBe(true);
      await ledger.write((tx) => finishClaim(tx, held));
      expect(await ledger.read((sql) => isLive(sql, held))).toBe(false);
      await expect(ledger.write((tx) => finishClaim(tx, held))).rejects.toThrow(StaleClaim);
    });

    test("lives until its lease ends, and as long as it is renewed", async () => {
      const { ledger, clock } = await begin();
      await ledger.write((tx) => plant(tx));
      const held = await claimOnly(ledger);
      expect(await ledger.read((sql) => nextInboxAt(sql, clock.at))).toBe(startAt + leaseMs);
      clock.at = startAt + leaseMs - 1;
      expect(await ledger.read((sql) => expiredClaims(sql, clock.at))).toEqual([]);
      expect(await ledger.write((tx) => renewLease(tx, held, leaseMs))).toBe(true);
      clock.at += leaseMs - 1;
      expect(await ledger.read((sql) => expiredClaims(sql, clock.at))).toEqual([]);
      clock.at += 1;
      expect(await ledger.read((sql) => expiredClaims(sql, clock.at))).toMatchObject([
        { id: held.entryId, leasesLost: 0 },
      ]);
    });

    test("that was taken away commits nothing, not even what stands before it", async () => {
      const { ledger, clock } = await begin();
      const { id } = await ledger.write((tx) => plant(tx));
      const stale = await claimOnly(ledger);
      clock.at += leaseMs;
      await takeAway(ledger, clock.at);
      await ledger.write((tx) => changeMandate(tx, id, { status: "queued" }));
      const live = await claimOnly(ledger);
      expect(live.entryId).toBe(stale.entryId);
      expect(live.fence).toBeGreaterThan(stale.fence);

      const late = ledger.write(async (tx) => {
        await changeMandate(tx, id, { nextStep: "from the past" });
        await finishClaim(tx, stale);
      });
      await expect(late).rejects.toThrow(StaleClaim);
      const { nextStep } = await ledger.read((sql) => mandateOf(sql, id));
      expect(nextStep).not.toBe("from the past");
      expect(await ledger.write((tx) => renewLease(tx, stale, leaseMs))).toBe(false);
      await ledger.write((tx) => finishClaim(tx, live));
    });

    test("that was taken away is counted, and its entry says why it runs once more", async () => {
      const { ledger, clock } = await begin();
      await ledger.write((tx) => plant(tx));
      await claimOnly(ledger);
      clock.at += leaseMs;
      expect(await takeAway(ledger, clock.at)).toBe(1);
      const entries = await ledger.read((sql) =>
        sql.all("SELECT leases_lost, note, lease_until FROM inbox"),
      );
      expect(entries).toEqual([{ leasesLost: 1, note: "again", leaseUntil: null }]);
    });

    test("is not taken from a holder that renewed it meanwhile", async () => {
      const { ledger, clock } = await begin();
      await ledger.write((tx) => plant(tx));
      const held = await claimOnly(ledger);
      clock.at += leaseMs;
      await ledger.write((tx) => renewLease(tx, held, leaseMs));
      expect(await takeAway(ledger, clock.at)).toBe(0);
      expect(await ledger.read((sql) => isLive(sql, held))).toBe(true);
    });
  });

  test("one cause makes one entry, however often it is told", async () => {
    const { ledger } = await begin();
    const planted = await ledger.write((tx) => plant(tx, { entry: null }));
    const entry = { ...entryOf(planted, startAt), cause: "recheck 7" };
    expect(await ledger.write((tx) => addEntry(tx, entry))).toBe(true);
    expect(await ledger.write((tx) => addEntry(tx, entry))).toBe(false);
    expect(await drain(ledger)).toEqual([planted.id]);
  });
}

async function takeAway(ledger: Ledger, now: number): Promise<number> {
  return ledger.write(async (tx) => {
    const expired = await expiredClaims(tx, now);
    for (const entry of expired) {
      await releaseExpired(tx, entry, { state: "queued", availableAt: now, note: "again" });
    }
    return expired.length;
  });
}

function describeStaleProcess(begin: Begin): void {
  test("I2: a process that slept through its lease is refused by what another one did", async () => {
    const harness = await begin();
    const { ledger, clock } = harness;
    const { id } = await ledger.write((tx) => plant(tx));
    const stale = await claimOnly(ledger);
    const other = await sharedOf(harness).openAgain();
    clock.at += leaseMs;
    await takeAway(other, clock.at);
    await other.write((tx) => changeMandate(tx, id, { status: "queued" }));
    const live = await claimOnly(other);
    await expect(ledger.write((tx) => finishClaim(tx, stale))).rejects.toThrow(StaleClaim);
    await other.write((tx) => finishClaim(tx, live));
    await other.close();
  });
}
