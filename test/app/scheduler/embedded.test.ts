// The driver of one process (spec 3.5): the port's contract, under a clock that the test moves.
import { expect, onTestFinished, test, vi } from "vitest";
import { EmbeddedDriver } from "../../../app/scheduler/embedded.ts";
import { dayMs, secondMs } from "../../../policies/durations.ts";
import { describeDriver, type DriverHarness } from "../../contract/driver.ts";
import { startAt } from "../../fakes/ledger.ts";

const pollMs = 200;
const tickMs = 15 * secondMs;

async function makeHarness(): Promise<DriverHarness> {
  vi.useFakeTimers({ now: startAt });
  let revision = 1;
  const driver = new EmbeddedDriver({ now: Date.now, revision: () => revision, pollMs, tickMs });
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

describeDriver("embedded", makeHarness);

test("an instant beyond what a timer can hold is no reason to look now", async () => {
  vi.useFakeTimers({ now: startAt });
  onTestFinished(() => void vi.useRealTimers());
  const driver = new EmbeddedDriver({
    now: Date.now,
    revision: () => 1,
    pollMs: dayMs,
    tickMs: 100 * dayMs,
  });
  let wakes = 0;
  driver.start(async () => {
    wakes += 1;
  });
  driver.arm(startAt + 60 * dayMs);
  await vi.advanceTimersByTimeAsync(dayMs - 1);
  expect(wakes).toBe(1);
  await driver.stop();
});
