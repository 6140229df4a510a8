// Reading raw deliveries (spec 6.2): what each speaks of, also where its connection opens only later.

import { expect, test } from "vitest";
import type { Webhooks } from "../../../app/forge/webhooks.ts";
import { readDeliveries } from "../../../app/intake/reading.ts";
import { findConnection } from "../../../app/ledger/incoming/connections.ts";
import { openDeliveries } from "../../../app/ledger/incoming/deliveries.ts";
import { secondMs } from "../../../policies/durations.ts";
import { openIntake, textEvent } from "../../fakes/intake.ts";

test("what comes before its connection is open waits, and is read when it is", async () => {
  const { host } = openIntake();
  const webhooks = new Map<string, Webhooks>();
  const intake = openIntake({ webhooks });
  const { ledger } = intake.host;
  const [[connection, open] = []] = host.webhooks;
  const cameAt = intake.clock.at;
  await intake.deliver("g-1", [textEvent("1")]);
  for (const lookAt of [0, 1, 2].map((count) => cameAt + count * secondMs)) {
    intake.clock.at = lookAt;
    expect(await readDeliveries(intake.host)).toBe(1);
    expect(await readDeliveries(intake.host)).toBe(0);
  }
  const row = await ledger.read((sql) => findConnection(sql, connection ?? ""));
  expect(row?.lastDeliveryAt).toBe(cameAt);
  if (connection !== undefined && open !== undefined) webhooks.set(connection, open);
  intake.clock.at += secondMs;
  await intake.accept();
  expect(Object.keys(await intake.outcomes())).toEqual(["g-1"]);
});

test("what is not what its event promises is finished, and hinders no other", async () => {
  const intake = openIntake();
  await intake.deliver("g-1", null);
  await intake.deliver("g-2", []);
  expect(await readDeliveries(intake.host)).toBe(2);
  expect(await intake.outcomes()).toEqual({ "g-1": "bad-delivery", "g-2": "ignored" });
});

test("what two processes read at the same time is read once, and nothing of it is lost", async () => {
  const intake = openIntake();
  await intake.deliver("g-1", [textEvent("1")]);
  await intake.deliver("g-2", null);
  await Promise.all([readDeliveries(intake.host), readDeliveries(intake.host)]);
  const open = await intake.host.ledger.read((sql) => openDeliveries(sql, intake.clock.at, 10));
  expect(open.map(({ guid }) => guid)).toEqual(["g-1"]);
  expect(await intake.outcomes()).toEqual({ "g-2": "bad-delivery" });
});
