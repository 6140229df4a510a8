// The main job on a real repository (the first issue's "It must show"): wait, second request, crash, recheck, deadline,
// pause, stop, extend, stall, recovery. Real git and tasks; the clock is the test's.

import { expect, onTestFinished, test } from "vitest";
import { dayMs, hourMs, minuteMs } from "../../policies/durations.ts";
import { makeRepository, type TestRepository } from "../fakes/repository.ts";
import { openSpine, type Spine } from "../fakes/spine.ts";

const policy = `
tasks:
  rollout:
    inputs: { TAG: { required: true, pattern: "v[0-9.]+" } }
    steps:
      - run: git rev-parse -q --verify "refs/tags/$TAG" || exit 75
        wait: { every: 30m, for: 6h }
      - run: echo "rolled out $TAG" >> ROLLOUT.md
  hello:
    steps:
      - run: echo hello > hello.txt
  nothing:
    steps:
      - run: "true"
  clock:
    steps:
      - run: date; exit 75
        wait: { every: 1m, for: 7d }
  grow:
    steps:
      - run: echo more >> grown.txt; exit 75
        wait: { every: 1m, for: 7d }
  fail:
    steps:
      - run: echo broken >&2; exit 3
  once:
    steps:
      - run: echo ran >> "$HOME/ran"; kill -9 $$
`;

async function spineOf(text = policy): Promise<{ spine: Spine; repository: TestRepository }> {
  const repository = makeRepository({ ".holdfast.yml": text, "README.md": "hello\n" });
  const spine = await openSpine({ source: repository.path });
  onTestFinished(() => spine.close());
  return { spine, repository };
}

async function only(spine: Spine, title: string) {
  const found = (await spine.mandates()).filter((mandate) => mandate.title.startsWith(title));
  const [one] = found;
  if (one === undefined || found.length !== 1) throw new Error(`${found.length} mandates ${title}`);
  return one;
}

function matching(texts: readonly string[], pattern: RegExp): string[] {
  return texts.filter((text) => pattern.test(text));
}

test("a task that waits for a tag survives a crash, is rechecked once and ends with a branch", async () => {
  const { spine, repository } = await spineOf();
  const number = await spine.issue("Roll it out");
  await spine.say(number, "@holdfast run rollout TAG=v1.2.3");

  const waiting = await only(spine, "run rollout");
  expect(waiting.status).toBe("waiting");
  expect(await spine.waits(waiting.id)).toMatchObject([{ state: "armed", everyMs: 30 * minuteMs }]);
  await spine.pass(minuteMs);
  const [status] = matching(await spine.told(number), /Holdfast m-/);
  expect(status).toContain("2026-12-01 09:30 UTC");
  expect(status).toContain("2026-12-01 15:00 UTC");

  await spine.say(number, "@holdfast run nothing");
  expect((await only(spine, "run nothing")).status).toBe("completed");
  expect((await only(spine, "run rollout")).status).toBe("waiting");

  const before = await spine.waits(waiting.id);
  await spine.restart();
  expect(await spine.waits(waiting.id)).toEqual(before);

  repository.git(["tag", "v1.2.3"]);
  await spine.pass(28 * minuteMs);
  expect(await spine.turns(waiting.id)).toHaveLength(1);
  await spine.pass(minuteMs);

  const done = await only(spine, "run rollout");
  expect(done.status).toBe("completed");
  expect(await spine.turns(waiting.id)).toHaveLength(2);
  expect(repository.git(["show", `${done.branch}:ROLLOUT.md`])).toBe("rolled out v1.2.3");
  const pulls = (await spine.issues()).filter((issue) => issue.kind === "pull");
  expect(pulls).toMatchObject([{ head: done.branch, base: "main" }]);
  expect(matching(await spine.told(number), /is done/)).toHaveLength(2);
  await spine.pass(2 * hourMs);
  expect(await spine.turns(waiting.id)).toHaveLength(2);
});

test("a deadline that passes blocks once, with the way out, and runs no turn", async () => {
  const { spine } = await spineOf();
  const number = await spine.issue("Roll it out");
  await spine.say(number, "@holdfast run rollout TAG=v9.9 within 20m");
  const { id } = await only(spine, "run rollout");
  await spine.jump(3 * hourMs);

  expect(await only(spine, "run rollout")).toMatchObject({
    status: "blocked",
    reason: "deadline-passed",
  });
  expect(await spine.turns(id)).toHaveLength(1);
  const [notice, ...more] = matching(await spine.told(number), /^\*\*m-\w+ is blocked/);
  expect(notice).toContain("deadline-passed");
  expect(notice).toContain(`extend ${id}`);
  expect(more).toEqual([]);
  await spine.pass(hourMs);
  expect(matching(await spine.told(number), /^\*\*m-\w+ is blocked/)).toHaveLength(1);

  await spine.say(number, `@holdfast extend ${id} 2h`);
  expect((await only(spine, "run rollout")).status).toBe("waiting");
});

