// The driver of many processes (spec 3.5): the port's contract with no Redis anywhere, and hints through a real one that
// is flushed, frozen, killed and started again.

import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Hint, HintLane } from "../../../app/ledger/looks/hints.ts";
import { BullmqDriver, type BullmqOptions } from "../../../app/scheduler/bullmq/driver.ts";
import { tryRedis } from "../../../app/scheduler/bullmq/redis.ts";
import { hourMs, secondMs } from "../../../policies/durations.ts";
import { describeDriver, type DriverHarness } from "../../contract/driver.ts";
import { startAt } from "../../fakes/ledger.ts";
import { startRedis } from "../../services/redis.ts";

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const nobody = "redis://127.0.0.1:1";

async function makeHarness(): Promise<DriverHarness> {
  vi.useFakeTimers({ now: startAt });
  let revision = 1;
  const pollMs = 200;
  const tickMs = 15 * secondMs;
  const driver = new BullmqDriver({
    now: Date.now,
    revision: () => revision,
    pollMs,
    tickMs,
    url: nobody,
    installation: "a",
    lanes: ["looks", "turns"],
    hints: async () => [],
    log: silent,
  });
  return {
    driver,
    now: Date.now,
    passTo: async (at) => {
      await vi.advanceTimersByTimeAsync(at - Date.now());
    },
    commitElsewhere: () => {
      revision += 1;
    },
    hearMs: pollMs,
    pauseMs: tickMs,
    close: async () => {
      const stopping = driver.stop();
      vi.useRealTimers();
      await Promise.race([stopping, Promise.resolve()]);
    },
  };
}

describeDriver("bullmq, while Redis is away", makeHarness);

const redis = await startRedis();
afterAll(() => redis.close());
beforeEach(() => redis.flush());

interface Machine {
  readonly driver: BullmqDriver;
  /** When it was woken, epoch ms. */
  readonly woken: number[];
  /** What it would tell others. */
  hints: Hint[];
}

/** A machine that hears of nothing but hints: its ticks are far away, and no revision changes. */
function open(lanes: readonly HintLane[], change: Partial<BullmqOptions> = {}): Machine {
  const machine: Machine = {
    driver: new BullmqDriver({
      now: Date.now,
      revision: () => 1,
      pollMs: hourMs,
      tickMs: hourMs,
      url: redis.url,
      installation: "a",
      lanes,
      hints: async () => machine.hints,
      log: silent,
      ...change,
    }),
    woken: [],
    hints: [],
  };
  onTestFinished(() => machine.driver.stop());
  machine.driver.start(async () => void machine.woken.push(Date.now()));
  return machine;
}

async function whenReady(...machines: Machine[]): Promise<void> {
  for (const { driver } of machines) await expect.poll(() => driver.state, slow).toBe("ready");
}

const slow = { timeout: 10_000, interval: 20 };

function entry(id: string, at = 0): Hint {
  return { lane: "turns", id: `e_${id}_0`, at };
}

describe("hints", () => {
  test("wake one machine that takes turns, and none that does not", async () => {
    const server = open(["looks"]);
    const worker = open(["turns"]);
    await whenReady(server, worker);
    const before = [server.woken.length, worker.woken.length] as const;
    server.hints = [entry("1")];
    server.driver.arm(null);
    await expect.poll(() => worker.woken.length, slow).toBe(before[1] + 1);
    expect(server.woken.length).toBe(before[0]);
  });

  test("of later wake when it is time, and never before", async () => {
    const server = open([]);
    const worker = open(["turns"]);
    await whenReady(server, worker);
    const at = Date.now() + 700;
    const before = worker.woken.length;
    server.hints = [entry("1", at)];
    server.driver.arm(null);
    await expect.poll(() => worker.woken.length, slow).toBe(before + 1);
    expect(worker.woken.at(-1)).toBeGreaterThanOrEqual(at);
  });

  test("that are told again and again wake nobody before it is time, and then until somebody takes it", async () => {
    const server = open([], { tickMs: 150 });
    const worker = open(["turns"]);
    await whenReady(server, worker);
    const at = Date.now() + 800;
    server.hints = [entry("1", at)];
    const before = worker.woken.length;
    await pause(600);
    expect(worker.woken.length).toBe(before);
    // It is still there to be hinted at: whoever was woken could not take it.
    await expect.poll(() => worker.woken.length, slow).toBeGreaterThan(before + 2);
  });

  test("of another installation are none of ours", async () => {
    const server = open([], { installation: "b" });
    const worker = open(["turns"]);
    await whenReady(server, worker);
    const before = worker.woken.length;
    server.hints = [entry("1")];
    server.driver.arm(null);
    await pause(300);
    expect(worker.woken.length).toBe(before);
  });
});

