// The part of the ledger's contract about what happens once and what never changes (spec 1.2, 1.4, 2.4, 2.6, 3.2):
// I4, I5, I6, I8 and I9 as the tables hold them.
import { describe, expect, test } from "vitest";
import {
  addEvidence,
  addGrant,
  consumeGrant,
  eventsOf,
  evidenceOf,
  record,
  type GrantRow,
} from "../../app/ledger/history.ts";
import {
  addDelivery,
  claimIdentity,
  dropBodies,
  finishDelivery,
  isKnownText,
  nextDeliveryAt,
  openDeliveries,
  postponeDelivery,
  readDelivery,
  storeDelivery,
  unreadDeliveries,
} from "../../app/ledger/incoming/deliveries.ts";
import type { Ledger } from "../../app/ledger/ledger.ts";
import { dueMandates } from "../../app/ledger/looks/due.ts";
import {
  changeMandate,
  changeReach,
  findAnchor,
  lookFacts,
  mandateOf,
  nextLookAt,
} from "../../app/ledger/mandates.ts";
import {
  changeMessage,
  findMessage,
  markUnsure,
  nextOutboxAt,
  post,
  takeMessages,
  touchStatus,
} from "../../app/ledger/outbox.ts";
import { armWait, bringForward, claimWaits, liveWait, waitsOf } from "../../app/ledger/waits.ts";
import { dayMs, minuteMs, secondMs } from "../../policies/durations.ts";
import type { ForgeEvent } from "../../policies/events.ts";
import { historyLimit, type Evidence } from "../../policies/evidence/stall.ts";
import { anchor, aWait, plant, startAt, type Planted } from "../fakes/ledger.ts";
import type { Begin } from "./ledger-harness.ts";

export function describeOnce(begin: Begin): void {
  describeDeliveries(begin);
  describeWaits(begin);
  describeOutbox(begin);
  describeMandates(begin);
}

const delivery = {
  connection: "local",
  guid: "g-1",
  payload: {
    kind: "operator",
    connection: "local",
    forgeId: "1",
    number: 1,
    command: "status",
    byName: "ada",
  },
} as const;

const aText = {
  kind: "text",
  text: { connection: "github", forgeId: "7", kind: "comment", id: "11" },
  number: 1,
} as const;

function rawDelivery(guid: string) {
  return { connection: "github", guid, event: "issues", body: "{}" };
}

function unread(ledger: Ledger) {
  return ledger.read((sql) => unreadDeliveries(sql, startAt, 10));
}

/** Reads the only unread delivery. */
async function readAs(ledger: Ledger, events: readonly ForgeEvent[]): Promise<void> {
  const [raw] = await unread(ledger);
  if (raw === undefined) throw new Error("nothing is unread");
  await ledger.write((tx) => readDelivery(tx, raw, events));
}

async function openGuids(ledger: Ledger): Promise<string[]> {
  const open = await ledger.read((sql) => openDeliveries(sql, startAt, 10));
  return open.map(({ guid }) => guid);
}

async function bodies(ledger: Ledger): Promise<(string | null)[]> {
  const rows = await ledger.read((sql) =>
    sql.all<{ body: string | null }>("SELECT body FROM delivery ORDER BY id"),
  );
  return rows.map(({ body }) => body);
}

