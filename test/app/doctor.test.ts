// Doctor (spec 1.1, 8.3): silent on a whole ledger, and each violated invariant is named with what it is about.
// Offences are planted with SQL, because the app cannot write them.

import { afterEach, beforeEach, expect, test } from "vitest";
import { lateMs, violations } from "../../app/doctor.ts";
import {
  ensureConversation,
  repositoryOf,
  saveRepository,
} from "../../app/ledger/conversations.ts";
import { addEntry, claimEntries } from "../../app/ledger/inbox.ts";
import {
  addDelivery,
  claimIdentity,
  finishDelivery,
  postponeDelivery,
  storeDelivery,
} from "../../app/ledger/incoming/deliveries.ts";
import { addMandate } from "../../app/ledger/mandates.ts";
import { post } from "../../app/ledger/outbox.ts";
import { openSqlite, type SqliteLedger } from "../../app/ledger/sqlite/sqlite.ts";
import { beginTurn } from "../../app/ledger/turns.ts";
import { armWait } from "../../app/ledger/waits.ts";
import { dayMs, hourMs, minuteMs } from "../../policies/durations.ts";
import { defaultPolicy } from "../../policies/policy-file.ts";

const startAt = 1_000_000;
const conversationId = "repo#1";
let ledger: SqliteLedger;
let now: number;
let mandateId: string;

beforeEach(async () => {
  now = startAt;
  ledger = openSqlite({ file: ":memory:", now: () => now });
  mandateId = await plantMandate();
});

afterEach(() => ledger.close());

/** A mandate as acceptance leaves it: with its command, its entry and a status comment. */
function plantMandate(): Promise<string> {
  return ledger.write(async (tx) => {
    const where = { connection: "local", forgeId: "1", name: "demo", source: "/demo" };
    await saveRepository(tx, { id: "repo", defaultBranch: "main", ...where });
    const about = { number: 1, kind: "issue" } as const;
    await ensureConversation(tx, await repositoryOf(tx, "repo"), about);
    const text = { connection: "local", forgeId: "1", kind: "comment", id: "1" } as const;
    const payload = { kind: "text", text, number: 1 } as const;
    await addDelivery(tx, { connection: "local", guid: "g1", payload });
    await finishDelivery(tx, 1, "commands");
    const id = await addMandate(
      tx,
      {
        conversationId,
        pinnedHead: null,
        kind: "request",
        title: "tidy",
        nextStep: "begin",
        nextStepBy: "host",
        deadlineAt: startAt + dayMs,
        deadlineMaxAt: startAt + dayMs,
        ceilings: {
          turns: null,
          tokens: null,
          cost: null,
          stallLimit: 20,
          thinkLimit: null,
          turnWallMs: hourMs,
        },
        task: null,
        grant: null,
        policy: defaultPolicy,
        actorId: "1",
        actorName: "alice",
      },
      {
        anchor: {
          text: "tidy",
          commentKind: "comment",
          commentId: "1",
          commentUrl: "#1",
          authorId: "1",
          authorName: "alice",
          permission: "admin",
          bodyHash: "h",
        },
        random: () => 0.5,
      },
    );
    await addEntry(tx, {
      mandateId: id,
      conversationId,
      kind: "request",
      availableAt: tx.now,
      lastRanAt: 0,
    });
    await claimIdentity(tx, {
      identity: "local 1 comment 1 0",
      textIdentity: "local 1 comment 1",
      deliveryId: 1,
      conversationId,
      name: "do",
      mandateId: id,
      bodyHash: "h",
      commandHash: "h",
      byId: "1",
    });
    return id;
  });
}

function plant(...statements: string[]): Promise<void> {
  return ledger.write(async (tx) => {
    for (const statement of statements) await tx.run(statement);
  });
}

async function claimAndBegin(): Promise<void> {
  await ledger.write(async (tx) => {
    const limits = { worker: "w", leaseMs: 10_000, slots: 1, perRepository: 1 };
    for (const claim of await claimEntries(tx, limits)) await beginTurn(tx, claim);
  });
}