describe("a Redis", () => {
  test("that is flushed gets its hints again at the tick", async () => {
    const server = open([], { tickMs: 200 });
    const worker = open(["turns"]);
    await whenReady(server, worker);
    const before = worker.woken.length;
    server.hints = [entry("1", Date.now() + 600)];
    server.driver.arm(null);
    await pause(100);
    await redis.flush();
    await expect.poll(() => worker.woken.length, slow).toBeGreaterThan(before);
  });

  test("that comes only later is used from then on, and the machine looks at once", async () => {
    await redis.kill();
    const worker = open(["turns"]);
    const server = open([]);
    await pause(300);
    expect([server.driver.state, server.woken.length]).toEqual(["away", 1]);
    await redis.start();
    await whenReady(server, worker);
    await expect.poll(() => server.woken.length, slow).toBe(2);
    const before = worker.woken.length;
    server.hints = [entry("1")];
    server.driver.arm(null);
    await expect.poll(() => worker.woken.length, slow).toBe(before + 1);
  });

  test("that dies holds up nobody, and its hints come again when it is back", async () => {
    const server = open([]);
    const worker = open(["turns"]);
    await whenReady(server, worker);
    await redis.kill();
    await expect.poll(() => server.driver.state, slow).toBe("away");
    const before = server.woken.length;
    server.hints = [entry("1")];
    server.driver.arm(Date.now() + 50);
    await expect.poll(() => server.woken.length, slow).toBe(before + 1);
    await redis.start();
    await whenReady(server, worker);
    await pause(300);
    const heard = worker.woken.length;
    server.hints = [entry("2")];
    server.driver.arm(null);
    await expect.poll(() => worker.woken.length, slow).toBe(heard + 1);
  });

  test("that freezes holds up nobody, not even the end of the process", async () => {
    const server = open(["looks"]);
    await whenReady(server);
    await redis.freeze();
    onTestFinished(() => redis.thaw());
    server.hints = [entry("1")];
    const before = server.woken.length;
    server.driver.arm(Date.now() + 50);
    await expect.poll(() => server.woken.length, slow).toBe(before + 1);
    const began = Date.now();
    await server.driver.stop();
    expect(Date.now() - began).toBeLessThan(5_000);
  });

  test("that would throw hints away is refused at a start, and not used by a process that runs", async () => {
    await redis.configure("maxmemory-policy", "allkeys-lru");
    onTestFinished(() => redis.configure("maxmemory-policy", "noeviction"));
    const evicts = expect.objectContaining({ code: "redis-evicts" });
    await expect(tryRedis(redis.url)).rejects.toThrow(evicts);
    const server = open(["looks"]);
    await expect.poll(() => server.driver.state, slow).toBe("refused");
  });

  test("that is not there is told from one that must not be used", async () => {
    const unreachable = expect.objectContaining({ code: "redis-unreachable" });
    await expect(tryRedis(nobody)).rejects.toThrow(unreachable);
    await expect(tryRedis(redis.url)).resolves.toBeUndefined();
  });
});