function describeDeliveries(begin: Begin): void {
  describe("I4: one delivery, one action", () => {
    test("a delivery is stored once for each connection", async () => {
      const { ledger } = await begin();
      const stored = await ledger.write(async (tx) => [
        await addDelivery(tx, delivery),
        await addDelivery(tx, delivery),
        await addDelivery(tx, { ...delivery, connection: "other" }),
      ]);
      expect(stored).toEqual([true, false, true]);
    });

    test("only one may mark it handled", async () => {
      const { ledger } = await begin();
      await ledger.write((tx) => addDelivery(tx, delivery));
      const [open] = await ledger.read((sql) => openDeliveries(sql, startAt, 10));
      const id = open?.id ?? 0;
      expect(await ledger.write((tx) => finishDelivery(tx, id, "accepted"))).toBe(true);
      expect(await ledger.write((tx) => finishDelivery(tx, id, "accepted"))).toBe(false);
      expect(await ledger.read((sql) => openDeliveries(sql, startAt, 10))).toEqual([]);
    });

    test("a raw delivery is stored once for each connection, and read later", async () => {
      const { ledger } = await begin();
      const raw = { connection: "github", guid: "r-1", event: "issues", body: "{}" };
      const stored = await ledger.write(async (tx) => [
        await storeDelivery(tx, raw),
        await storeDelivery(tx, raw),
        await storeDelivery(tx, { ...raw, connection: "other" }),
      ]);
      expect(stored).toEqual([true, false, true]);
      expect(await unread(ledger)).toMatchObject([raw, { connection: "other" }]);
      expect(await openGuids(ledger)).toEqual([]);
    });

    test("what a raw delivery speaks of is accepted in order, each thing once", async () => {
      const { ledger } = await begin();
      await ledger.write((tx) => storeDelivery(tx, rawDelivery("r-1")));
      const other = { ...delivery.payload, number: 2 };
      await readAs(ledger, [delivery.payload, other, delivery.payload]);
      expect(await unread(ledger)).toEqual([]);
      expect(await openGuids(ledger)).toEqual(["r-1", "r-1 2"]);
      await ledger.write((tx) => finishDelivery(tx, 1, "accepted"));
      expect(await openGuids(ledger)).toEqual(["r-1 2", "r-1 3"]);
    });

    test("one that means nothing is finished, and its body forgotten at once", async () => {
      const { ledger } = await begin();
      await ledger.write((tx) => storeDelivery(tx, rawDelivery("r-1")));
      await readAs(ledger, []);
      expect(await openGuids(ledger)).toEqual([]);
      expect(await bodies(ledger)).toEqual([null]);
    });

    test("a new text is taken once, whatever its GUID", async () => {
      const { ledger } = await begin();
      await ledger.write((tx) => storeDelivery(tx, rawDelivery("r-1")));
      await readAs(ledger, [aText]);
      await ledger.write((tx) => storeDelivery(tx, rawDelivery("r-2")));
      await readAs(ledger, [aText]);
      const found = { connection: "github", guid: "looked up", payload: aText };
      expect(await ledger.write((tx) => addDelivery(tx, found))).toBe(false);
      expect(await openGuids(ledger)).toEqual(["r-1"]);
      expect(await ledger.read((sql) => isKnownText(sql, aText.text))).toBe(true);
    });

    test("what came later waits for the earlier of its subject, also while that is put off", async () => {
      const { ledger } = await begin();
      await ledger.write(async (tx) => {
        await addDelivery(tx, delivery);
        await addDelivery(tx, { ...delivery, guid: "g-2" });
        await addDelivery(tx, {
          ...delivery,
          guid: "g-3",
          payload: { ...delivery.payload, number: 2 },
        });
        await postponeDelivery(tx, { id: 1, attempts: 0 }, startAt + 60_000);
      });
      expect(await openGuids(ledger)).toEqual(["g-3"]);
      expect(await ledger.read(nextDeliveryAt)).toBe(startAt);
      await ledger.write((tx) => finishDelivery(tx, 3, "accepted"));
      expect(await ledger.read(nextDeliveryAt)).toBe(startAt + 60_000);
      await ledger.write((tx) => finishDelivery(tx, 1, "given-up"));
      expect(await openGuids(ledger)).toEqual(["g-2"]);
    });

    test("what waited counts as due from when it could be taken", async () => {
      const { ledger, clock } = await begin();
      await ledger.write(async (tx) => {
        await addDelivery(tx, delivery);
        await addDelivery(tx, { ...delivery, guid: "g-2" });
      });
      clock.at += minuteMs;
      await ledger.write((tx) => finishDelivery(tx, 1, "accepted"));
      expect(await ledger.read(nextDeliveryAt)).toBe(startAt + minuteMs);
    });

    test("raw deliveries wait for none, and none waits for them", async () => {
      const { ledger } = await begin();
      for (const guid of ["r-1", "r-2", "r-3"]) {
        await ledger.write((tx) => storeDelivery(tx, rawDelivery(guid)));
      }
      await ledger.write((tx) => postponeDelivery(tx, { id: 1, attempts: 0 }, startAt + 1));
      await ledger.write((tx) => addDelivery(tx, delivery));
      expect((await unread(ledger)).map(({ guid }) => guid)).toEqual(["r-2", "r-3"]);
      expect(await openGuids(ledger)).toEqual(["g-1"]);
    });

    test("old bodies are forgotten, their keys are kept", async () => {
      const { ledger, clock } = await begin();
      await ledger.write((tx) => storeDelivery(tx, rawDelivery("r-1")));
      await readAs(ledger, [aText]);
      await ledger.write((tx) => finishDelivery(tx, 1, "commands"));
      expect(await ledger.write((tx) => dropBodies(tx, startAt))).toBe(0);
      clock.at += 1_000;
      expect(await ledger.write((tx) => dropBodies(tx, clock.at))).toBe(1);
      expect(await bodies(ledger)).toEqual([null]);
      expect(await ledger.write((tx) => storeDelivery(tx, rawDelivery("r-1")))).toBe(false);
    });

    test("a command is taken once, by whichever way it came", async () => {
      const { ledger } = await begin();
      const command = {
        identity: "local 1 comment 7 0",
        textIdentity: "local 1 comment 7",
        conversationId: "r-1#1",
        name: "do",
        mandateId: null,
        bodyHash: "b",
        commandHash: "c",
        byId: "1",
      };
      const taken = await ledger.write(async (tx) => [
        await claimIdentity(tx, { ...command, deliveryId: 1 }),
        await claimIdentity(tx, { ...command, deliveryId: 2 }),
        await claimIdentity(tx, { ...command, identity: "local 1 comment 7 1", deliveryId: 2 }),
      ]);
      expect(taken).toEqual([true, false, true]);
    });
  });
}

