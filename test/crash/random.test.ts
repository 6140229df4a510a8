// SIGKILL at random moments, one seed (spec 8.4): people ask over the page while the process is killed again and again,
// and at the end an independent list of what they asked and what its steps did is held against ledger and repository.

import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { violations } from "../../app/doctor.ts";
import { conversationOf } from "../../app/ledger/conversations.ts";
import type { MandateRow } from "../../app/ledger/mandates.ts";
import { minuteMs, secondMs } from "../../policies/durations.ts";
import { Dice } from "../simulation/faults.ts";
import {
  linesOf,
  openBench,
  toldIn,
  traceFolder,
  until,
  welcomeIssue,
  type Bench,
  type Product,
} from "./process.ts";

const seed = Number(process.env["HOLDFAST_CRASH_SEED"] ?? 1);
const killCount = 25;
const conversationCount = 4;
const roundOfRelease = 12;
/** The last rounds only kill. */
const roundsWithQuestions = 20;
/** A process is killed when it has written up to so many times, or has nothing to write for a while. */
const writesLimit = 60;
const idleMsLimit = 2_000;
const minutesOfTest = 8;

/** What a person asked for: once, however often the process died before it answered. */
interface Asked {
  readonly key: string;
  readonly number: number;
  readonly task: string;
  readonly name: string;
  isAnswered: boolean;
}

/** Each step leaves a line outside of the checkout: what has really run. */
function policyOf(traces: string): object {
  function step(number: number): string {
    const trace = `echo "$(basename "$HOLDFAST_CHECKOUT") ${number}" >> ${JSON.stringify(traces)}/ran`;
    return `${trace}; sleep 0.15; echo ${number} > "$NAME-${number}.txt"`;
  }
  const inputs = { NAME: { required: true, pattern: "[a-z0-9]+" } };
  const wait = { every: "1m", for: "6h" };
  const look = `test -e ${JSON.stringify(traces)}/released || exit 75`;
  return {
    tasks: {
      safe: { inputs, steps: [1, 2, 3].map((n) => ({ run: step(n), repeat: "safe" })) },
      careful: { inputs, steps: [1, 2].map((n) => ({ run: step(n) })) },
      patient: { inputs, steps: [{ run: look, wait }, { run: step(2) }] },
    },
  };
}

test(
  `killed ${killCount} times at random (seed ${seed}): nothing silent, nothing lost, nothing doubled`,
  async () => {
    const dice = new Dice(seed);
    const traces = traceFolder();
    const bench = openBench({ policy: policyOf(traces) });
    await openConversations(bench);
    const asked: Asked[] = [];
    let aheadMs = 0;
    let cutOff = 0;
    for (let kills = 0; kills < killCount; kills += 1) {
      const product = bench.launch({ aheadMs });
      // Most are killed at work, some while they start.
      if (!dice.chance(0.2)) await product.ready;
      if (kills < roundsWithQuestions) asked.push(...questions(dice, kills));
      if (kills === roundOfRelease) writeFileSync(join(traces, "released"), "");
      const asking = ask(product, asked);
      await afterWrites(bench.home, dice.between(0, writesLimit));
      await product.kill();
      await asking;
      cutOff += await runningCount(bench);
      const found = await bench.read((sql) => violations(sql, Date.now() + aheadMs));
      expect(found.filter(({ isLate }) => !isLate)).toEqual([]);
      aheadMs += dice.between(5 * secondMs, 50 * secondMs);
    }
    // Of so many kills some must have met a running turn, or they proved nothing.
    expect(cutOff).toBeGreaterThan(2);

    const grants = await finish(bench, asked, aheadMs);
    await judge(bench, asked);
    await judgeSteps(bench, linesOf(join(traces, "ran")), grants);
  },
  minutesOfTest * minuteMs,
);

async function openConversations(bench: Bench): Promise<void> {
  const product = await bench.start();
  for (let number = 2; number <= conversationCount; number += 1) {
    const form = { title: `Conversation ${number}`, body: "Talk here.", key: `issue ${number}` };
    expect(await product.post("/new", form)).toBe(303);
  }
  expect(await product.end()).toBe(0);
}

function questions(dice: Dice, round: number): Asked[] {
  return Array.from({ length: dice.between(0, 2) }, (_, index) => {
    const name = `n${round}x${index}`;
    const task = dice.pick(["safe", "careful", "patient"]);
    const number = dice.between(1, conversationCount + 1);
    return { key: `ask ${name}`, number, task, name, isAnswered: false };
  });
}

/** Sends what was not answered yet, again under its own key. */
async function ask(product: Product, asked: readonly Asked[]): Promise<void> {
  for (const one of asked.filter(({ isAnswered }) => !isAnswered)) {
    const body = `@holdfast run ${one.task} NAME=${one.name}`;
    const status = await product.post(`/c/${one.number}`, { body, key: one.key });
    one.isAnswered = status === 303;
  }
}

/** Counted instead of timed, so that a slow machine is killed at the same places as a fast one. */
async function afterWrites(home: string, count: number): Promise<void> {
  let seen = "";
  let left = count;
  for (let idleFrom = Date.now(); left > 0 && Date.now() - idleFrom < idleMsLimit;) {
    const stat = statSync(join(home, "ledger.sqlite-wal"), { bigint: true, throwIfNoEntry: false });
    const now = String(stat?.mtimeNs);
    if (now !== seen) {
      seen = now;
      left -= 1;
      idleFrom = Date.now();
    }
    await pause(2);
  }
}

