// Finding what was missed (spec 6.2; I4).
import { describe, expect, test } from "vitest";
import { reconcile } from "../../../app/intake/reconcile.ts";
import { findConnection } from "../../../app/ledger/incoming/connections.ts";
import { hourMs, minuteMs } from "../../../policies/durations.ts";
import { Failure } from "../../../policies/failure.ts";
import { openIntake, textEvent, type Intake } from "../../fakes/intake.ts";
import { connection, repository, self, write } from "../../fakes/network-forge.ts";

const build = "@holdfast run build";

/** An installation that was started once before. */
async function started(): Promise<Intake> {
  const intake = openIntake();
  await reconcile(intake.host, { isStart: true });
  return intake;
}

describe("texts that no delivery told of", () => {
  test("a comment made while nobody listened is found at the next start", async () => {
    const intake = await started();
    intake.clock.at += 5 * hourMs;
    write(intake.world, { id: "11", body: build, at: intake.clock.at - hourMs });
    expect(await reconcile(intake.host, { isStart: true })).toBe(1);
    await intake.accept();
    expect(await intake.titles()).toEqual(["run build"]);
    expect(await reconcile(intake.host, { isStart: true })).toBe(0);
  });

  test("one whose delivery came is not found, and a delivery after the find is a duplicate", async () => {
    const intake = await started();
    intake.clock.at += hourMs;
    write(intake.world, { id: "11", body: build, at: intake.clock.at });
    await intake.deliver("g-11", [textEvent("11")]);
    await intake.accept();
    expect(await reconcile(intake.host, { isStart: true })).toBe(0);
    write(intake.world, { id: "12", body: build, at: intake.clock.at });
    expect(await reconcile(intake.host, { isStart: true })).toBe(1);
    await intake.deliver("g-12", [textEvent("12")]);
    await intake.accept();
    expect(await intake.titles()).toHaveLength(2);
    expect(await intake.outcomes()).toMatchObject({ "g-12": "duplicate" });
  });

  test("what was there before the installation is left alone", async () => {
    const intake = openIntake();
    write(intake.world, { id: "11", body: build, at: intake.clock.at - minuteMs });
    expect(await reconcile(intake.host, { isStart: true })).toBe(0);
    await intake.accept();
    expect(await intake.titles()).toEqual([]);
  });

  test("an old comment that was edited meanwhile runs nothing", async () => {
    const intake = await started();
    const { at } = intake.clock;
    intake.clock.at += 5 * hourMs;
    write(intake.world, { id: "11", body: build, at: at - 5 * hourMs, changedAt: intake.clock.at });
    await reconcile(intake.host, { isStart: true });
    await intake.accept();
    expect(await intake.titles()).toEqual([]);
  });

  test("our own texts and those without a command are passed over", async () => {
    const intake = await started();
    intake.clock.at += hourMs;
    write(intake.world, { id: "11", body: build, author: self, at: intake.clock.at });
    write(intake.world, { id: "12", body: "thanks", at: intake.clock.at });
    expect(await reconcile(intake.host, { isStart: true })).toBe(0);
  });

  test("between starts it looks once an hour", async () => {
    const intake = await started();
    intake.world.calls.length = 0;
    await reconcile(intake.host, { isStart: false });
    expect(intake.world.calls).not.toContain("textsSince");
    intake.clock.at += hourMs;
    await reconcile(intake.host, { isStart: false });
    expect(intake.world.calls).toContain("textsSince");
  });

  test("what a silent forge could not tell is looked for again from the same instant", async () => {
    const intake = await started();
    intake.clock.at += hourMs;
    write(intake.world, { id: "11", body: build, at: intake.clock.at });
    intake.world.down.add("textsSince");
    expect(await reconcile(intake.host, { isStart: false })).toBe(0);
    await expect(reconcile(intake.host, { isStart: true })).rejects.toThrow(Failure);
    intake.world.down.delete("textsSince");
    expect(await reconcile(intake.host, { isStart: false })).toBe(1);
  });
});

describe("deliveries that failed", () => {
  test("are asked for again every five minutes, those that are here are not", async () => {
    const intake = await started();
    await intake.deliver("here", []);
    const { at } = intake.clock;
    intake.world.failed.push({ id: "1", guid: "here", at }, { id: "2", guid: "missed", at });
    expect(await reconcile(intake.host, { isStart: false })).toBe(0);
    intake.clock.at += 5 * minuteMs;
    expect(await reconcile(intake.host, { isStart: false })).toBe(1);
    expect(intake.world.redelivered).toEqual(["2"]);
    const row = await intake.host.ledger.read((sql) => findConnection(sql, connection));
    expect(row).toMatchObject({ sweptAt: intake.clock.at, recovered: 1 });
  });
});

test("repositories of the installation are known from the start", async () => {
  const intake = openIntake();
  intake.world.repositories.set("8", repository("8", "org/wall"));
  await reconcile(intake.host, { isStart: true });
  const rows = await intake.host.ledger.read((sql) =>
    sql.all<{ name: string; account: string }>("SELECT name, account FROM repository ORDER BY id"),
  );
  expect(rows.map(({ name, account }) => [name, account])).toEqual([
    ["org/door", "55"],
    ["org/wall", "55"],
  ]);
});