async function waiting(ledger: Ledger): Promise<Planted> {
  return ledger.write(async (tx) => {
    const planted = await plant(tx, { entry: null });
    await armWait(tx, { mandateId: planted.id, turnId: null }, aWait);
    await changeMandate(tx, planted.id, { status: "waiting" });
    return planted;
  });
}

function describeWaits(begin: Begin): void {
  describe("a wait", () => {
    test("is there as it was registered, and is looked at when it is due", async () => {
      const { ledger } = await begin();
      const { id } = await waiting(ledger);
      expect(await ledger.read((sql) => liveWait(sql, id))).toMatchObject({
        ...aWait,
        state: "armed",
      });
      expect(await ledger.read(nextLookAt)).toBe(aWait.dueAt);
      expect(await ledger.read((sql) => dueMandates(sql, aWait.dueAt - 1, 10))).toEqual([]);
      const [due, ...others] = await ledger.read((sql) => dueMandates(sql, aWait.dueAt, 10));
      expect(others).toEqual([]);
      expect(due).toMatchObject({ id, isBusy: false, hasNudges: false });
      expect(due?.facts).toEqual(await ledger.read((sql) => lookFacts(sql, id)));
    });

    test("is looked at when it is due also after a pause of its installation that nobody ended aloud", async () => {
      const { ledger } = await begin();
      await waiting(ledger);
      await ledger.write((tx) => changeReach(tx, "r-1", "suspended"));
      expect(await ledger.read(nextLookAt)).toBe(aWait.deadlineAt);
      await ledger.write((tx) => changeReach(tx, "r-1", "open"));
      expect(await ledger.read(nextLookAt)).toBe(aWait.dueAt);
    });

    test("of a mandate takes the place of the one before: one is live", async () => {
      const { ledger } = await begin();
      const { id } = await waiting(ledger);
      const second = { ...aWait, reason: "the release" };
      await ledger.write((tx) => armWait(tx, { mandateId: id, turnId: null }, second));
      const waits = await ledger.read((sql) => waitsOf(sql, id));
      expect(waits.map(({ state, reason }) => [state, reason])).toEqual([
        ["ended", "the build runs"],
        ["armed", "the release"],
      ]);
    });

    test("3.2: buys exactly one recheck", async () => {
      const { ledger } = await begin();
      const { id } = await waiting(ledger);
      const live = await ledger.read((sql) => liveWait(sql, id));
      const waitId = live?.id ?? 0;
      expect(await ledger.write((tx) => claimWaits(tx, [waitId]))).toEqual(new Set([waitId]));
      expect(await ledger.write((tx) => claimWaits(tx, [waitId]))).toEqual(new Set());
    });

    test("I6: is brought forward to now and never back, and its deadline stays", async () => {
      const { ledger, clock } = await begin();
      const { id } = await waiting(ledger);
      clock.at += minuteMs;
      expect(await ledger.write((tx) => bringForward(tx, id))).toBe(true);
      clock.at += minuteMs;
      expect(await ledger.write((tx) => bringForward(tx, id))).toBe(true);
      const { dueAt, deadlineAt } = (await ledger.read((sql) => liveWait(sql, id))) ?? aWait;
      expect([dueAt, deadlineAt]).toEqual([startAt + minuteMs, aWait.deadlineAt]);
      expect(await ledger.read(nextLookAt)).toBe(startAt + minuteMs);
    });
  });
}

