// What a SIGKILL leaves behind, state by state (spec 2.5, 3.1, 3.2, 5.6, 8.4): a wait, a running step that may not be
// repeated, one that may. The process is the real one; nothing but its home outlives it.

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { violations } from "../../app/doctor.ts";
import { callsOf, turnsOf } from "../../app/ledger/turns.ts";
import { waitsOf } from "../../app/ledger/waits.ts";
import { minuteMs } from "../../policies/durations.ts";
import {
  linesOf,
  longTestMs,
  mandateIn,
  openBench,
  startPast,
  traceFolder,
  until,
  untilAllIsTold,
  welcomeIssue,
  type Bench,
} from "./process.ts";

function turnsIn(bench: Bench, id: string) {
  return bench.read((sql) => turnsOf(sql, id));
}

const blocked = /^\*\*m-\w+ is blocked/;

test(
  "a waiting mandate survives SIGKILL to the millisecond and gets one recheck, one result, one branch, one pull request",
  async () => {
    const step = `git rev-parse -q --verify "refs/tags/v1" || exit 75`;
    const bench = openBench({
      policy: {
        tasks: {
          rollout: {
            steps: [
              { run: step, wait: { every: "30m", for: "6h" } },
              { run: "echo v1 >> ROLLOUT.md" },
            ],
          },
        },
      },
    });
    const first = await bench.start();
    await first.say(welcomeIssue, "@holdfast run rollout");
    const { id, branch } = await mandateIn(bench, "run rollout", "waiting");
    const [before] = await bench.read((sql) => waitsOf(sql, id));
    expect(before).toMatchObject({ state: "armed", everyMs: 30 * minuteMs });
    await first.kill();

    const second = await bench.start();
    await until("the sweep has run", async () => (await second.get("/readyz")).status === 200);
    expect(await bench.read((sql) => waitsOf(sql, id))).toEqual([before]);
    await second.kill();

    bench.repository.git(["tag", "v1"]);
    const dueAt = before?.dueAt ?? 0;
    const third = await startPast(bench, dueAt);
    await mandateIn(bench, "run rollout", "completed");
    await third.kill();
    // Once more past the same due time: what was bought is used up.
    const fourth = await startPast(bench, dueAt + 60 * minuteMs);
    await until("its result is told", async () => (await bench.told(/is done/)).length > 0);
    await untilAllIsTold(bench);
    expect(await fourth.end()).toBe(0);

    const turns = await turnsIn(bench, id);
    expect(turns.map(({ cause }) => cause)).toEqual(["request", "recheck"]);
    expect(await bench.told(/is done/)).toHaveLength(1);
    expect(bench.branches()).toBe(branch);
    expect(bench.repository.git(["show", `${branch}:ROLLOUT.md`])).toBe("v1");
    expect(await bench.pulls()).toMatchObject([{ head: branch }]);
    expect(await bench.read((sql) => violations(sql, dueAt + 60 * minuteMs))).toEqual([]);
  },
  longTestMs,
);

/** Kills the host at its first run and then holds on to the checkout; later runs tell whether the first still lives. */
function killingStep(traces: string): string {
  return [
    `cd ${JSON.stringify(traces)}`,
    "echo ran >> ran",
    // A zombie has ended: whether its new parent has looked yet is not ours to say.
    "if [ -e pid ]; then grep -qs ') [^Z]' /proc/$(cat pid)/stat && echo alive >> seen || echo gone >> seen",
    "else echo $$ > pid; kill -9 $PPID; cd - > /dev/null; sleep 300; fi",
  ].join("\n");
}