async function runningCount(bench: Bench): Promise<number> {
  return (await bench.mandates()).filter(({ status }) => status === "running").length;
}

/** Lets time pass and gives the ways out that the notices name until all is completed; the recoveries granted. */
async function finish(
  bench: Bench,
  asked: readonly Asked[],
  from: number,
): Promise<Map<string, number>> {
  const grants = new Map<string, number>();
  for (let aheadMs = from; ; aheadMs += 20 * minuteMs) {
    const product = await bench.start({ aheadMs });
    await ask(product, asked);
    await until("nothing is left to do now", () => isAtRest(bench, aheadMs), product.said);
    const unfinished = (await bench.mandates()).filter(({ endedAt }) => endedAt === null);
    for (const mandate of unfinished.filter(({ status }) => status === "blocked")) {
      const way = mandate.reason === "recovery-uncertain" ? "recover" : "continue";
      if (way === "recover") grants.set(mandate.id, (grants.get(mandate.id) ?? 0) + 1);
      await product.say(await numberOf(bench, mandate), `@holdfast ${way} ${mandate.id}`);
    }
    await until("the words are worked on", () => isAtRest(bench, aheadMs), product.said);
    expect(await product.end()).toBe(0);
    expect(await bench.read((sql) => violations(sql, Date.now() + aheadMs))).toEqual([]);
    if (unfinished.length === 0) return grants;
    expect(aheadMs).toBeLessThan(from + 12 * 20 * minuteMs);
  }
}

async function numberOf(bench: Bench, { conversationId }: MandateRow): Promise<number> {
  const found = await bench.read((sql) => conversationOf(sql, conversationId));
  return found.number;
}

/** No delivery is open, no turn runs or could, no message is on its way, no wait is due. */
async function isAtRest(bench: Bench, aheadMs: number): Promise<boolean> {
  const now = Date.now() + aheadMs;
  const busy = await bench.read((sql) =>
    sql.first(
      `SELECT 1 AS one FROM delivery WHERE handled_at IS NULL
       UNION SELECT 1 FROM inbox i JOIN mandate m ON m.id = i.mandate_id
         WHERE i.state = 'claimed'
           OR (i.state = 'queued' AND i.available_at <= ?1 AND m.status = 'queued')
       UNION SELECT 1 FROM outbox WHERE state IN ('pending', 'sending', 'unsure')
       UNION SELECT 1 FROM wait WHERE state = 'armed' AND due_at <= ?1`,
      now,
    ),
  );
  return busy === undefined;
}

async function judge(bench: Bench, asked: readonly Asked[]): Promise<void> {
  expect(asked.length).toBeGreaterThan(5);
  const mandates = await bench.mandates();
  const wanted = asked.map(({ task, name }) => `run ${task} NAME=${name}`).sort();
  expect(mandates.map(({ title }) => title).sort()).toEqual(wanted);
  expect(new Set(mandates.map(({ status }) => status))).toEqual(new Set(["completed"]));
  await judgeComments(bench, mandates);

  const branches = bench.branches().split("\n");
  expect(branches.sort()).toEqual(mandates.map(({ branch }) => branch).sort());
  const heads = (await bench.pulls()).map(({ head }) => head);
  expect(heads.sort()).toEqual(branches);
  for (const { branch, title } of mandates) {
    const [, task, name] = /^run (\w+) NAME=(\w+)$/.exec(title) ?? [];
    const steps = { safe: [1, 2, 3], careful: [1, 2], patient: [2] }[task ?? ""] ?? [];
    const files = bench.repository.git(["diff", "--name-only", "main", branch]).split("\n");
    expect(files).toEqual(steps.map((step) => `${name}-${step}.txt`));
  }
}

/** One status and one result for each, one notice for each block, and no comment twice. */
async function judgeComments(bench: Bench, mandates: readonly MandateRow[]): Promise<void> {
  const bodies: string[] = [];
  for (let number = welcomeIssue; number <= conversationCount; number += 1) {
    bodies.push(...(await bench.read((sql) => toldIn(sql, number))));
  }
  const markers = bodies.map((body) => /<!-- holdfast:(\S+):\w+ -->/.exec(body)?.[1]);
  // The welcome issue's own text is no comment; every comment has its marker.
  expect(markers).not.toContain(undefined);
  expect(new Set(markers).size).toBe(markers.length);
  const blocks = await bench.read((sql) =>
    sql.all<{ mandateId: string }>("SELECT mandate_id FROM event WHERE kind = 'blocked'"),
  );
  for (const { id } of mandates) {
    expect(markers).toContain(`status/${id}`);
    expect(markers).toContain(`result/${id}`);
    const notices = markers.filter((marker) => marker?.startsWith(`ask/${id}/`));
    expect(notices).toHaveLength(blocks.filter(({ mandateId }) => mandateId === id).length);
  }
}

/** What may not be repeated ran once, and once more for each recovery that a person granted. */
async function judgeSteps(
  bench: Bench,
  ran: readonly string[],
  grants: ReadonlyMap<string, number>,
): Promise<void> {
  for (const { id, title } of await bench.mandates()) {
    const runs = ran.filter((line) => line.startsWith(`${id} `));
    const steps = new Set(runs).size;
    expect(steps).toBe({ safe: 3, careful: 2, patient: 1 }[title.split(" ")[1] ?? ""]);
    if (title.startsWith("run safe")) continue;
    expect(runs.length - steps).toBeLessThanOrEqual(grants.get(id) ?? 0);
  }
}
