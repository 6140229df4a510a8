// `holdfast ledger copy` (spec 7.1): a home with a wait and files moves to a real PostgreSQL, and goes on there; a copy
// that cannot be whole leaves nothing.

import { join } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { copy } from "../../../app/cli/ledger.ts";
import { openHome } from "../../../app/home.ts";
import { claimEntries } from "../../../app/ledger/inbox.ts";
import type { Ledger } from "../../../app/ledger/ledger.ts";
import { dueMandates } from "../../../app/ledger/looks/due.ts";
import { changeMandate, listMandates } from "../../../app/ledger/mandates.ts";
import { post } from "../../../app/ledger/outbox.ts";
import { openLedger } from "../../../app/ledger/store/open.ts";
import { armWait, liveWait } from "../../../app/ledger/waits.ts";
import { readSettings, type Settings } from "../../../app/settings.ts";
import { Failure } from "../../../policies/failure.ts";
import { aWait, claimLimits, plant } from "../../fakes/ledger.ts";
import { temporaryFolder } from "../../fakes/repository.ts";
import { startPostgres } from "../../services/postgres.ts";

const postgres = await startPostgres();
afterAll(() => postgres.stop());

function settingsOf(home: string): Settings {
  const decision = readSettings({ HOLDFAST_HOME: home });
  if (!decision.ok) throw new Error(decision.problems.join());
  return decision.settings;
}

/** A home in which one mandate waits, one is queued and one has ended. */
async function begin(): Promise<{ settings: Settings; file: string; waiting: string }> {
  const home = join(temporaryFolder(), "home");
  const settings = settingsOf(home);
  const opened = await openHome({ settings, mode: "use" });
  const waiting = await opened.ledger.write(async (tx) => {
    const { id, conversationId } = await plant(tx, { number: 1, entry: null });
    await armWait(tx, { mandateId: id, turnId: null }, aWait);
    await changeMandate(tx, id, { status: "waiting" });
    await post(tx, {
      key: "note",
      conversationId,
      mandateId: id,
      kind: "tell",
      payload: { body: "naïve 🚪" },
    });
    await plant(tx, { number: 2 });
    const ended = await plant(tx, { number: 3, entry: null });
    await changeMandate(tx, ended.id, { status: "stopped" });
    return id;
  });
  await opened.close();
  return { settings, file: join(home, "ledger.sqlite"), waiting };
}

async function open(url: string): Promise<Ledger> {
  const ledger = await openLedger(url);
  onTestFinished(() => ledger.close());
  return ledger;
}

test("everything is there afterwards, and goes on there", async () => {
  const { settings, file, waiting } = await begin();
  const url = await postgres.createDatabase();
  const ending = await copy(settings, { from: file, to: url });
  expect(ending).toEqual(expect.objectContaining({ ok: true, exitCode: 0 }));
  const ledger = await open(url);
  const mandates = await ledger.read((sql) => listMandates(sql, { limit: 10 }));
  expect(mandates.map(({ status }) => status).toSorted()).toEqual(["queued", "stopped", "waiting"]);
  expect(await ledger.read((sql) => liveWait(sql, waiting))).toMatchObject(aWait);
  const due = await ledger.read((sql) => dueMandates(sql, aWait.dueAt, 10));
  expect(due.map(({ id }) => id)).toContain(waiting);
  const texts = await ledger.read((sql) =>
    sql.all("SELECT payload_json FROM outbox WHERE key = 'note'"),
  );
  expect(texts).toEqual([{ payload: { body: "naïve 🚪" } }]);
  // New rows are numbered after the old ones.
  const [claim] = await ledger.write((tx) => claimEntries(tx, claimLimits));
  expect(claim).toBeDefined();
  const { id } = await ledger.write((tx) => plant(tx, { number: 9 }));
  expect(id).toMatch(/^m-/);
});

test("the marks in comments of before are known to whoever works on the copy", async () => {
  const { settings, file } = await begin();
  const url = await postgres.createDatabase();
  await copy(settings, { from: file, to: url });
  const old = await openHome({ settings, mode: "use" });
  const other = await openHome({
    settings: { ...settingsOf(join(temporaryFolder(), "home")), ledgerUrl: url },
    mode: "use",
  });
  expect(other.secrets.markerKey).toBe(old.secrets.markerKey);
  await old.close();
  await other.close();
});

test("a database with something in it is refused, and nothing of it changes", async () => {
  const { settings, file } = await begin();
  const url = await postgres.createDatabase();
  const ledger = await open(url);
  await ledger.write((tx) => plant(tx));
  const failure = await copy(settings, { from: file, to: url }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(Failure);
  expect(failure).toMatchObject({ code: "ledger-not-empty" });
  expect(await ledger.read((sql) => listMandates(sql, { limit: 10 }))).toHaveLength(1);
});

test("a home that is being served is refused", async () => {
  const { settings, file } = await begin();
  const serving = await openHome({ settings, mode: "serve" });
  onTestFinished(() => serving.close());
  const url = await postgres.createDatabase();
  const failure = await copy(settings, { from: file, to: url }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "home-held" });
});

test.each([
  ["a file that is no ledger", "/tmp/other.sqlite", "postgres://a@b/c", /is no ledger\.sqlite/],
  ["no database", "/tmp/ledger.sqlite", undefined, /no PostgreSQL to copy to/],
  ["another kind of database", "/tmp/ledger.sqlite", "mysql://canary@b/c", /no PostgreSQL/],
])("%s is wrong usage", async (...[, from, to, words]) => {
  const ending = await copy(settingsOf(temporaryFolder()), { from, to });
  expect(ending).toMatchObject({ ok: false, exitCode: 2, why: expect.stringMatching(words) });
});