function describeOutbox(begin: Begin): void {
  const message = { key: "result m-1", conversationId: "r-1#1", mandateId: null } as const;
  const told = { ...message, kind: "tell", payload: { body: "done" } } as const;
  const sending = {
    leaseMs: 30 * secondMs,
    statusThrottleMs: 20 * secondMs,
    limitsOf: () => null,
    busy: new Set<string>(),
  };

  describe("I5: the outbox", () => {
    test("holds one message for each key", async () => {
      const { ledger } = await begin();
      await ledger.write((tx) => plant(tx));
      expect(await ledger.write((tx) => post(tx, told))).toBe(true);
      expect(await ledger.write((tx) => post(tx, { ...told, payload: {} }))).toBe(false);
      const stored = await ledger.read((sql) => findMessage(sql, told.key));
      expect(stored?.payload).toEqual({ body: "done" });
    });

    test("gives a message to one sender, and those of a conversation one after the other", async () => {
      const { ledger } = await begin();
      await ledger.write((tx) => plant(tx));
      await ledger.write(async (tx) => {
        await post(tx, told);
        await post(tx, { ...told, key: "result m-2" });
      });
      const [first, ...others] = await ledger.write((tx) => takeMessages(tx, sending));
      expect([first?.key, others]).toEqual([told.key, []]);
      expect(await ledger.write((tx) => takeMessages(tx, sending))).toEqual([]);
      const sent = {
        id: first?.id ?? 0,
        state: "sending",
        intentAt: first?.intentAt ?? 0,
      } as const;
      expect(await ledger.write((tx) => changeMessage(tx, sent, { state: "sent" }))).toBe(true);
      expect(await ledger.write((tx) => changeMessage(tx, sent, { state: "dead" }))).toBe(false);
      const next = await ledger.write((tx) => takeMessages(tx, sending));
      expect(next.map(({ key }) => key)).toEqual(["result m-2"]);
    });

    test("holds back what a budget does not let out until there is room again", async () => {
      const { ledger, clock } = await begin();
      const { id, conversationId } = await ledger.write((tx) => plant(tx));
      await ledger.write(async (tx) => {
        await post(tx, told);
        await touchStatus(tx, { id, conversationId }, 0);
      });
      const limits = { perSecond: 1, perMinute: 80, perHour: 500 };
      const counted = { ...sending, limitsOf: () => limits };
      const taken = await ledger.write((tx) => takeMessages(tx, counted));
      expect(taken.map(({ kind }) => kind)).toEqual(["tell"]);
      expect(await ledger.write((tx) => takeMessages(tx, counted))).toEqual([]);
      expect(await ledger.read(nextOutboxAt)).toBe(clock.at + secondMs);
      clock.at += secondMs;
      const later = await ledger.write((tx) => takeMessages(tx, counted));
      expect(later.map(({ kind }) => kind)).toEqual(["status"]);
    });

    test("asks before it sends again what was being sent when its sender vanished", async () => {
      const { ledger, clock } = await begin();
      await ledger.write((tx) => plant(tx));
      await ledger.write((tx) => post(tx, told));
      await ledger.write((tx) => takeMessages(tx, sending));
      clock.at += sending.leaseMs;
      expect(await ledger.write((tx) => markUnsure(tx, 0))).toBe(0);
      clock.at += 1;
      expect(await ledger.write((tx) => markUnsure(tx, 0))).toBe(1);
      expect(await ledger.write((tx) => takeMessages(tx, sending))).toEqual([]);
    });

    test("draws a status anew at most once per throttle, and never loses the last change", async () => {
      const { ledger, clock } = await begin();
      const { id, conversationId } = await ledger.write((tx) => plant(tx));
      function touch(): Promise<void> {
        return ledger.write((tx) => touchStatus(tx, { id, conversationId }, 20 * secondMs));
      }
      await touch();
      const [row] = await ledger.write((tx) => takeMessages(tx, sending));
      const sent = { id: row?.id ?? 0, state: "sending", intentAt: row?.intentAt ?? 0 } as const;
      const { at: sentAt } = clock;
      await ledger.write((tx) => changeMessage(tx, sent, { state: "sent", sentAt }));
      clock.at += secondMs;
      await touch();
      await touch();
      clock.at = sentAt + 20 * secondMs - 1;
      expect(await ledger.write((tx) => takeMessages(tx, sending))).toEqual([]);
      clock.at += 1;
      expect(await ledger.write((tx) => takeMessages(tx, sending))).toHaveLength(1);
    });
  });
}

