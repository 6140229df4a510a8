// Two real processes that meet (spec 2.1, 3.2, 3.5, 8.2): on one home the second is told who holds it; on one ledger,
// past the lock, each due time is one recheck and each claim one run, whoever sleeps or is blocked.

import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { violations } from "../../app/doctor.ts";
import { turnsOf } from "../../app/ledger/turns.ts";
import { waitsOf } from "../../app/ledger/waits.ts";
import { holdfast } from "../app/cli/holdfast.ts";
import { temporaryFolder } from "../fakes/repository.ts";
import {
  linesOf,
  longTestMs,
  makeDue,
  mandateIn,
  openBench,
  quickTiming,
  traceFolder,
  until,
  untilAllIsTold,
  welcomeIssue,
  type Bench,
} from "./process.ts";

/** Publishes nothing: each process has checkouts of its own, and what one made the other does not have. */
const patient = {
  publish: { on: "request" },
  tasks: {
    rollout: {
      steps: [
        {
          run: "git rev-parse -q --verify refs/tags/v1 || exit 75",
          wait: { every: "30m", for: "6h" },
        },
        { run: "echo v1 > ROLLOUT.md" },
      ],
    },
  },
};

test(
  "a second process on one home is told who holds it and where, and disturbs nothing",
  async () => {
    const bench = openBench({ policy: patient });
    const first = await bench.start();
    await first.say(welcomeIssue, "@holdfast run rollout");
    const { id } = await mandateIn(bench, "run rollout", "waiting");
    await untilAllIsTold(bench);
    const before = await bench.read((sql) => waitsOf(sql, id));

    const second = await holdfast(bench, "local", bench.repository.path, "--port", "0");
    expect(second.exitCode).toBe(1);
    expect(second.stdout).toBe("");
    const [what, why, help] = second.stderr.split("\n").map((line) => line.trim());
    expect(what).toBe("`holdfast local` failed.");
    expect(why).toMatch(
      new RegExp(`^Why: process ${first.pid}, started at \\S+, serves this home at `),
    );
    expect(why).toContain(/http:\/\/[\w.:]+/.exec(first.said())?.[0]);
    expect(help).toContain("end it first, or choose another home with HOLDFAST_HOME");

    expect(first.hasEnded()).toBe(false);
    expect((await first.get("/readyz")).status).toBe(200);
    expect(await bench.read((sql) => waitsOf(sql, id))).toEqual(before);
    expect(await first.end()).toBe(0);
    const third = await bench.start();
    expect(await third.end()).toBe(0);
  },
  longTestMs,
);

test(
  "the home of a killed process is free at once",
  async () => {
    const bench = openBench({ policy: patient });
    await (await bench.start()).kill();
    const second = await bench.start();
    expect((await second.get("/readyz")).status).toBe(200);
  },
  longTestMs,
);

/** Another home whose ledger is the first one's: two locks, two sets of checkouts, one truth. */
function homeBeside(bench: Bench): string {
  const home = join(temporaryFolder(), "home");
  mkdirSync(home);
  symlinkSync(join(bench.home, "ledger.sqlite"), join(home, "ledger.sqlite"));
  copyFileSync(join(bench.home, "secrets.json"), join(home, "secrets.json"));
  return home;
}

const waitCount = 6;

test(
  "two processes at the same due times give one recheck each",
  async () => {
    const bench = openBench({ policy: patient });
    const first = await bench.start();
    await first.say(welcomeIssue, "@holdfast run rollout");
    for (let more = 1; more < waitCount; more += 1) {
      const form = { title: "Roll it out", body: "@holdfast run rollout", key: `issue ${more}` };
      expect(await first.post("/new", form)).toBe(303);
    }
    await until("all wait", async () => {
      const mandates = await bench.mandates();
      return mandates.length === waitCount && mandates.every(({ status }) => status === "waiting");
    });
    await bench.start({ home: homeBeside(bench) });
    bench.repository.git(["tag", "v1"]);
    const dueAt = Date.now() + 2_000;
    makeDue(bench, dueAt);
    await until("all are completed", async () =>
      (await bench.mandates()).every(({ status }) => status === "completed"),
    );
    await untilAllIsTold(bench);

    const rechecks = await bench.read((sql) =>
      sql.all<{ waitId: number }>(
        "SELECT wait_id FROM inbox WHERE kind = 'recheck' ORDER BY wait_id",
      ),
    );
    expect(new Set(rechecks.map(({ waitId }) => waitId)).size).toBe(waitCount);
    expect(rechecks).toHaveLength(waitCount);
    for (const { id } of await bench.mandates()) {
      const turns = await bench.read((sql) => turnsOf(sql, id));
      expect(turns.map(({ cause }) => cause)).toEqual(["request", "recheck"]);
    }
    expect(await bench.told(/is done/)).toHaveLength(1);
    expect(await bench.read((sql) => violations(sql, Date.now()))).toEqual([]);
  },
  longTestMs,
);

