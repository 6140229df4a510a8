// What people are told of a mandate, from real rows (spec 1.1, 1.6): holds, waits, pulls, what was seen.
import { beforeEach, expect, test } from "vitest";
import { factsOf, healthOf, lastSeen } from "../../../app/ledger/facts.ts";
import { addHold } from "../../../app/ledger/history.ts";
import { claimEntries } from "../../../app/ledger/inbox.ts";
import type { Ledger } from "../../../app/ledger/ledger.ts";
import { changeMandate } from "../../../app/ledger/mandates.ts";
import { beginTurn, changeTurn, saveCall, type ToolCallRow } from "../../../app/ledger/turns.ts";
import { armWait } from "../../../app/ledger/waits.ts";
import { beginTask, Task } from "../../../policies/tasks.ts";
import { addSampleMandate, openSite, startAt } from "../web/site.ts";

const task = Task.parse({ steps: [{ run: "./build.sh" }, { run: ["./deploy.sh", "now"] }] });
const state = { name: "rollout", task, inputs: {}, progress: beginTask(task) };
let ledger: Ledger;

beforeEach(async () => {
  ({ ledger } = await openSite());
});

function read(id: string) {
  return ledger.read((sql) =>
    factsOf(sql, id, {
      recordUrl: (known) => `https://bot.example/m/${known}`,
      timeZone: "Europe/Berlin",
    }),
  );
}

async function runCall(id: string, call: Partial<ToolCallRow>): Promise<void> {
  const limits = { worker: "w", leaseMs: 10_000, slots: 1, perRepository: 1 };
  await ledger.write(async (tx) => {
    const [claim] = await claimEntries(tx, limits);
    expect(claim?.mandateId).toBe(id);
    if (claim === undefined) return;
    const turn = await beginTurn(tx, claim);
    await changeTurn(tx, turn.id, { phase: "working" });
    const times = { startedAt: startAt, finishedAt: startAt + 1_000 };
    const text = { textHead: "", textTail: "", textLength: 0, textHash: null };
    const outcome = { step: null, exitCode: null, failed: 0 };
    const name = { turnId: turn.id, sequence: 1, name: "shell", kind: "work" } as const;
    await saveCall(tx, { ...name, ...outcome, ...times, ...text, ...call });
  });
}

test("a new mandate has its anchor, its record and no wait", async () => {
  const id = await addSampleMandate(ledger, 7);
  expect(await read(id)).toMatchObject({
    status: "queued",
    hold: null,
    wait: null,
    pull: null,
    phase: null,
    anchor: { text: "do mend the door", authorName: "ada" },
    recordUrl: `https://bot.example/m/${id}`,
  });
});

test.each([
  ["queued", true],
  ["waiting", true],
  ["running", false],
  ["blocked", false],
  ["stopped", false],
] as const)("a hold on a %s mandate is shown: %s", async (status, isShown) => {
  const id = await addSampleMandate(ledger, 7);
  await ledger.write(async (tx) => {
    await changeMandate(tx, id, { status, reason: status === "blocked" ? "stalled" : null });
    await addHold(tx, { scope: "mandate", subject: id, reason: "paused", byName: "ada" });
  });
  const shown = { reason: "paused", byName: "ada", at: startAt };
  expect((await read(id)).hold).toEqual(isShown ? shown : null);
});

test("a live wait is told, and the steps of a task with their states", async () => {
  const id = await addSampleMandate(ledger, 7, { kind: "task", task: state });
  const times = { everyMs: 60_000, dueAt: startAt + 60_000, deadlineAt: startAt + 600_000 };
  const wait = { reason: "it dries", nextStep: "look", signals: [], subject: "", ...times };
  await ledger.write((tx) => armWait(tx, { mandateId: id, turnId: null }, wait));
  const facts = await read(id);
  expect(facts.wait).toEqual({
    reason: "it dries",
    dueAt: startAt + 60_000,
    deadlineAt: startAt + 600_000,
  });
  expect(facts.steps).toEqual([
    { title: "./build.sh", state: "open" },
    { title: "./deploy.sh now", state: "open" },
  ]);
});

test("a pull request is found beside the anchor, whatever the port", async () => {
  const id = await addSampleMandate(ledger, 7);
  await ledger.write((tx) => changeMandate(tx, id, { pullNumber: 12 }));
  expect((await read(id)).pull).toEqual({ number: 12, url: "http://127.0.0.1:4700/c/12" });
});

test("a running turn tells its phase", async () => {
  const id = await addSampleMandate(ledger, 7);
  await runCall(id, {});
  expect((await read(id)).phase).toBe("working");
});

test.each<[Partial<ToolCallRow>, string]>([
  [
    { step: 1, exitCode: 75, textHead: "not yet\n" },
    "step 2 (./deploy.sh now) ended with exit 75: not yet",
  ],
  [{ exitCode: 0 }, "shell ended with exit 0, without any output"],
  [{ failed: 1, textHead: "start", textTail: "no such file" }, "shell failed: no such file"],
  [{ textHead: `a${"b".repeat(600)}` }, `shell ended: …${"b".repeat(499)}`],
])("what was seen last of %j", async (call, words) => {
  const id = await addSampleMandate(ledger, 7, { kind: "task", task: state });
  await runCall(id, call);
  expect(await ledger.read((sql) => lastSeen(sql, id))).toBe(words);
});

test.each<Partial<ToolCallRow>>([{ finishedAt: null }, { kind: "control" }])(
  "nothing was seen of a call with %j",
  async (call) => {
    const id = await addSampleMandate(ledger, 7);
    await runCall(id, call);
    expect(await ledger.read((sql) => lastSeen(sql, id))).toBeNull();
  },
);

test("health counts what waits and names the oldest instants", async () => {
  await addSampleMandate(ledger, 7);
  expect(await ledger.read(healthOf)).toMatchObject({
    running: 0,
    queued: 1,
    waits: 0,
    deliveryAt: null,
    undelivered: 0,
  });
});
