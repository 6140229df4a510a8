// A ledger with many mandates that wait (spec 8.5): one is led there by the product's own functions, and its rows are
// then copied, each copy under ids of its own.
import { DatabaseSync } from "node:sqlite";
import { saveRepository } from "../../app/ledger/conversations.ts";
import { claimEntries } from "../../app/ledger/inbox.ts";
import { changeMessage, takeMessages } from "../../app/ledger/outbox.ts";
import { openSqlite } from "../../app/ledger/sqlite/sqlite.ts";
import { beginTurn } from "../../app/ledger/turns.ts";
import { commitTurn } from "../../app/turn/checkpoint.ts";
import { dayMs, hourMs } from "../../policies/durations.ts";
import { claimLimits, plant } from "../../test/fakes/ledger.ts";
import { connection } from "../../test/fakes/network-forge.ts";
import { fingerprint, turn, waitRequest } from "../../test/policies/mandate/example.ts";
import { openParkedHost } from "./host.ts";

export interface Parked {
  readonly count: number;
  /** When the first is due, and how long after it the next; 0 for all at once. */
  readonly firstDueAt: number;
  readonly apartMs: number;
}

interface Place {
  readonly mandate: string;
  readonly conversation: string;
  readonly repository: string;
}

const repositoriesCount = 1_000;
/** How far apart the numbered rows of two copies are: a mandate has fewer in any table. */
const idStride = 16;
const tables = [
  "conversation",
  "mandate",
  "anchor",
  "inbox",
  "turn",
  "wait",
  "evidence",
  "event",
  "outbox",
];
/** Columns that hold the number of a row, of this table or another. */
const numbers: ReadonlySet<string> = new Set(["turn_id", "entry_id", "wait_id"]);

/** Fills the file, which must be new; what a copy is due for is told by `Parked`. */
export async function seedParked(file: string, parked: Parked): Promise<void> {
  const first = await parkFirst(file);
  const database = new DatabaseSync(file);
  database.exec("PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; BEGIN");
  database.function("speakable", { deterministic: true }, (n) => speakable(Number(n)));
  makePlaces(database, parked);
  database.exec(`INSERT INTO repository (id, connection, forge_id, name, source, default_branch, account)
    SELECT DISTINCT p.repository, r.connection, p.repository, p.repository, r.source, r.default_branch, r.account
    FROM place p JOIN repository r WHERE p.repository <> r.id`);
  for (const table of tables) copyRows(database, table, first);
  const { firstDueAt } = parked;
  database
    .prepare("UPDATE wait SET due_at = ? WHERE mandate_id = ?")
    .run(firstDueAt, first.mandate);
  database.prepare("UPDATE mandate SET look_at = ? WHERE id = ?").run(firstDueAt, first.mandate);
  database.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
}

/** One mandate whose first turn has left a wait, an hour ago, and of which its conversation was told. */
async function parkFirst(file: string): Promise<Place> {
  const at = Date.now() - hourMs;
  const ledger = openSqlite({ file, now: () => at });
  const host = openParkedHost(ledger);
  const repository = "r-0";
  await ledger.write((tx) =>
    saveRepository(tx, {
      id: repository,
      connection,
      forgeId: repository,
      name: repository,
      source: "https://forge.example/org/door.git",
      defaultBranch: "main",
      account: "55",
    }),
  );
  const { id: mandate, conversationId: conversation } = await ledger.write((tx) =>
    plant(tx, { repositoryId: repository, deadlineAt: at + 7 * dayMs }),
  );
  await ledger.write(async (tx) => {
    const [claim] = await claimEntries(tx, claimLimits);
    if (claim === undefined) throw new Error("what was just planted cannot be claimed");
    const { id: turnId } = await beginTurn(tx, claim);
    const wait = { ...waitRequest, everyMs: 12 * hourMs, deadlineAt: at + 3 * dayMs };
    const report = { kind: "waiting", reason: wait.reason, wait } as const;
    const outcome = { ...turn, report, found: [fingerprint("f".repeat(64))] };
    const facts = { end: outcome.end, report };
    await commitTurn(tx, host, { claim, turnId, outcome, facts, task: null, baseCommit: null });
    const none = new Set<string>();
    const limits = { leaseMs: hourMs, statusThrottleMs: 0, limitsOf: () => null, busy: none };
    for (const row of await takeMessages(tx, limits)) {
      const sent = { state: "sent", leaseUntil: null, forgeId: mandate, sentAt: at } as const;
      await changeMessage(
        tx,
        { ...row, state: "sending" },
        { ...sent, sentRevision: row.revision },
      );
    }
  });
  await ledger.close();
  return { mandate, conversation, repository };
}

/** Where each copy is, in a table of the connection's own. */
function makePlaces(database: DatabaseSync, { count, firstDueAt, apartMs }: Parked): void {
  database.exec(`CREATE TEMP TABLE place (n INTEGER PRIMARY KEY, mandate TEXT NOT NULL,
    repository TEXT NOT NULL, number INTEGER NOT NULL, due_at INTEGER NOT NULL)`);
  database.exec(`INSERT INTO place
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count - 1})
    SELECT n, speakable(n), 'r-' || (n % ${repositoriesCount}), n / ${repositoriesCount} + 1,
      ${firstDueAt} + CAST(n * ${apartMs} AS INTEGER) FROM numbers`);
}

/** Spread as the ids of mandates are, and no two alike. */
function speakable(n: number): string {
  const spread = Number((BigInt(n) * 2_654_435_761n) % 4_294_967_296n);
  return `m-${spread.toString(32).padStart(7, "0")}`;
}

function copyRows(database: DatabaseSync, table: string, first: Place): void {
  const [row] = database.prepare(`SELECT * FROM ${table}`).all();
  if (row === undefined) throw new Error(`the mandate that is copied has no row in ${table}`);
  const names = Object.keys(row);
  const copied = names.map((name) => copyOf(table, name, first));
  const copying = `INSERT INTO ${table} (${names.join(", ")}) SELECT ${copied.join(", ")}
    FROM place p CROSS JOIN (SELECT * FROM ${table}) t ORDER BY p.n`;
  database.exec(copying);
}

function copyOf(table: string, name: string, first: Place): string {
  const isNumbered = name === "id" && !["mandate", "conversation"].includes(table);
  if (isNumbered || numbers.has(name)) return `t.${name} + p.n * ${idStride}`;
  if (name === "number" && table === "conversation") return "p.number";
  if (name === "repository_id") return "p.repository";
  if (name === "due_at" || name === "look_at") return "p.due_at";
  if (!mentioning.has(name)) return `t.${name}`;
  const inPlace = `replace(t.${name}, '${first.conversation}', p.repository || '#' || p.number)`;
  return `replace(${inPlace}, '${first.mandate}', p.mandate)`;
}

/** Columns that name the mandate or its conversation. */
const mentioning: ReadonlySet<string> = new Set([
  "id",
  "mandate_id",
  "conversation_id",
  "branch",
  "cause",
  "key",
  "lane",
  "forge_id",
  "notice_key",
]);
