// One turn in a checkout (spec 2.1, 5.1): on the pinned head, and never on less than what its finished steps left.

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { beginTask, Task, type TaskProgress } from "../../policies/tasks.ts";
import { checkoutOf } from "../../runners/repository/checkout.ts";
import { readState } from "../../runners/repository/saved-state.ts";
import { runTurn } from "../../runners/run-turn.ts";
import type { PullHead, TurnHost } from "../../runners/runner.ts";
import { makeRepository, repositoryAt, temporaryFolder, writeFiles } from "../fakes/repository.ts";

const mandateId = "m-7k3f";
const many = 'mkdir many; for n in $(seq 5001); do : > "many/$n"; done';

function silentHost(): TurnHost {
  return {
    phase: async () => {},
    workBegins: async () => {},
    callStarted: async () => {},
    callFinished: async () => {},
    now: () => Date.now(),
    signal: new AbortController().signal,
  };
}

/** A task on a repository with a pull request that no branch has. */
function taskOf(...steps: { run: string; wait?: { every: string; for: string } }[]) {
  const source = makeRepository({ "a.txt": "a\n" });
  const pull = source.git(["commit-tree", "main^{tree}", "-p", "main", "-m", "pull"]);
  source.git(["update-ref", "refs/pull/7/head", pull]);
  const home = temporaryFolder();
  const task = Task.parse({ steps });
  let progress: TaskProgress = beginTask(task);
  async function turn(head: PullHead | null = null, savingFor: TurnHost | null = null) {
    const request = {
      mandateId,
      turnNumber: 1,
      cause: "request",
      repository: { id: "r1", source: source.path, defaultBranch: "main" },
      baseCommit: null,
      head,
      work: {
        kind: "task",
        state: { name: "t", task, inputs: {}, progress },
        grantedStep: null,
      },
      untracked: "commit",
      savesSteps: savingFor !== null,
      endsAt: Date.now() + 60_000,
    } as const;
    const place = { home, environment: process.env };
    const result = await runTurn(place, request, savingFor ?? silentHost());
    progress = result.progress ?? progress;
    return result;
  }
  const workTree = join(home, "work", mandateId);
  return { source, home, workTree, turn, pull: { pull: 7, commit: pull } };
}

const wait = { every: "1m", for: "1h" };
const isGone = {
  end: { kind: "step-failed", what: expect.stringMatching(/working copy .* is gone/) },
};

test("the pinned head is the base, and the agent's repository knows it", async () => {
  const { pull, turn, workTree } = taskOf({ run: "git log -1 --format=%s > seen.txt" });
  const result = await turn(pull);
  expect(result).toMatchObject({ end: { kind: "completed" }, baseCommit: pull.commit });
  expect(readFileSync(join(workTree, "seen.txt"), "utf8")).toBe("pull\n");
  const refs = readFileSync(join(workTree, ".git/packed-refs"), "utf8");
  expect(refs).toContain(`${pull.commit} refs/remotes/origin/pull/7/head`);
});

test("a pinned head that is gone is said before anything runs", async () => {
  const { turn } = taskOf({ run: "exit 0" });
  expect(await turn({ pull: 7, commit: "1".repeat(40) })).toMatchObject({
    end: { kind: "failed", phase: "preparing", what: expect.stringContaining("pull request") },
    calls: [],
  });
});

describe("a lost checkout", () => {
  test("comes back with the files of its finished steps, and goes on", async () => {
    const { home, turn } = taskOf(
      { run: "echo work > work.txt" },
      { run: "cat work.txt; exit 75", wait },
    );
    await turn();
    rmSync(join(home, "work"), { recursive: true });
    const result = await turn();
    expect(result).toMatchObject({ end: { kind: "completed" }, events: ["checkout-restored"] });
    expect(result.calls[0]?.text).toContain("work");
  });

  test("whose saved state is older than its finished steps is gone, however often it is tried", async () => {
    const { home, turn } = taskOf(
      { run: "echo work > work.txt" },
      { run: "test -e ../ready || exit 75", wait },
      { run: 'echo more > more.txt; rm -rf "$PWD"' },
    );
    expect(await turn()).toMatchObject({ end: { kind: "completed" }, report: expect.anything() });
    writeFiles(join(home, "work"), { ready: "" });
    expect(await turn()).toMatchObject(isGone);
    expect(await turn()).toMatchObject(isGone);
    expect(await turn()).toMatchObject(isGone);
  });

  test("of which files were too many to save is gone, however often it is tried", async () => {
    const { home, turn } = taskOf({ run: many }, { run: "exit 75", wait });
    expect(await turn()).toMatchObject({
      events: expect.arrayContaining(["untracked-over-limit"]),
    });
    rmSync(join(home, "work"), { recursive: true });
    expect(await turn()).toMatchObject(isGone);
    expect(await turn()).toMatchObject(isGone);
  });
});

/** What is saved whenever a step counts as done. */
async function savedAtSteps(...runs: string[]) {
  const { home, turn } = taskOf(...runs.map((run) => ({ run })));
  const { gitDir, stateRef } = checkoutOf({ home, mandateId });
  const seen: { doneSteps: number | null; files: string[] }[] = [];
  async function callFinished(): Promise<void> {
    const state = await readState({ gitDir, stateRef });
    const files = repositoryAt(gitDir).git(["ls-tree", "--name-only", state?.commit ?? "HEAD"]);
    seen.push({ doneSteps: state?.doneSteps ?? null, files: files.split("\n") });
  }
  const { end } = await turn(null, { ...silentHost(), callFinished });
  return { end, seen };
}

describe("where others may have to go on", () => {
  test("the files of a step are saved before it counts as done", async () => {
    expect(await savedAtSteps("echo 1 > one.txt", "echo 2 > two.txt; exit 3")).toMatchObject({
      end: { kind: "step-failed" },
      seen: [
        { doneSteps: 1, files: ["a.txt", "one.txt"] },
        { doneSteps: 1, files: ["a.txt", "one.txt"] },
      ],
    });
  });

  test("nothing is saved while something of the step still runs", async () => {
    const survivor = "setsid sh -c '> ../lives; exec sleep 60' > /dev/null 2>&1 &";
    const { end, seen } = await savedAtSteps(
      `${survivor} until [ -e ../lives ]; do sleep 0.1; done`,
    );
    expect(end).toMatchObject({ kind: "completed" });
    expect(seen).toEqual([{ doneSteps: null, files: ["a.txt"] }]);
  });
});