function receipt(hash: string): Evidence {
  return { kind: "receipt", hash };
}

function describeMandates(begin: Begin): void {
  test("I8: a mandate that has ended never gets another status", async () => {
    const { ledger } = await begin();
    for (const end of ["completed", "stopped"] as const) {
      const { id } = await ledger.write((tx) => plant(tx, { entry: null }));
      await ledger.write((tx) => changeMandate(tx, id, { status: end }));
      const { endedAt, lookAt } = await ledger.read((sql) => mandateOf(sql, id));
      expect([endedAt, lookAt]).toEqual([startAt, null]);
      const reviving = ledger.write((tx) => changeMandate(tx, id, { status: "queued" }));
      await expect(reviving).rejects.toThrow("I8");
    }
  });

  test("1.2: the anchor is there word for word, and nothing changes it", async () => {
    const { ledger } = await begin();
    const { id } = await ledger.write((tx) => plant(tx));
    expect(await ledger.read((sql) => findAnchor(sql, id))).toMatchObject(anchor);
    const changing = ledger.write((tx) => tx.run("UPDATE anchor SET text = 'other'"));
    await expect(changing).rejects.toThrow("immutable");
  });

  test("1.2: history is only added to", async () => {
    const { ledger } = await begin();
    const { id } = await ledger.write((tx) => plant(tx));
    await ledger.write((tx) => record(tx, "accepted", { mandateId: id, facts: { by: "ada" } }));
    expect(await ledger.read((sql) => eventsOf(sql, id))).toMatchObject([
      { kind: "accepted", at: startAt, facts: { by: "ada" } },
    ]);
    for (const statement of ["UPDATE event SET kind = 'x'", "DELETE FROM event"]) {
      await expect(ledger.write((tx) => tx.run(statement))).rejects.toThrow("append-only");
    }
  });

  test("I9: what was seen is there once, and no more than 256 of it", async () => {
    const { ledger } = await begin();
    const { id } = await ledger.write((tx) => plant(tx));
    const seen = Array.from({ length: historyLimit }, (_, at) => receipt(`${at}`));
    function add(known: number, entered: Evidence[]): Promise<void> {
      const found = { entered, credited: entered.slice(0, 1) };
      return ledger.write((tx) => addEvidence(tx, { mandateId: id, turnId: 1, known }, found));
    }
    await add(0, seen.slice(0, -1));
    await expect(add(historyLimit - 1, [receipt("0")])).rejects.toThrow(/unique/i);
    await add(historyLimit - 1, [receipt("255")]);
    await expect(add(historyLimit, [receipt("256")])).rejects.toThrow(/check/i);
    const stored = await ledger.read((sql) => evidenceOf(sql, id));
    expect(stored.map(({ hash }) => hash)).toEqual(seen.map(({ hash }) => hash));
    expect(stored.filter(({ credited }) => credited === 1)).toHaveLength(2);
  });

  test("2.6: a recovery grant is consumed by one turn, within its day", async () => {
    const { ledger, clock } = await begin();
    const { id } = await ledger.write((tx) => plant(tx));
    const grant = { mandateId: id, byName: "ada", expiresAt: startAt + dayMs };
    function consume(): Promise<GrantRow | undefined> {
      return ledger.write((tx) => consumeGrant(tx, id));
    }
    await ledger.write((tx) => addGrant(tx, { ...grant, turnId: 1 }));
    expect(await consume()).toMatchObject({ turnId: 1, byName: "ada" });
    expect(await consume()).toBeUndefined();
    await ledger.write((tx) => addGrant(tx, { ...grant, turnId: 2 }));
    clock.at = startAt + dayMs;
    expect(await consume()).toBeUndefined();
  });
}
