// Asked to end (spec 7.5, 2.1): SIGTERM lets what runs finish within the grace, or cancels it with its work saved, and
// ends with exit code 0 at every moment; the next start goes on from there.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { turnsOf } from "../../app/ledger/turns.ts";
import {
  linesOf,
  longTestMs,
  mandateIn,
  openBench,
  traceFolder,
  until,
  untilAllIsTold,
  welcomeIssue,
} from "./process.ts";

/** Runs until it is told to end, with half of its work done. */
function slowStep(traces: string): string {
  const folder = JSON.stringify(traces);
  return [
    `echo ran >> ${folder}/ran; echo half > half.txt`,
    `until [ -e ${folder}/go ]; do sleep 0.1; done`,
    "echo whole > whole.txt",
  ].join("\n");
}

test(
  "SIGTERM lets the running turn finish within its grace, and the result is told once",
  async () => {
    const traces = traceFolder();
    const steps = [{ run: slowStep(traces) }];
    const bench = openBench({
      policy: { tasks: { slow: { steps } } },
      timing: { drainMs: 60_000 },
    });
    const first = await bench.start();
    await first.say(welcomeIssue, "@holdfast run slow");
    await until("the step runs", async () => linesOf(join(traces, "ran")).length === 1);
    const ended = first.end();
    await until("it has heard", async () => first.said().includes("Stopping"));
    writeFileSync(join(traces, "go"), "");
    expect(await ended).toBe(0);
    const [mandate] = await bench.mandates();
    const id = mandate?.id ?? "";
    expect(await bench.read((sql) => turnsOf(sql, id))).toMatchObject([
      { end: { kind: "completed" }, settlement: { status: expect.any(String) } },
    ]);

    const second = await bench.start();
    const { branch } = await mandateIn(bench, "run slow", "completed");
    await untilAllIsTold(bench);
    expect(await second.end()).toBe(0);
    expect(linesOf(join(traces, "ran"))).toHaveLength(1);
    expect(bench.repository.git(["show", `${branch}:whole.txt`])).toBe("whole");
    expect(await bench.told(/is done/)).toHaveLength(1);
  },
  longTestMs,
);

test(
  "beyond the grace the turn is cancelled with its work saved, and goes on at the next start",
  async () => {
    const traces = traceFolder();
    const steps = [{ run: slowStep(traces), repeat: "safe" }];
    const bench = openBench({ policy: { tasks: { slow: { steps } } }, timing: { drainMs: 200 } });
    const first = await bench.start();
    await first.say(welcomeIssue, "@holdfast run slow");
    await until("the step runs", async () => linesOf(join(traces, "ran")).length === 1);
    expect(await first.end()).toBe(0);
    const { id, counters } = await mandateIn(bench, "run slow", "queued");
    expect(counters.attempts).toBe(0);
    expect(await bench.read((sql) => turnsOf(sql, id))).toMatchObject([
      {
        end: { kind: "cancelled", by: "drain" },
        savedCommit: expect.stringMatching(/^[0-9a-f]{40}$/),
      },
    ]);

    writeFileSync(join(traces, "go"), "");
    await bench.start();
    const { branch } = await mandateIn(bench, "run slow", "completed");
    expect(linesOf(join(traces, "ran"))).toHaveLength(2);
    expect(bench.repository.git(["show", `${branch}:half.txt`])).toBe("half");
    await untilAllIsTold(bench);
    expect(await bench.told(/is blocked/)).toEqual([]);
  },
  longTestMs,
);

test.each([400, 700, 1_000])(
  "SIGTERM %i ms after the call leaves a home that starts",
  async (ms) => {
    const bench = openBench({ policy: { tasks: {} } });
    const first = bench.launch();
    await pause(ms);
    const code = await first.end();
    // Before the program could listen for it, the signal's own effect is all there is.
    expect([0, null]).toContain(code);
    if (first.said().includes("Stopping")) expect(code).toBe(0);
    const second = await bench.start();
    expect(await second.end()).toBe(0);
  },
  longTestMs,
);