/** A step that may not be repeated and ends when it is told to. */
function slowTask(traces: string) {
  const folder = JSON.stringify(traces);
  const run = `echo ran >> ${folder}/ran; until [ -e ${folder}/go ]; do sleep 0.1; done; echo ok > ok.txt`;
  return { tasks: { slow: { steps: [{ run }] } } };
}

test(
  "an event loop blocked for three leases loses no claim: the rival finds nothing to take, the step runs once",
  async () => {
    const traces = traceFolder();
    const bench = openBench({ policy: slowTask(traces) });
    const blocked = await bench.start({ nodeOptions: ["--inspect=127.0.0.1:0"] });
    await blocked.say(welcomeIssue, "@holdfast run slow");
    await until("the step runs", async () => linesOf(join(traces, "ran")).length === 1);
    const rival = await bench.start({ home: homeBeside(bench) });

    const blockMs = 3 * quickTiming.leaseMs;
    const blocking = evaluate(
      blocked.said(),
      `{ const from = Date.now(); while (Date.now() < from + ${blockMs}); Date.now() - from }`,
    );
    // The rival sweeps all the while: the ledger is its to write.
    expect((await rival.get("/readyz")).status).toBe(200);
    expect(await blocking).toBeGreaterThanOrEqual(blockMs);
    expect((await rival.get("/readyz")).status).toBe(200);

    writeFileSync(join(traces, "go"), "");
    const { id } = await mandateIn(bench, "run slow", "completed");
    expect(linesOf(join(traces, "ran"))).toHaveLength(1);
    expect(await bench.read((sql) => turnsOf(sql, id))).toMatchObject([
      { end: { kind: "completed" } },
    ]);
    expect(await leasesLost(bench)).toBe(0);
  },
  longTestMs,
);

test(
  "a process that slept through its lease finds its claim taken, and its late result changes nothing",
  async () => {
    const traces = traceFolder();
    const bench = openBench({ policy: slowTask(traces) });
    const sleeper = await bench.start();
    await sleeper.say(welcomeIssue, "@holdfast run slow");
    await until("the step runs", async () => linesOf(join(traces, "ran")).length === 1);
    const rival = await bench.start({ home: homeBeside(bench) });
    process.kill(sleeper.pid, "SIGSTOP");
    const { id, reason } = await mandateIn(bench, "run slow", "blocked");
    expect(reason).toBe("recovery-uncertain");
    expect(await leasesLost(bench)).toBe(1);
    process.kill(sleeper.pid, "SIGCONT");
    await until("it has noticed", async () => sleeper.said().includes("stale result refused"));

    const turns = await bench.read((sql) => turnsOf(sql, id));
    expect(turns).toMatchObject([{ end: { kind: "uncertain" } }]);
    expect((await mandateIn(bench, "run slow", "blocked")).reason).toBe("recovery-uncertain");
    expect(linesOf(join(traces, "ran"))).toHaveLength(1);
    await untilAllIsTold(bench);
    expect(await bench.told(/^\*\*m-\w+ is blocked/)).toHaveLength(1);
    expect((await sleeper.get("/readyz")).status).toBe(200);
    expect((await rival.get("/readyz")).status).toBe(200);
  },
  longTestMs,
);

async function leasesLost(bench: Bench): Promise<number> {
  const lost = await bench.read((sql) => sql.all("SELECT 1 FROM event WHERE kind = 'lease-lost'"));
  return lost.length;
}

/** Runs an expression on the main thread of a process that listens for a debugger; its value. */
async function evaluate(said: string, expression: string): Promise<number> {
  const address = /Debugger listening on (ws:\S+)/.exec(said)?.[1];
  if (address === undefined) throw new Error(`it listens for no debugger: ${said}`);
  const socket = new WebSocket(address);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  socket.addEventListener("open", () => {
    socket.send(JSON.stringify({ id: 1, method: "Runtime.evaluate", params: { expression } }));
  });
  socket.addEventListener("error", () => reject(new Error("the debugger's connection broke")));
  socket.addEventListener("message", ({ data }) => {
    const answer = JSON.parse(String(data)) as {
      id?: number;
      result?: { result: { value: number } };
    };
    if (answer.id === 1) resolve(answer.result?.result.value ?? Number.NaN);
  });
  try {
    return await promise;
  } finally {
    socket.close();
  }
}
