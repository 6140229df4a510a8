// Tasks (spec 5.6): inputs, which step runs next, what an exit code means, and the wait of a step.
import { describe, expect, test } from "vitest";
import { hourMs, minuteMs } from "../../policies/durations.ts";
import { registerWait, waitBounds } from "../../policies/mandate/waits.ts";
import { parsePolicyFile, taskNamed } from "../../policies/policy-file.ts";
import {
  afterStep,
  beginTask,
  checkInputs,
  nextStep,
  startStep,
  stepArgv,
  stepLabel,
  stepNeeds,
  stepWait,
  taskNeeds,
  type StepProgress,
  type Task,
} from "../../policies/tasks.ts";

/** A task as the policy file's own reader gives it. */
function task(text: string): Task {
  const result = parsePolicyFile(`tasks: { t: ${text.replaceAll(/\s+/g, " ")} }`);
  const found = result.ok ? taskNamed(result.policy, "t") : null;
  if (found === null) throw new Error(JSON.stringify(result));
  return found;
}

const rollout = task(`{
  steps: [
    { run: ./ready.sh, wait: { every: 30m, for: 6h, signals: [release.published] } },
    { run: ./act.sh },
    { run: ./check.sh, repeat: safe }
  ]
}`);

const open: StepProgress = { state: "open" };
const started: StepProgress = { state: "started", startedAt: 5 };
const waiting: StepProgress = { state: "waiting", exitCode: 75 };
const succeeded: StepProgress = { state: "succeeded", exitCode: 0 };
const failed: StepProgress = { state: "failed", exitCode: 1 };

describe("nextStep", () => {
  test.each([
    ["the first step of a new task", [open, open, open], { kind: "run", index: 0 }],
    ["the waiting step at its recheck", [waiting, open, open], { kind: "run", index: 0 }],
    ["the step after one that succeeded", [succeeded, open, open], { kind: "run", index: 1 }],
    ["a cut-off step with a wait again", [started, open, open], { kind: "run", index: 0 }],
    ["no cut-off step by itself", [succeeded, started, open], { kind: "uncertain", index: 1 }],
    [
      "a cut-off step that is safe to repeat",
      [succeeded, succeeded, started],
      { kind: "run", index: 2 },
    ],
    [
      "a failed step when a person said continue",
      [succeeded, failed, open],
      { kind: "run", index: 1 },
    ],
    ["nothing once all succeeded", [succeeded, succeeded, succeeded], { kind: "done" }],
  ])("runs %s", (_, progress, next) => {
    expect(nextStep(rollout, progress)).toEqual(next);
  });

  test("runs a cut-off step once for the grant that names it", () => {
    const progress = [succeeded, started, open];
    expect(nextStep(rollout, progress, 1)).toEqual({ kind: "run", index: 1 });
    expect(nextStep(rollout, progress, 0)).toEqual({ kind: "uncertain", index: 1 });
  });

  test("never runs a step again after it succeeded", () => {
    let progress = beginTask(rollout);
    const ran: number[] = [];
    for (let next = nextStep(rollout, progress); next.kind === "run";) {
      ran.push(next.index);
      progress = startStep(progress, next.index, 1_000);
      progress = afterStep(rollout, progress, { index: next.index, exitCode: 0 });
      next = nextStep(rollout, progress);
    }
    expect(ran).toEqual([0, 1, 2]);
    expect(JSON.parse(JSON.stringify(progress))).toEqual(progress);
  });
});

describe("afterStep", () => {
  test.each([
    [0, 0, "succeeded"],
    [0, 75, "waiting"],
    [1, 75, "failed"],
    [0, 1, "failed"],
    [1, 127, "failed"],
    [1, null, "failed"],
  ] as const)("step %i with exit code %s has %s", (index, exitCode, state) => {
    const progress = afterStep(rollout, startStep(beginTask(rollout), index, 5), {
      index,
      exitCode,
    });
    expect(progress[index]).toEqual({ state, exitCode, startedAt: 5 });
  });
});

describe("stepWait", () => {
  const now = Date.UTC(2026, 10, 30, 12);

  test("asks for what the step declares, under the step's own subject", () => {
    expect(stepWait(rollout, { name: "rollout", index: 0 }, now)).toEqual({
      reason: "step 1 of rollout is not ready yet: ./ready.sh",
      nextStep: "run step 1 of rollout again",
      everyMs: 30 * minuteMs,
      deadlineAt: now + 6 * hourMs,
      signals: [{ event: "release.published" }],
      subject: "step-1",
    });
    expect(stepWait(rollout, { name: "rollout", index: 1 }, now)).toBeNull();
  });

  test("I6: at its recheck keeps the first deadline", () => {
    const first = stepWait(rollout, { name: "rollout", index: 0 }, now);
    const later = stepWait(rollout, { name: "rollout", index: 0 }, now + hourMs);
    if (first === null || later === null) throw new Error("the step declares a wait");
    const decided = registerWait(later, {
      now: now + hourMs,
      mandateDeadlineAt: now + 24 * hourMs,
      binding: first,
      byTask: true,
      bounds: waitBounds,
    });
    expect(decided).toMatchObject({ ok: true, wait: { deadlineAt: first.deadlineAt } });
  });
});