async function registerWait(deadlineAt: number): Promise<void> {
  const wait = {
    reason: "the release",
    nextStep: "look",
    everyMs: minuteMs,
    dueAt: now + minuteMs,
    deadlineAt,
    signals: [],
    subject: "",
  };
  await ledger.write((tx) => armWait(tx, { mandateId, turnId: null }, wait));
}

async function found(): Promise<string[]> {
  const all = await ledger.read((sql) => violations(sql, now));
  for (const { what, todo } of all) expect(what.length * todo.length).toBeGreaterThan(0);
  return all.map(
    ({ invariant, subject, isLate }) => `${invariant} ${subject}${isLate ? " late" : ""}`,
  );
}

test("a ledger where all is well has no violation", async () => {
  expect(await found()).toEqual([]);
  await claimAndBegin();
  expect(await found()).toEqual([]);
});

const entry = "UPDATE inbox SET state = 'dropped'";
const waiting = "UPDATE mandate SET status = 'waiting'";
const message = { conversationId, mandateId: null, kind: "tell", payload: {} } as const;
const rawDelivery = { connection: "github", guid: "g2", event: "issues", body: "{}" };

function closing(guid: string, number: number) {
  const where = { connection: "github", forgeId: "7", number } as const;
  const payload = {
    kind: "conversation",
    change: "closed",
    ...where,
    byId: "1",
    byName: "alice",
  } as const;
  return { connection: "github", guid, payload };
}

