// The accounts side by side (spec 6.3): one that is slow holds up its own messages alone.
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { sideBySide } from "../../../app/outbox/accounts.ts";

const host = { sleep: () => setImmediate() };

interface Row {
  readonly account: string;
  readonly name: string;
}

/** Rows that become due as time goes on, and what was done with them, in order. */
function desk(...due: Row[]) {
  const done: string[] = [];
  return {
    done,
    due,
    take: async (busy: ReadonlySet<string>) => {
      const free = due.filter(({ account }) => !busy.has(account));
      for (const row of free) due.splice(due.indexOf(row), 1);
      return free;
    },
  };
}

describe("an account that is slow", () => {
  test("holds up nobody else, also what becomes due only meanwhile", async () => {
    const { promise: answer, resolve } = Promise.withResolvers<void>();
    const { done, due, take } = desk(
      { account: "slow", name: "s1" },
      { account: "quick", name: "q1" },
    );
    const all = sideBySide(host, {
      take,
      work: async (rows) => {
        for (const { account, name } of rows) {
          if (account === "slow") await answer;
          done.push(name);
          if (name === "q1") due.push({ account: "quick", name: "q2" });
          if (name === "q2") due.push({ account: "slow", name: "s2" });
          if (name === "q2") void setImmediate().then(() => resolve());
        }
      },
    });
    expect(await all).toBe(4);
    expect(done).toEqual(["q1", "q2", "s1", "s2"]);
  });

  test("has never two groups at work", async () => {
    let atWork = 0;
    let most = 0;
    const rows = Array.from({ length: 5 }, (_, index) => ({ account: "one", name: String(index) }));
    const { due, take } = desk();
    const all = sideBySide(host, {
      take: async (busy) => {
        const next = rows.shift();
        if (next !== undefined) due.push(next);
        return take(busy);
      },
      work: async () => {
        atWork += 1;
        most = Math.max(most, atWork);
        for (let turn = 0; turn < 3; turn += 1) await setImmediate();
        atWork -= 1;
      },
    });
    expect(await all).toBe(5);
    expect(most).toBe(1);
  });
});

test("an error takes nothing more, and is thrown when what began has ended", async () => {
  const { done, due, take } = desk({ account: "a", name: "a1" }, { account: "b", name: "b1" });
  const all = sideBySide(host, {
    take,
    work: async ([row]) => {
      due.push({ account: "c", name: "late" });
      if (row?.account === "a") throw new Error("broken");
      await setImmediate();
      done.push(row?.name ?? "");
    },
  });
  await expect(all).rejects.toThrow("broken");
  expect(done).toEqual(["b1"]);
});