describe("checkInputs", () => {
  const declared = task(`{
    steps: [{ run: x }],
    inputs: {
      TAG: { required: true, pattern: "v[0-9.]+" },
      REGION: { default: eu, pattern: "eu|us" },
      NOTE: {}
    }
  }`);
  const tag = { TAG: "v1.2.3" };

  test.each([
    ["what is given and defaults", tag, { TAG: "v1.2.3", REGION: "eu" }],
    ["a value in place of the default", { ...tag, REGION: "us" }, { TAG: "v1.2.3", REGION: "us" }],
    [
      "what a shell would read, as it is: it becomes a variable, never text of a command",
      { ...tag, NOTE: '$(rm -rf ~) `id`; "' },
      { TAG: "v1.2.3", REGION: "eu", NOTE: '$(rm -rf ~) `id`; "' },
    ],
  ])("takes %s", (_, given, values) => {
    expect(checkInputs(declared, given)).toEqual({ ok: true, values });
  });

  test.each([
    ["a missing one", {}, ["TAG is missing: TAG=…"]],
    ["a pattern that fits only a part", { TAG: "xv1" }, ["TAG does not fit the pattern v[0-9.]+"]],
    [
      "a second line",
      { TAG: "v1\nPATH=/x" },
      ["TAG holds a line end or another control character"],
    ],
    ["NUL", { ...tag, NOTE: "a\0b" }, ["NOTE holds a line end or another control character"]],
    ["much text", { ...tag, NOTE: "x".repeat(1_001) }, ["NOTE has more than 1000 characters"]],
    [
      "an unknown one, with the nearest",
      { ...tag, REGOIN: "eu" },
      ["REGOIN is no input of this task, did you mean REGION?"],
    ],
    [
      "a name of JavaScript's own",
      { ...tag, constructor: "x" },
      ["constructor is no input of this task, it has TAG, REGION, NOTE"],
    ],
    [
      "all problems together",
      { REGION: "asia", X: "1" },
      [
        "X is no input of this task, it has TAG, REGION, NOTE",
        "TAG is missing: TAG=…",
        "REGION does not fit the pattern eu|us",
      ],
    ],
  ])("refuses %s", (_, given, problems) => {
    expect(checkInputs(declared, given)).toEqual({ ok: false, problems });
  });

  test("ends on a pattern that makes other engines go round for ever", () => {
    const hostile = task('{ steps: [{ run: x }], inputs: { A: { pattern: "((a+)+)+" } } }');
    const given = { A: `${"a".repeat(999)}!` };
    expect(checkInputs(hostile, given)).toMatchObject({ ok: false });
  });
});

test.each([
  ["maintain", "write", "maintain"],
  ["maintain", "admin", "admin"],
  ["write", "write", "write"],
] as const)("needs %s and a policy that asks %s make %s", (needs, level, wanted) => {
  expect(taskNeeds({ ...rollout, needs }, level)).toBe(wanted);
});

describe("a step", () => {
  const steps = task(`{
    steps: [{ run: 'echo "$A"', secrets: [KEY] }, { run: [echo, $A], network: true }],
    secrets: [TOKEN]
  }`);
  const [text, list] = steps.steps;
  if (text === undefined || list === undefined) throw new Error("two steps are declared");

  test("written as text is run by a shell, as a list without one", () => {
    expect(stepArgv(text)).toEqual(["/bin/sh", "-c", 'echo "$A"']);
    expect(stepArgv(list)).toEqual(["echo", "$A"]);
  });

  test("gets its own secrets and network and what the task asks for every step", () => {
    expect(stepNeeds(steps, text)).toEqual({ network: false, secrets: ["TOKEN", "KEY"] });
    expect(stepNeeds(steps, list)).toEqual({ network: true, secrets: ["TOKEN"] });
  });

  test("is shown on one short line", () => {
    expect(stepLabel({ ...text, run: "a\n  b" })).toBe("a b");
    expect(stepLabel({ ...text, run: "x".repeat(500) })).toHaveLength(120);
  });
});
