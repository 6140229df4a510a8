// Schema versions (spec 7.5): an older ledger is brought up to date and loses nothing, a newer one is refused.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { findDelivery, storeDelivery } from "../../../app/ledger/deliveries.ts";
import { mandateOf } from "../../../app/ledger/mandates.ts";
import { migrate, schemaVersion } from "../../../app/ledger/sqlite/migrations.ts";
import { openSqlite } from "../../../app/ledger/sqlite/sqlite.ts";
import { plant, startAt } from "../../fakes/ledger.ts";

/** A ledger as version 1 of the program left it, with a delivery in it. */
function versionOne(): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast schema-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "ledger.sqlite");
  const database = new DatabaseSync(file);
  const schema = new URL("../../../app/ledger/sqlite/schema.sql", import.meta.url);
  database.exec(readFileSync(schema, "utf8"));
  database.exec(`
    INSERT INTO repository (id, connection, forge_id, name, source, default_branch)
      VALUES ('r-1', 'local', 'r-1', 'door', '/srv/door', 'main');
    INSERT INTO conversation (id, repository_id, number, kind) VALUES ('r-1#1', 'r-1', 1, 'issue');
    INSERT INTO delivery (connection, guid, payload_json, received_at, next_at)
      VALUES ('local', 'g-1', '{"kind":"text"}', 1, 1), ('local', 'g-2', '{"kind":"text"}', 2, 2);
    UPDATE delivery SET handled_at = 3, outcome = 'commands' WHERE guid = 'g-2';
    PRAGMA user_version = 1;`);
  database.close();
  return file;
}

function open(file: string) {
  const ledger = openSqlite({ file, now: () => startAt });
  onTestFinished(() => ledger.close());
  return ledger;
}

test("a ledger of version 1 keeps what is in it and takes what is new", async () => {
  const ledger = open(versionOne());
  const [first, second] = await ledger.read(async (sql) => [
    await findDelivery(sql, "local", "g-1"),
    await findDelivery(sql, "local", "g-2"),
  ]);
  expect(first).toMatchObject({ id: 1, payload: { kind: "text" }, handledAt: null });
  expect(second).toMatchObject({ id: 2, handledAt: 3, outcome: "commands" });
  const raw = { connection: "github", guid: "r-1", event: "issues", body: "{}" };
  expect(await ledger.write((tx) => storeDelivery(tx, raw))).toBe(true);
  const { id } = await ledger.write((tx) => plant(tx));
  expect(await ledger.read((sql) => mandateOf(sql, id))).toMatchObject({ pinnedHead: null });
});

test("a change that fails half-way leaves the version before it", () => {
  const file = versionOne();
  const database = new DatabaseSync(file);
  onTestFinished(() => database.close());
  // In the way of a table that version 2 makes at its end.
  database.exec("CREATE TABLE connection (x)");
  expect(() => migrate(database)).toThrow(/connection/);
  const version = database.prepare("PRAGMA user_version").get()?.["user_version"];
  const columns = database.prepare("SELECT name FROM pragma_table_info('delivery')").all();
  expect(version).toBe(1);
  expect(columns.map(({ name }) => name)).not.toContain("body");
});

test("a ledger of a newer program is refused", () => {
  const file = versionOne();
  const database = new DatabaseSync(file);
  database.exec(`PRAGMA user_version = ${schemaVersion + 1}`);
  database.close();
  expect(() => openSqlite({ file, now: () => startAt })).toThrow(/schema/);
});
