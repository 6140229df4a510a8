// The ledger on SQLite (spec 8.2): the port's contract on a file and in memory, and what can be wrong with a file.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import type { Ledger } from "../../../app/ledger/ledger.ts";
import { openSqlite } from "../../../app/ledger/sqlite/sqlite.ts";
import {
  claimInProcesses,
  type LedgerHarness,
  type Shared,
} from "../../contract/ledger-harness.ts";
import { describeLedger } from "../../contract/ledger.ts";
import { startAt } from "../../fakes/ledger.ts";
import { temporaryFolder } from "../../fakes/repository.ts";

describeLedger("sqlite, in memory", {
  isShared: false,
  make: async () => harnessOf(":memory:"),
});

describeLedger("sqlite, in a file", {
  isShared: true,
  make: async () => harnessOf(join(temporaryFolder(), "ledger.sqlite")),
});

function harnessOf(file: string): LedgerHarness {
  const clock = { at: startAt };
  const ledger = openSqlite({ file, now: () => clock.at });
  return {
    ledger,
    clock,
    fillDisk: () => limitPages(ledger, 1),
    freeDisk: () => limitPages(ledger, 1_000_000),
    shared: file === ":memory:" ? null : sharedFile(file, clock),
    close: () => ledger.close(),
  };
}

/** SQLite takes the number of pages that are there already for the least. */
async function limitPages(ledger: Ledger, count: number): Promise<void> {
  await ledger.write((tx) => tx.all(`PRAGMA max_page_count = ${count}`));
}

function sharedFile(file: string, clock: { at: number }): Shared {
  return {
    openAgain: async () => openSqlite({ file, now: () => clock.at }),
    claimElsewhere: (workers, count) => claimInProcesses(`file:${file}`, workers, count),
  };
}

function open(file: string): unknown {
  return openSqlite({ file, now: () => startAt });
}

describe("a file that is not a ledger of ours", () => {
  test("a newer schema is refused and left as it is", async () => {
    const file = join(temporaryFolder(), "ledger.sqlite");
    await openSqlite({ file, now: () => startAt }).close();
    const database = new DatabaseSync(file);
    database.exec("PRAGMA user_version = 999");
    expect(() => open(file)).toThrow(
      expect.objectContaining({ code: "schema-newer", retry: "never" }),
    );
    expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: 999 });
    database.close();
  });

  test.each([
    ["a folder", "persistence-unavailable", (file: string) => mkdirSync(file)],
    ["no database", "ledger-damaged", (file: string) => writeFileSync(file, "x".repeat(5_000))],
    ["in a folder that does not exist", "persistence-unavailable", () => {}],
  ])("%s: it is refused as %s", (what, code, make) => {
    const folder = temporaryFolder();
    const file = what.startsWith("in")
      ? join(folder, "none", "l.sqlite")
      : join(folder, "l.sqlite");
    make(file);
    expect(() => open(file)).toThrow(expect.objectContaining({ name: "Failure", code }));
  });
});

describe("durability", () => {
  test("every commit is on the disk before it is acknowledged", async () => {
    const ledger = openSqlite({ file: join(temporaryFolder(), "l.sqlite"), now: () => startAt });
    const pragmas = await ledger.write(async (tx) => ({
      journal: await tx.first("PRAGMA journal_mode"),
      synchronous: await tx.first("PRAGMA synchronous"),
      foreignKeys: await tx.first("PRAGMA foreign_keys"),
    }));
    expect(pragmas).toEqual({
      journal: { journalMode: "wal" },
      synchronous: { synchronous: 2 },
      foreignKeys: { foreignKeys: 1 },
    });
    await ledger.close();
  });

  test("what arrives over different sockets in one turn shares one commit", async () => {
    const file = join(temporaryFolder(), "ledger.sqlite");
    const ledger = openSqlite({ file, now: () => startAt });
    const seen = await new Promise((resolve) => {
      function keep(key: string): Promise<number> {
        return ledger.write((tx) => tx.run("INSERT INTO meta (key, value) VALUES (?, 'v')", key));
      }
      function look(): Promise<unknown> {
        return ledger.read((sql) => sql.all("SELECT key FROM meta WHERE key IN ('a', 'b')"));
      }
      setImmediate(() => void keep("a").then(look).then(resolve));
      setImmediate(() => void keep("b"));
    });
    expect(seen).toEqual([{ key: "a" }, { key: "b" }]);
    await ledger.close();
  });

  test("opening again keeps what is there", async () => {
    const file = join(temporaryFolder(), "ledger.sqlite");
    const first = openSqlite({ file, now: () => startAt });
    await first.write((tx) => tx.run("INSERT INTO meta (key, value) VALUES ('k', 'v')"));
    await first.close();
    const second = openSqlite({ file, now: () => startAt });
    expect(await second.read((sql) => sql.all("SELECT * FROM meta"))).toEqual([
      { key: "k", value: "v" },
    ]);
    await second.close();
  });
});
