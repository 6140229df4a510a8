// Redis is flushed, killed, started again and frozen while a thousand mandates wait (spec 3.5, 8.4): no wait is looked at
// later than a sweep after it was due, and deliveries are taken as if nothing were.

import { setTimeout as pause } from "node:timers/promises";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { eventsOf } from "../../../app/ledger/history.ts";
import { storeDelivery } from "../../../app/ledger/incoming/deliveries.ts";
import { changeMandate } from "../../../app/ledger/mandates.ts";
import { armWait } from "../../../app/ledger/waits.ts";
import { openPump } from "../../../app/scheduler/pump.ts";
import { openDriver } from "../../../app/serving/driver.ts";
import { Timing } from "../../../app/settings.ts";
import { hourMs, secondMs } from "../../../policies/durations.ts";
import type { MandateId } from "../../../policies/mandate/mandate.ts";
import { openBareHost } from "../../fakes/host.ts";
import { aWait, plant } from "../../fakes/ledger.ts";
import { startRedis } from "../../services/redis.ts";

const redis = await startRedis();
afterAll(() => redis.close());

const count = 1_000;
const overMs = 8_000;
const sweepMs = 2_000;

async function wait(
  host: ReturnType<typeof openBareHost>["host"],
): Promise<Map<MandateId, number>> {
  const dues = new Map<MandateId, number>();
  const from = host.ledger.now() + secondMs;
  await host.ledger.write(async (tx) => {
    for (let number = 1; number <= count; number += 1) {
      const { id } = await plant(tx, { number, entry: null, deadlineAt: from + hourMs });
      const dueAt = from + Math.floor((number * overMs) / count);
      const deadlineAt = from + hourMs;
      await armWait(tx, { mandateId: id, turnId: null }, { ...aWait, dueAt, deadlineAt });
      await changeMandate(tx, id, { status: "waiting" });
      dues.set(id, dueAt);
    }
  });
  return dues;
}

test("whatever happens to Redis, every wait is looked at in time and every delivery is taken", async () => {
  const { host: bare, clock } = openBareHost();
  const timer = setInterval(() => (clock.at = Date.now()), 5);
  onTestFinished(() => clearInterval(timer));
  clock.at = Date.now();
  const host = { ...bare, timing: Timing.parse({ sweepMs }) };
  const { ledger } = host;
  const dues = await wait(host);
  const { driver, redis: state } = await openDriver(host, {
    redisUrl: redis.url,
    lanes: ["looks"],
  });
  const pump = openPump(host, driver, { slots: 0, perRepository: 1 });
  driver.start(() => pump.wake());
  await expect.poll(state).toBe("ready");

  const taken: number[] = [];
  const over = new AbortController();
  const taking = (async () => {
    for (let number = 1; !over.signal.aborted; number += 1) {
      const began = Date.now();
      const delivery = { connection: "local", guid: `g-${number}`, event: "x", body: "" };
      expect(await ledger.append((tx) => storeDelivery(tx, delivery))).toBe(true);
      taken.push(Date.now() - began);
      await pause(20);
    }
  })();
  for (const trouble of [
    () => redis.flush(),
    () => redis.kill(),
    () => redis.start(),
    () => redis.freeze(),
    () => redis.thaw(),
    () => redis.flush(),
  ]) {
    await trouble();
    await pause(overMs / 6);
  }
  await pause(secondMs + sweepMs);
  over.abort();
  await taking;
  await driver.stop();
  await pump.idle();

  const late: number[] = [];
  for (const [id, dueAt] of dues) {
    const events = await ledger.read((sql) => eventsOf(sql, id));
    const looked = events.filter(({ kind }) => kind === "recheck-due");
    expect(looked).toHaveLength(1);
    late.push((looked[0]?.at ?? Infinity) - dueAt);
  }
  expect(Math.min(...late)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...late)).toBeLessThanOrEqual(sweepMs);
  expect(Math.max(...taken)).toBeLessThan(sweepMs);
}, 60_000);
