// Schema versions (spec 7.5): an older ledger is brought up to date and loses nothing, a newer one is refused.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { conversationOf, repositoryOf } from "../../../app/ledger/conversations.ts";
import {
  findDelivery,
  storeDelivery,
  unreadDeliveries,
} from "../../../app/ledger/incoming/deliveries.ts";
import type { Ledger } from "../../../app/ledger/ledger.ts";
import { mandateOf } from "../../../app/ledger/mandates.ts";
import { migrate, schemaVersion } from "../../../app/ledger/sqlite/migrations.ts";
import { openSqlite } from "../../../app/ledger/sqlite/sqlite.ts";
import { plant, startAt } from "../../fakes/ledger.ts";

const tables = [
  "repository",
  "conversation",
  "mandate",
  "anchor",
  "delivery",
  "command",
  "outbox",
] as const;

/** A ledger as version 1 of the program left it, with one mandate, what made it, and a delivery still to come. */
const filling = `
  INSERT INTO repository (id, connection, forge_id, name, source, default_branch, policy_commit)
    VALUES ('r-1', 'local', 'r-1', 'door', '/srv/door', 'main', 'c0ffee');
  INSERT INTO conversation (id, repository_id, number, kind, muted_until)
    VALUES ('r-1#1', 'r-1', 1, 'issue', 77);
  INSERT INTO mandate (id, conversation_id, kind, status, title, next_step, next_step_by, deadline_at,
    deadline_max_at, counters_json, ceilings_json, policy_json, actor_id, actor_name, branch, created_at,
    changed_at, look_at) VALUES ('m-1', 'r-1#1', 'request', 'queued', 'update the changelog', 'begin', 'host',
    9, 9, '{"turns":3}', '{}', '{}', '1', 'ada', 'holdfast/m-1', 2, 3, 4);
  INSERT INTO anchor VALUES ('m-1', 'update the changelog', 'comment', '7', '#7', '1', 'ada', 'write', 'h', 2);
  INSERT INTO delivery (connection, guid, payload_json, received_at, attempts, next_at)
    VALUES ('local', 'g-1', '{"kind":"text"}', 1, 2, 8), ('local', 'g-2', '{"kind":"text"}', 2, 0, 2);
  UPDATE delivery SET handled_at = 3, outcome = 'commands' WHERE guid = 'g-2';
  INSERT INTO command VALUES ('i', 't', 2, 'r-1#1', 'do', 'm-1', 'b', 'h', '1', 2);
  INSERT INTO outbox (key, conversation_id, mandate_id, kind, payload_json, lane, priority, next_at, created_at)
    VALUES ('k', 'r-1#1', 'm-1', 'tell', '{}', 'l', 1, 5, 5);`;

function versionOne(): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast schema-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "ledger.sqlite");
  const database = new DatabaseSync(file);
  database.exec(sqlOf("schema.sql"));
  database.exec(`${filling} PRAGMA user_version = 1;`);
  database.close();
  return file;
}

function sqlOf(version: string): string {
  return readFileSync(new URL(`../../../app/ledger/sqlite/${version}`, import.meta.url), "utf8");
}

function open(file: string): Ledger {
  const ledger = openSqlite({ file, now: () => startAt });
  onTestFinished(() => ledger.close());
  return ledger;
}

/** The version of a ledger, its columns of a delivery, and every row that version 1 had. */
function contentOf(file: string) {
  const database = new DatabaseSync(file);
  try {
    const version = database.prepare("PRAGMA user_version").get()?.["user_version"];
    const columns = database.prepare("SELECT name FROM pragma_table_info('delivery')").all();
    const rows = tables.map((table) => database.prepare(`SELECT * FROM ${table} ORDER BY 1`).all());
    return { version, columns: columns.map(({ name }) => name), rows };
  } finally {
    database.close();
  }
}

test("a ledger of version 1 keeps every row and every value in it", () => {
  const file = versionOne();
  const before = contentOf(file);
  expect(before.rows.map((rows) => rows.length)).toEqual([1, 1, 1, 1, 2, 1, 1]);
  open(file);
  const after = contentOf(file);
  expect(after.version).toBe(schemaVersion);
  expect(after.rows).toMatchObject(before.rows);
});

test("what version 1 held has the new fields as nothing happened yet", async () => {
  const ledger = open(versionOne());
  const [repository, conversation, mandate, first] = await ledger.read(async (sql) => [
    await repositoryOf(sql, "r-1"),
    await conversationOf(sql, "r-1#1"),
    await mandateOf(sql, "m-1"),
    await findDelivery(sql, "local", "g-1"),
  ]);
  expect(repository).toMatchObject({ account: null, reach: "open", textsReadTo: 0 });
  expect(conversation).toMatchObject({ goneAt: null, movedHead: null, botHadItsTurn: 0 });
  expect(mandate).toMatchObject({ pinnedHead: null, intendedCommit: null, counters: { turns: 3 } });
  expect(first).toMatchObject({ payload: { kind: "text" }, handledAt: null, attempts: 2 });
});

test("a ledger of version 1 takes what is new: raw deliveries and mandates, but no GUID again", async () => {
  const ledger = open(versionOne());
  const raw = { connection: "github", guid: "r-1", event: "issues", body: "{}" };
  const known = { ...raw, connection: "local", guid: "g-2" };
  expect(await ledger.write((tx) => storeDelivery(tx, raw))).toBe(true);
  expect(await ledger.write((tx) => storeDelivery(tx, known))).toBe(false);
  expect(await ledger.read((sql) => unreadDeliveries(sql, startAt, 10))).toMatchObject([raw]);
  const { id } = await ledger.write((tx) => plant(tx));
  expect(await ledger.read((sql) => mandateOf(sql, id))).toMatchObject({ pinnedHead: null });
});

test("a change that fails half-way leaves the version before it", () => {
  const file = versionOne();
  const before = contentOf(file);
  const database = new DatabaseSync(file);
  // In the way of a table that version 2 makes at its end.
  database.exec("CREATE TABLE connection (x)");
  expect(() => migrate(database)).toThrow(/connection/);
  database.close();
  expect(contentOf(file)).toEqual(before);
  expect(before).toMatchObject({ version: 1, columns: expect.not.arrayContaining(["body"]) });
});

test("a program that dies before the change is committed leaves it to the next start", () => {
  const file = versionOne();
  const before = contentOf(file);
  const database = new DatabaseSync(file);
  database.exec("BEGIN IMMEDIATE");
  database.exec(sqlOf("schema-2.sql"));
  database.close();
  expect(contentOf(file)).toEqual(before);
  open(file);
  expect(contentOf(file).version).toBe(schemaVersion);
});

test("a ledger of a newer program is refused and left as it is", () => {
  const file = versionOne();
  const newer = schemaVersion + 1;
  const database = new DatabaseSync(file);
  database.exec(`PRAGMA user_version = ${newer}`);
  database.close();
  const before = contentOf(file);
  const refusal = `the ledger has schema ${newer}, this program knows ${schemaVersion}`;
  expect(() => openSqlite({ file, now: () => startAt })).toThrow(refusal);
  expect(contentOf(file)).toEqual(before);
});
