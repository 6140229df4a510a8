// The part of the ledger's contract about the processes that share it (spec 3.6, 5.1): who has a duty, who is there, and
// the files that follow a mandate from one to the other.
import { describe, expect, test } from "vitest";
import { changeMandate } from "../../app/ledger/mandates.ts";
import {
  forgetProcess,
  forgetProcesses,
  listProcesses,
  showProcess,
  takeDuty,
} from "../../app/ledger/shared/processes.ts";
import {
  dropStates,
  findState,
  keepState,
  readState,
} from "../../app/ledger/shared/saved-states.ts";
import { hourMs, minuteMs, secondMs } from "../../policies/durations.ts";
import { plant, startAt } from "../fakes/ledger.ts";
import type { Begin } from "./ledger-harness.ts";

export function describeProcesses(begin: Begin): void {
  describeStates(begin);
  describe("a duty", () => {
    test("is one process's until its time is over, and that process may keep it", async () => {
      const { ledger, clock } = await begin();
      function take(holder: string): Promise<boolean> {
        return ledger.write((tx) => takeDuty(tx, { name: "sweep", holder, forMs: 15 * secondMs }));
      }
      expect(await take("a")).toBe(true);
      expect(await take("b")).toBe(false);
      clock.at += 10 * secondMs;
      expect(await take("a")).toBe(true);
      clock.at += 10 * secondMs;
      expect(await take("b")).toBe(false);
      clock.at += 5 * secondMs;
      expect(await take("b")).toBe(true);
      expect(await take("a")).toBe(false);
    });
  });

  describe("a process", () => {
    const shed = { id: "shed-1", kind: "worker", version: "1", slots: 2 } as const;
    const barn = { id: "barn-1", kind: "server", version: "1", slots: 0 } as const;

    test("is there since it first showed itself, and was last seen when it did so last", async () => {
      const { ledger, clock } = await begin();
      await ledger.append((tx) => showProcess(tx, shed));
      await ledger.append((tx) => showProcess(tx, barn));
      clock.at += minuteMs;
      await ledger.append((tx) => showProcess(tx, shed));
      expect(await ledger.read(listProcesses)).toEqual([
        { ...barn, startedAt: startAt, seenAt: startAt },
        { ...shed, startedAt: startAt, seenAt: startAt + minuteMs },
      ]);
    });

    test("is forgotten when it ends, and an hour after it was missed", async () => {
      const { ledger, clock } = await begin();
      for (const one of [shed, barn]) await ledger.append((tx) => showProcess(tx, one));
      await ledger.append((tx) => forgetProcess(tx, shed.id));
      expect((await ledger.read(listProcesses)).map(({ id }) => id)).toEqual([barn.id]);
      clock.at += hourMs + 1;
      await ledger.append((tx) => showProcess(tx, shed));
      expect((await ledger.read(listProcesses)).map(({ id }) => id)).toEqual([shed.id]);
      await ledger.write(forgetProcesses);
      expect(await ledger.read(listProcesses)).toEqual([]);
    });
  });
}

function describeStates(begin: Begin): void {
  describe("a saved state", () => {
    const pack = Uint8Array.from({ length: 1_000 }, (_, index) => index % 256);

    test("is there for everybody, byte by byte, until the next takes its place", async () => {
      const { ledger } = await begin();
      const { id: mandateId } = await ledger.write((tx) => plant(tx));
      const state = { mandateId, home: "a", commitHash: "c1", baseHash: "b1", pack };
      await ledger.write((tx) => keepState(tx, state));
      const seen = await ledger.read((sql) => readState(sql, mandateId));
      expect(seen).toMatchObject({ home: "a", commitHash: "c1", baseHash: "b1", at: startAt });
      expect([...(seen?.pack ?? [])]).toEqual([...pack]);
      const unsaved = { mandateId, home: "b", commitHash: null, baseHash: null, pack: null };
      await ledger.write((tx) => keepState(tx, unsaved));
      expect(await ledger.read((sql) => readState(sql, mandateId))).toMatchObject(unsaved);
      const place = { home: "b", commitHash: null };
      expect(await ledger.read((sql) => findState(sql, mandateId))).toEqual(place);
    });

    test("is forgotten some time after the end of its mandate, and not before", async () => {
      const { ledger, clock } = await begin();
      const { id: mandateId } = await ledger.write((tx) => plant(tx));
      const state = { mandateId, home: "a", commitHash: "c1", baseHash: "b1", pack };
      await ledger.write((tx) => keepState(tx, state));
      clock.at += hourMs;
      expect(await ledger.write((tx) => dropStates(tx, tx.now))).toBe(0);
      await ledger.write((tx) => changeMandate(tx, mandateId, { status: "stopped" }));
      expect(await ledger.write((tx) => dropStates(tx, tx.now))).toBe(0);
      clock.at += 1;
      expect(await ledger.write((tx) => dropStates(tx, tx.now))).toBe(1);
    });
  });
}