test(
  "a step that may not be repeated is not: blocked with one notice, and `recover` runs it once, alone in its checkout",
  async () => {
    const traces = traceFolder();
    const run = `${killingStep(traces)}\ncd - > /dev/null; echo mended > mended.txt`;
    const bench = openBench({ policy: { tasks: { risky: { steps: [{ run }] } } } });
    const first = await bench.start();
    await first.say(welcomeIssue, "@holdfast run risky");
    await until("its step has killed it", async () => first.hasEnded());
    expect((await mandateIn(bench, "run risky", "running")).reason).toBeNull();

    const second = await bench.start();
    const { id, reason } = await mandateIn(bench, "run risky", "blocked");
    expect(reason).toBe("recovery-uncertain");
    await until("the block is told", async () => (await bench.told(blocked)).length > 0);
    const [notice = ""] = await bench.told(blocked);
    expect(notice).toContain(`recover ${id}`);
    expect(linesOf(join(traces, "ran"))).toHaveLength(1);
    await second.kill();

    const third = await bench.start();
    await third.say(welcomeIssue, `@holdfast recover ${id}`);
    await mandateIn(bench, "run risky", "completed");
    await untilAllIsTold(bench);
    expect(linesOf(join(traces, "ran"))).toHaveLength(2);
    expect(linesOf(join(traces, "seen"))).toEqual(["gone"]);
    expect(await bench.told(blocked)).toHaveLength(1);
    expect(await bench.told(/is done/)).toHaveLength(1);
    expect((await turnsIn(bench, id)).map(({ cause }) => cause)).toEqual(["request", "recover"]);

    await third.say(welcomeIssue, `@holdfast recover ${id}`);
    await until("it is answered", async () => (await bench.told()).length > 3);
    expect(linesOf(join(traces, "ran"))).toHaveLength(2);
  },
  longTestMs,
);

test(
  "a step that says `repeat: safe` gets a recovery turn when the first pause is over, not before",
  async () => {
    const traces = traceFolder();
    const run = `${killingStep(traces)}\ncd - > /dev/null; echo safe > safe.txt`;
    const bench = openBench({ policy: { tasks: { safe: { steps: [{ run, repeat: "safe" }] } } } });
    const first = await bench.start();
    await first.say(welcomeIssue, "@holdfast run safe");
    await until("its step has killed it", async () => first.hasEnded());

    const second = await bench.start();
    const { id } = await mandateIn(bench, "run safe", "queued");
    const [entry] = await bench.read((sql) =>
      sql.all<{ availableAt: number; createdAt: number; kind: string }>(
        "SELECT kind, available_at, created_at FROM inbox WHERE state = 'queued'",
      ),
    );
    const { availableAt = 0, createdAt = 0, kind } = entry ?? {};
    expect([kind, availableAt - createdAt]).toEqual(["continuation", minuteMs]);
    expect(linesOf(join(traces, "ran"))).toHaveLength(1);
    await second.kill();

    const third = await startPast(bench, availableAt);
    await mandateIn(bench, "run safe", "completed");
    await untilAllIsTold(bench);
    expect(await third.end()).toBe(0);
    expect(linesOf(join(traces, "ran"))).toHaveLength(2);
    expect(linesOf(join(traces, "seen"))).toEqual(["gone"]);
    const turns = await turnsIn(bench, id);
    expect(turns).toMatchObject([{ end: { kind: "died" } }, { end: { kind: "completed" } }]);
    const calls = await bench.read((sql) => callsOf(sql, turns[0]?.id ?? 0));
    expect(calls).toMatchObject([{ step: 0, finishedAt: null }]);
    expect(await bench.told(blocked)).toEqual([]);
    expect(await bench.told(/is done/)).toHaveLength(1);
  },
  longTestMs,
);

test(
  "work that was lost before it was published is said to be lost, not empty",
  async () => {
    const traces = traceFolder();
    const go = `${JSON.stringify(traces)}/go`;
    const run = `echo new > new.txt; until [ -e ${go} ]; do sleep 0.1; done`;
    const bench = openBench({ policy: { tasks: { slow: { steps: [{ run }] } } } });
    const first = await bench.start();
    await first.say(welcomeIssue, "@holdfast run slow");
    await mandateIn(bench, "run slow", "running");
    await first.say(welcomeIssue, "@holdfast pause");
    await until("the pause is laid", async () =>
      bench.read((sql) => sql.first("SELECT 1 AS one FROM hold")),
    );
    writeFileSync(join(traces, "go"), "");
    const { id } = await mandateIn(bench, "run slow", "queued");
    await first.kill();
    for (const name of ["work", "shadow"]) rmSync(join(bench.home, name), { recursive: true });

    const second = await bench.start();
    await second.say(welcomeIssue, "@holdfast resume");
    expect((await mandateIn(bench, "run slow", "blocked")).reason).toBe("checkout-failed");
    await untilAllIsTold(bench);
    const [notice, ...more] = await bench.told(blocked);
    expect(notice).toContain("is nowhere any more");
    expect(notice).toContain(`continue ${id}`);
    expect(more).toEqual([]);
    expect(bench.branches()).toBe("");
  },
  longTestMs,
);