test("a pause holds the recheck until it is lifted, and what was due fires once", async () => {
  const { spine, repository } = await spineOf();
  const number = await spine.issue("Roll it out");
  await spine.say(number, "@holdfast run rollout TAG=v1.0");
  const { id } = await only(spine, "run rollout");
  await spine.say(number, "@holdfast pause");
  repository.git(["tag", "v1.0"]);
  await spine.pass(2 * hourMs);
  expect(await spine.turns(id)).toHaveLength(1);
  await spine.say(number, "@holdfast run nothing");
  expect((await only(spine, "run nothing")).status).toBe("queued");

  await spine.say(number, "@holdfast resume");
  expect((await only(spine, "run rollout")).status).toBe("completed");
  expect((await only(spine, "run nothing")).status).toBe("completed");
  expect(await spine.turns(id)).toHaveLength(2);
});

test("what is not paused cannot be resumed, and what is paused does not look", async () => {
  const { spine } = await spineOf();
  const number = await spine.issue("Roll it out");
  await spine.say(number, "@holdfast run rollout TAG=v1.0");
  const { id } = await only(spine, "run rollout");
  await spine.say(number, `@holdfast resume ${id}`);
  expect((await spine.told(number)).at(-1)).toContain("`resume` does not fit");
  await spine.say(number, `@holdfast pause ${id}`);
  await spine.say(number, `@holdfast check ${id}`);
  expect((await spine.told(number)).at(-1)).toContain("`check` does not fit");
  await spine.say(number, `@holdfast resume ${id}`);
  expect((await spine.told(number)).at(-1)).toContain("has ended");
});

test("under a pause a deadline still ends in a notice", async () => {
  const { spine } = await spineOf();
  const number = await spine.issue("Roll it out");
  await spine.say(number, "@holdfast run rollout TAG=v1.0");
  await spine.say(number, "@holdfast pause");
  await spine.jump(7 * hourMs);
  expect(await only(spine, "run rollout")).toMatchObject({
    status: "blocked",
    reason: "deadline-passed",
  });
  expect(matching(await spine.told(number), /^\*\*m-\w+ is blocked/)).toHaveLength(1);
});

test("a stop revokes the wait, and nothing revives it", async () => {
  const { spine, repository } = await spineOf();
  const number = await spine.issue("Roll it out");
  await spine.say(number, "@holdfast run rollout TAG=v1.0");
  const { id } = await only(spine, "run rollout");
  await spine.say(number, `@holdfast stop ${id}`);
  repository.git(["tag", "v1.0"]);
  await spine.pass(2 * hourMs);
  expect((await only(spine, "run rollout")).status).toBe("stopped");
  await spine.say(number, `@holdfast continue ${id}`);
  expect((await only(spine, "run rollout")).status).toBe("stopped");
  expect(await spine.turns(id)).toHaveLength(1);
  expect(matching(await spine.told(number), new RegExp(`retry ${id}`))).toHaveLength(1);
});

test("a poll that changes only in its clock is blocked after 20 attempts, 21 turns in all", async () => {
  const { spine } = await spineOf();
  const number = await spine.issue("Watch the clock");
  await spine.say(number, "@holdfast run clock");
  const { id } = await only(spine, "run clock");
  await spine.pass(30 * minuteMs);
  expect(await only(spine, "run clock")).toMatchObject({ status: "blocked", reason: "stalled" });
  expect(await spine.turns(id)).toHaveLength(21);
  expect(matching(await spine.told(number), /^\*\*m-\w+ is blocked/)).toHaveLength(1);
}, 120_000);

test("a poll that makes new tracked content each time is not stalled", async () => {
  const { spine } = await spineOf();
  const number = await spine.issue("Grow");
  await spine.say(number, "@holdfast run grow");
  const { id } = await only(spine, "run grow");
  await spine.pass(25 * minuteMs);
  expect(await only(spine, "run grow")).toMatchObject({ status: "waiting" });
  expect((await spine.turns(id)).length).toBeGreaterThan(21);
}, 120_000);

