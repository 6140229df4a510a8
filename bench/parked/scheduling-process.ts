// Ours in the benches of waits, as a process of its own (spec 8.5): the real pump, driver and sweep on a ledger on disk,
// with a clock that was set ahead. Says when it is ready; when its input ends it stops and prints what it did.

import { once } from "node:events";
import type { Ledger } from "../../app/ledger/ledger.ts";
import { openSqlite } from "../../app/ledger/sqlite/sqlite.ts";
import { openPump } from "../../app/scheduler/pump.ts";
import { sweep } from "../../app/scheduler/sweep.ts";
import { openDriver } from "../../app/serving/driver.ts";
import { openParkedHost } from "./host.ts";

export interface SchedulingOptions {
  readonly file: string;
  readonly redisUrl: string | null;
  readonly aheadMs: number;
  /** Sweeps that are timed before anything else. */
  readonly sweeps: number;
}

/** What this process prints at its end. */
export interface Scheduled {
  /** When a commit became durable, by the instant of its transactions; both by the process's clock. */
  readonly commits: readonly (readonly [at: number, durableAt: number])[];
  readonly sweepMs: readonly number[];
  readonly peakMb: number;
}

const { file, redisUrl, aheadMs, sweeps } = JSON.parse(process.argv[2] ?? "") as SchedulingOptions;
const commits = new Map<number, number>();
const ledger = noting(openSqlite({ file, now: () => Date.now() + aheadMs }));
const host = openParkedHost(ledger);
const { driver, redis } = await openDriver(host, { redisUrl, lanes: ["looks"] });
// Its turns are all taken: what is measured is the wait's own claim.
const pump = openPump(host, driver, { slots: 0, perRepository: 2 });
const sweepMs: number[] = [];
for (let index = 0; index < sweeps; index += 1) {
  const beganAt = performance.now();
  await sweep(host);
  sweepMs.push(performance.now() - beganAt);
}
driver.start(() => pump.wake());
while (redis() === "away") await new Promise((resolve) => setTimeout(resolve, 10));
console.log("ready");
await once(process.stdin.resume(), "end");
await driver.stop();
await pump.idle();
await ledger.close();
const { maxRSS } = process.resourceUsage();
const scheduled: Scheduled = { commits: [...commits], sweepMs, peakMb: maxRSS / 1_024 };
console.log(JSON.stringify(scheduled));

function noting(inner: Ledger): Ledger {
  return {
    now: () => inner.now(),
    revision: () => inner.revision(),
    read: (question) => inner.read(question),
    append: (change) => inner.append(change),
    close: () => inner.close(),
    write: async (change) => {
      let at = 0;
      const value = await inner.write((tx) => {
        at = tx.now;
        return change(tx);
      });
      commits.set(at, inner.now());
      return value;
    },
  };
}
