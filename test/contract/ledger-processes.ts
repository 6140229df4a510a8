// The part of the ledger's contract about the processes that share it (spec 3.6): who has a duty, and who is there.
import { describe, expect, test } from "vitest";
import {
  forgetProcess,
  forgetProcesses,
  listProcesses,
  showProcess,
  takeDuty,
} from "../../app/ledger/processes.ts";
import { hourMs, minuteMs, secondMs } from "../../policies/durations.ts";
import { startAt } from "../fakes/ledger.ts";
import type { Begin } from "./ledger-harness.ts";

export function describeProcesses(begin: Begin): void {
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
