// What becomes of work that was cut off (spec 2.5, 3.6): a table.
import { describe, expect, test } from "vitest";
import type { TaskState } from "../../../policies/mandate/mandate.ts";
import { recover, type CutOff, type Recovery } from "../../../policies/mandate/recovery.ts";
import { beginTask, Task } from "../../../policies/tasks.ts";

function taskWith(step: object, state: "started" | "succeeded"): TaskState {
  const task = Task.parse({ steps: [{ run: "make", ...step }] });
  const progress = beginTask(task).map(() => ({ state }));
  return { name: "build", task, inputs: {}, progress };
}

type Cut = Omit<CutOff, "isShared">;

const rows: readonly [string, Cut, Recovery["do"]][] = [
  [
    "its prompt had not been given: the same entry once more",
    { hasBegun: false, task: null, leasesLost: 1 },
    "queue-again",
  ],
  ["the same a second time", { hasBegun: false, task: null, leasesLost: 2 }, "queue-again"],
  [
    "its worker is lost for the third time before it began",
    { hasBegun: false, task: null, leasesLost: 3 },
    "give-up",
  ],
  [
    "it had begun, even if no call is on record: a turn that looks first",
    { hasBegun: true, task: null, leasesLost: 1 },
    "recovery-turn",
  ],
  [
    "a repeatable step was cut off",
    { hasBegun: true, task: taskWith({ repeat: "safe" }, "started"), leasesLost: 1 },
    "recovery-turn",
  ],
  [
    "a step that may not be repeated was cut off: a person decides",
    { hasBegun: true, task: taskWith({}, "started"), leasesLost: 1 },
    "ask-person",
  ],
  [
    "every step had finished",
    { hasBegun: true, task: taskWith({}, "succeeded"), leasesLost: 1 },
    "recovery-turn",
  ],
];

describe("a cut-off turn is never replayed (2.5)", () => {
  test.each(rows)("%s", (_, cut, decision) => {
    for (const isShared of [false, true]) {
      expect(recover({ ...cut, isShared }).do).toBe(decision);
    }
  });

  test("what may be missing on another machine is told", () => {
    const cut = { hasBegun: true, task: null, leasesLost: 1 };
    const what = "its worker was lost while it ran";
    expect(recover({ ...cut, isShared: false })).toEqual({ do: "recovery-turn", what });
    expect(recover({ ...cut, isShared: true })).toEqual({
      do: "recovery-turn",
      what: `${what}, and what it had changed since its files were last saved may be lost with it`,
    });
  });

  test("who is asked is told which step it was", () => {
    const task = taskWith({}, "started");
    expect(recover({ hasBegun: true, task, leasesLost: 1, isShared: false })).toEqual({
      do: "ask-person",
      what: "step 1 of build was cut off while it ran, and it does not say that it may be repeated",
    });
  });
});
