// The contract of the ledger port (spec 8.2), one suite for all adapters: transactions, durability, constraints and
// what may happen once. An adapter that only one process can see leaves out what needs a second one.
import { describe, expect, onTestFinished, test } from "vitest";
import { addDelivery, openDeliveries } from "../../app/ledger/incoming/deliveries.ts";
import type { Sql, Tx } from "../../app/ledger/ledger.ts";
import { plant, startAt } from "../fakes/ledger.ts";
import { describeClaims } from "./ledger-claims.ts";
import { sharedOf, type Begin, type LedgerHarness } from "./ledger-harness.ts";
import { describeOnce } from "./ledger-once.ts";
import { describeProcesses } from "./ledger-processes.ts";

export interface LedgerAdapter {
  readonly make: Begin;
  readonly isShared: boolean;
}

export function describeLedger(name: string, { make, isShared }: LedgerAdapter): void {
  async function begin(): Promise<LedgerHarness> {
    const harness = await make();
    onTestFinished(() => harness.close());
    return harness;
  }

  describe(`the ledger port: ${name}`, () => {
    describeTransactions(begin);
    describeReading(begin);
    describeTrouble(begin);
    describeClaims(begin, isShared);
    describeOnce(begin);
    describeProcesses(begin);
    if (isShared) describeSharing(begin);
  });
}

/** Each about another conversation, so that none waits for another. */
function store(tx: Tx, guid: string, length = 10): Promise<boolean> {
  return addDelivery(tx, {
    connection: "local",
    guid,
    payload: {
      kind: "operator",
      connection: "local",
      forgeId: guid,
      number: 1,
      command: "x".repeat(length),
      byName: "ada",
    },
  });
}

async function storedIn(sql: Sql): Promise<string[]> {
  return (await openDeliveries(sql, startAt * 2, 100)).map(({ guid }) => guid);
}

async function fail(): Promise<never> {
  throw new Error("changed its mind");
}

function describeTransactions(begin: Begin): void {
  describe("transactions", () => {
    test("a change that throws leaves nothing, and its error comes back", async () => {
      const { ledger } = await begin();
      const writing = ledger.write(async (tx) => {
        await store(tx, "a");
        return fail();
      });
      await expect(writing).rejects.toThrow("changed its mind");
      expect(await ledger.read(storedIn)).toEqual([]);
    });

    test("of those that are committed together only the one that throws is undone", async () => {
      const { ledger } = await begin();
      const outcomes = await Promise.allSettled([
        ledger.write((tx) => store(tx, "a")),
        ledger.write(async (tx) => {
          await store(tx, "b");
          return fail();
        }),
        ledger.write(async (tx) => {
          expect(await storedIn(tx)).toEqual(["a"]);
          return store(tx, "c");
        }),
      ]);
      expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
      expect(await ledger.read(storedIn)).toEqual(["a", "c"]);
    });

    test("a statement that a constraint refuses undoes its own transaction alone", async () => {
      const { ledger } = await begin();
      const outcomes = await Promise.allSettled([
        ledger.write((tx) => store(tx, "a")),
        ledger.write(async (tx) => {
          await store(tx, "b");
          await tx.run("INSERT INTO meta (key, value) VALUES ('k', NULL)");
        }),
      ]);
      expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
      expect(await ledger.read(storedIn)).toEqual(["a"]);
    });

    test("many at once are all done, in the order in which they came", async () => {
      const { ledger } = await begin();
      const names = Array.from({ length: 200 }, (_, at) => `d-${at}`);
      await Promise.all(names.map((name) => ledger.write((tx) => store(tx, name))));
      const stored = await ledger.read((sql) => openDeliveries(sql, startAt, 500));
      expect(stored.map(({ guid }) => guid)).toEqual(names);
    });

    test("one transaction has one instant, however long it takes", async () => {
      const { ledger, clock } = await begin();
      await ledger.write(async (tx) => {
        clock.at += 1_000;
        await store(tx, "a");
        expect(tx.now).toBe(startAt);
      });
      expect(ledger.now()).toBe(startAt + 1_000);
    });

    test("what a transaction asked for is its answer, and rows come back as they were", async () => {
      const { ledger } = await begin();
      expect(await ledger.write(async () => 42)).toBe(42);
      await ledger.write((tx) => store(tx, "a"));
      const [row] = await ledger.read((sql) => openDeliveries(sql, startAt, 1));
      expect(row).toMatchObject({
        guid: "a",
        receivedAt: startAt,
        handledAt: null,
        payload: { kind: "operator", byName: "ada" },
      });
    });
  });
}