const offences: readonly {
  name: string;
  expected: (id: string) => string[];
  offend: () => Promise<void>;
}[] = [
  {
    name: "I1: a queued mandate without an entry",
    expected: (id) => [`I1 ${id}`],
    offend: () => plant(entry),
  },
  {
    name: "I1: a mandate that nobody has looked at in time",
    expected: (id) => [`I1 ${id} late`],
    offend: async () => {
      now += lateMs + 31_000;
    },
  },
  {
    name: "I1: a question that the forge refused for good",
    expected: (id) => [`I1 ${id}`],
    offend: async () => {
      await ledger.write((tx) => post(tx, { ...message, key: "ask 1", kind: "ask" }));
      await plant(entry, "UPDATE outbox SET state = 'dead'", `${waiting}, notice_key = 'ask 1'`);
    },
  },
  {
    name: "I1: a due recheck that nothing holds back",
    expected: (id) => [`I1 ${id} late`],
    offend: async () => {
      await registerWait(startAt + dayMs);
      now += minuteMs + lateMs + 1;
      await plant(entry, `${waiting}, look_at = ${now}`);
    },
  },
  {
    name: "I1: an entry of a stopped mandate",
    expected: () => ["I1 entry 1"],
    offend: () => plant("UPDATE mandate SET status = 'stopped', ended_at = 1, look_at = NULL"),
  },
  {
    name: "I2: a lease that ended long ago",
    expected: () => ["I2 entry 1 late"],
    offend: async () => {
      await claimAndBegin();
      now += lateMs + 11_000;
      await plant(`UPDATE mandate SET look_at = ${now}`);
    },
  },
  {
    name: "I2: a conversation that names another claim",
    expected: () => [`I2 conversation ${conversationId}`],
    offend: () => plant("UPDATE conversation SET running_entry_id = 7"),
  },
  {
    name: "I3: a turn that ended without a settlement",
    expected: () => ["I3 turn 1"],
    offend: async () => {
      await claimAndBegin();
      await plant("UPDATE turn SET ended_at = 1");
    },
  },
  {
    name: "I3: a turn that was cut off at work and left so",
    expected: () => ["I3 turn 1"],
    offend: async () => {
      await claimAndBegin();
      await plant("UPDATE turn SET prompt_given_at = 1, fence = 9");
    },
  },
  {
    name: "I4: a delivery that nobody accepts",
    expected: () => ["I4 delivery 1 late", "I4 command local 1 comment 1 0"],
    offend: async () => {
      await plant("UPDATE delivery SET handled_at = NULL, next_at = 0");
    },
  },
  {
    name: "I4: a delivery that nobody reads, though nobody knows yet what it is about",
    expected: () => ["I4 delivery 2 late"],
    offend: async () => {
      await ledger.write((tx) => storeDelivery(tx, rawDelivery));
      await plant("UPDATE delivery SET next_at = 0 WHERE handled_at IS NULL");
    },
  },
  {
    name: "I4: each delivery that nobody reads, for none waits for another",
    expected: () => ["I4 delivery 2 late", "I4 delivery 3 late"],
    offend: async () => {
      for (const guid of ["g2", "g3"]) {
        await ledger.write((tx) => storeDelivery(tx, { ...rawDelivery, guid }));
      }
      await plant("UPDATE delivery SET next_at = 0 WHERE handled_at IS NULL");
    },
  },
  {
    name: "I4: the first delivery of a subject, and not what waits for it",
    expected: () => ["I4 delivery 2 late", "I4 delivery 4 late"],
    offend: async () => {
      for (const [guid, number] of [
        ["g2", 5],
        ["g3", 5],
        ["g4", 6],
      ] as const) {
        await ledger.write((tx) => addDelivery(tx, closing(guid, number)));
      }
      await plant("UPDATE delivery SET next_at = 0 WHERE handled_at IS NULL");
    },
  },
  {
    name: "I4: a mandate that no command made",
    expected: (id) => [`I4 ${id}`],
    offend: () => plant("DELETE FROM command"),
  },
  {
    name: "I5: a message left where its sender vanished",
    expected: () => ["I5 message a late"],
    offend: async () => {
      await ledger.write((tx) => post(tx, { ...message, key: "a" }));
      await plant("UPDATE outbox SET state = 'sending', lease_until = 1");
    },
  },
  {
    name: "I5: a message that nobody sends",
    expected: () => ["I5 message a late"],
    offend: async () => {
      await ledger.write((tx) => post(tx, { ...message, key: "a" }));
      await plant("UPDATE outbox SET next_at = 1");
    },
  },
  {
    name: "I5: two messages in one comment",
    expected: () => ["I5 message b"],
    offend: async () => {
      for (const key of ["a", "b"]) await ledger.write((tx) => post(tx, { ...message, key }));
      await plant("UPDATE outbox SET state = 'sent', forge_id = '5'");
    },
  },
  {
    name: "I6: a wait beyond its mandate's deadline",
    expected: () => ["I6 wait 1"],
    offend: () => registerWait(startAt + dayMs + 1),
  },
  {
    name: "I8: a turn after the end",
    expected: () => ["I8 turn 1"],
    offend: async () => {
      await claimAndBegin();
      await plant("UPDATE mandate SET status = 'stopped', ended_at = 1, look_at = NULL");
    },
  },
  {
    name: "I8: a wait of a blocked mandate",
    expected: (id) => [`I1 ${id}`, "I1 entry 1", "I8 wait 1"],
    offend: async () => {
      await registerWait(startAt + dayMs);
      await plant(
        "UPDATE inbox SET rank = 4",
        "UPDATE mandate SET status = 'blocked', reason = 'stalled'",
      );
    },
  },
  {
    name: "I9: a history of evidence with a gap",
    expected: (id) => [`I9 ${id}`],
    offend: () =>
      plant(`INSERT INTO evidence (mandate_id, sequence, kind, hash, credited, at)
        SELECT id, 3, 'receipt', 'h', 1, 1 FROM mandate`),
  },
];

test.each(offences)("$name", async ({ expected, offend }) => {
  await offend();
  expect(await found()).toEqual(expected(mandateId));
});

test("I4: what waits for a delivery that is put off is not late, and has its own time after it", async () => {
  await ledger.write(async (tx) => {
    await addDelivery(tx, closing("g2", 5));
    await addDelivery(tx, closing("g3", 5));
    await postponeDelivery(tx, { id: 2, attempts: 0 }, startAt + 2 * minuteMs);
  });
  now += 2 * minuteMs;
  await plant(`UPDATE mandate SET look_at = ${now}`);
  expect(await found()).toEqual([]);
  await ledger.write((tx) => finishDelivery(tx, 2, "given-up"));
  now += lateMs;
  expect(await found()).not.toContain("I4 delivery 3 late");
  now += 1;
  expect(await found()).toContain("I4 delivery 3 late");
});