test("a failed step is not repeated by itself; continue runs it again", async () => {
  const { spine, repository } = await spineOf();
  const number = await spine.issue("Fail");
  await spine.say(number, "@holdfast run fail");
  const { id } = await only(spine, "run fail");
  expect(await only(spine, "run fail")).toMatchObject({
    status: "blocked",
    reason: "agent-failed",
  });
  const [notice] = matching(await spine.told(number), /^\*\*m-\w+ is blocked/);
  expect(notice).toContain("exit code 3");
  expect(notice).toContain(`continue ${id}`);
  await spine.pass(hourMs);
  expect(await spine.turns(id)).toHaveLength(1);
  await spine.say(number, `@holdfast continue ${id}`);
  expect(await spine.turns(id)).toHaveLength(2);
  expect(repository.git(["branch", "--list", "holdfast/*"])).toBe("");
});

test("hostile or broken requests start nothing and are answered once", async () => {
  const { spine } = await spineOf();
  const number = await spine.issue("Talk");
  await spine.say(number, "@holdfast run rollout TAG=$(rm)");
  await spine.say(number, "@holdfast run the tests");
  await spine.say(number, "@holdfast stpo");
  await spine.say(number, "> @holdfast run hello");
  await spine.say(number, "```\n@holdfast run hello\n```");
  await spine.say(number, "@holdfast please fix the parser");
  await spine.say(number, "@holdfast review");
  expect(await spine.mandates()).toEqual([]);
  expect(await spine.told(number)).toHaveLength(5);
});

test("a broken policy file keeps the last good one; where none was good, nothing starts", async () => {
  const { spine, repository } = await spineOf();
  const number = await spine.issue("Policy");
  await spine.say(number, "@holdfast run nothing");
  repository.commit({ ".holdfast.yml": "tasks: [" });
  await spine.say(number, "@holdfast run hello");
  expect((await only(spine, "run hello")).status).toBe("completed");

  await spine.say(number, "@holdfast run gone");
  expect((await spine.told(number)).at(-1)).toContain("policy-invalid");

  const broken = await spineOf("tasks:\n  hello:\n    stepz: []\n");
  const other = await broken.spine.issue("Policy");
  await broken.spine.say(other, "@holdfast run hello");
  expect(await broken.spine.mandates()).toEqual([]);
  const [answer] = await broken.spine.told(other);
  expect(answer).toContain("policy-invalid");
  expect(answer).toContain("line 3");
});

test("what the operator retries at the machine runs with the operator's right", async () => {
  const { spine } = await spineOf();
  const number = await spine.issue("Again");
  await spine.say(number, "@holdfast run nothing");
  const { id } = await only(spine, "run nothing");
  await spine.order(number, `retry ${id}`);
  const again = (await spine.mandates()).filter((mandate) => mandate.id !== id);
  expect(again).toMatchObject([{ status: "completed", actorName: "root" }]);
});

test("status and help are answered however many answers there were", async () => {
  const { spine } = await spineOf();
  const number = await spine.issue("Many");
  for (let count = 0; count < 22; count += 1) await spine.say(number, "@holdfast stpo");
  expect(matching(await spine.told(number), /more than 20 answers/)).toHaveLength(1);
  await spine.say(number, "@holdfast help");
  expect((await spine.told(number)).at(-1)).toContain("`@holdfast run <task>");
  await spine.order(number, "stop m-2222");
  expect((await spine.told(number)).at(-1)).toContain("There is no mandate `m-2222`");
});

test("what one repository waits for goes on while the home serves another", async () => {
  const first = makeRepository({ ".holdfast.yml": policy });
  const early = await openSpine({ source: first.path });
  const number = await early.issue("Roll it out");
  await early.say(number, "@holdfast run rollout TAG=v1.0");
  const after = await early.leave();

  first.git(["tag", "v1.0"]);
  const second = makeRepository({ ".holdfast.yml": policy });
  const late = await openSpine({ source: second.path, after });
  onTestFinished(() => late.close());
  await late.pass(31 * minuteMs);
  const done = await only(late, "run rollout");
  expect(done.status).toBe("completed");
  expect(first.git(["show", `${done.branch}:ROLLOUT.md`])).toBe("rolled out v1.0");
  expect(second.git(["branch", "--list", "holdfast/*"])).toBe("");
});

test("a deadline beyond the maximum is refused with the maximum, not clamped", async () => {
  const { spine } = await spineOf();
  const number = await spine.issue("Long");
  await spine.say(number, "@holdfast run nothing within 31d");
  expect(await spine.mandates()).toEqual([]);
  expect((await spine.told(number))[0]).toContain("30d");
  await spine.say(number, "@holdfast run rollout TAG=v1.0 within 30d");
  expect((await only(spine, "run rollout")).deadlineAt).toBe(spine.now() + 30 * dayMs);
});