function describeReading(begin: Begin): void {
  describe("reading", () => {
    test("never sees what is not committed", async () => {
      const { ledger } = await begin();
      const seen: Promise<string[]>[] = [];
      const writing = ledger.write(async (tx) => {
        await store(tx, "a");
        seen.push(ledger.read(storedIn));
        await Promise.resolve();
        return fail();
      });
      await expect(writing).rejects.toThrow("changed its mind");
      expect(await Promise.all(seen)).toEqual([[]]);
    });

    test("sees at once what was acknowledged", async () => {
      const { ledger } = await begin();
      await ledger.write((tx) => store(tx, "a"));
      expect(await ledger.read(storedIn)).toEqual(["a"]);
    });

    test("is no reason to look again: only a commit changes the revision", async () => {
      const { ledger } = await begin();
      const before = ledger.revision();
      await ledger.read(storedIn);
      expect(ledger.revision()).toBe(before);
      await ledger.write((tx) => store(tx, "a"));
      expect(ledger.revision()).not.toBe(before);
    });
  });
}

/** More than fits into the free space of pages that are there. */
const largeLength = 100_000;
const unavailable = { name: "Failure", code: "persistence-unavailable", retry: "later" };

function describeTrouble(begin: Begin): void {
  describe("a full disk", () => {
    test("refuses what it cannot store, goes on reading, and works again once it is freed", async () => {
      const { ledger, fillDisk, freeDisk } = await begin();
      await ledger.write((tx) => store(tx, "before"));
      await fillDisk();
      await expect(ledger.write((tx) => store(tx, "a", largeLength))).rejects.toMatchObject(
        unavailable,
      );
      await expect(ledger.write((tx) => store(tx, "a", largeLength))).rejects.toMatchObject(
        unavailable,
      );
      expect(await ledger.read(storedIn)).toEqual(["before"]);
      await freeDisk();
      expect(await ledger.write((tx) => store(tx, "a", largeLength))).toBe(true);
      expect(await ledger.read(storedIn)).toEqual(["before", "a"]);
    });

    test("acknowledges nothing of a group that it could not store", async () => {
      const { ledger, fillDisk, freeDisk } = await begin();
      await fillDisk();
      const outcomes = await Promise.allSettled([
        ledger.write((tx) => tx.run("INSERT INTO meta (key, value) VALUES ('small', '1')")),
        ledger.write((tx) => store(tx, "large", largeLength)),
      ]);
      expect(outcomes).toEqual([
        { status: "rejected", reason: expect.objectContaining(unavailable) },
        { status: "rejected", reason: expect.objectContaining(unavailable) },
      ]);
      await freeDisk();
      expect(await ledger.read((sql) => sql.all("SELECT key FROM meta"))).toEqual([]);
    });
  });
}

function describeSharing(begin: Begin): void {
  describe("a ledger that several processes share", () => {
    test("what was acknowledged is there when it is opened again", async () => {
      const harness = await begin();
      await harness.ledger.write((tx) => store(tx, "a"));
      const again = await sharedOf(harness).openAgain();
      expect(await again.read(storedIn)).toEqual(["a"]);
      await again.close();
    });

    test("what another process committed is seen, and changes the revision", async () => {
      const harness = await begin();
      const other = await sharedOf(harness).openAgain();
      const before = harness.ledger.revision();
      await other.write((tx) => store(tx, "a"));
      await expect.poll(() => harness.ledger.revision()).not.toBe(before);
      expect(await harness.ledger.read(storedIn)).toEqual(["a"]);
      await other.close();
    });

    test("what another process has not committed is not seen", async () => {
      const harness = await begin();
      const other = await sharedOf(harness).openAgain();
      const writing = other.write(async (tx) => {
        await store(tx, "a");
        expect(await harness.ledger.read(storedIn)).toEqual([]);
        return fail();
      });
      await expect(writing).rejects.toThrow("changed its mind");
      await other.close();
    });

    test("I2: processes that claim at the same time get each entry exactly once", async () => {
      const harness = await begin();
      await harness.ledger.write(async (tx) => {
        for (let number = 1; number <= 40; number += 1) await plant(tx, { number });
      });
      const claimed = await sharedOf(harness).claimElsewhere(["w-1", "w-2"], 20);
      expect(claimed.flat().toSorted((a, b) => a - b)).toEqual(
        Array.from({ length: 40 }, (_, at) => at + 1),
      );
    });
  });
}
