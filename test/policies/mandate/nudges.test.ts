// Which event rings at which wait, and how far forward: spec 3.4 as data.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { minuteMs } from "../../../policies/durations.ts";
import type { NudgeEvent } from "../../../policies/events.ts";
import type { Signal } from "../../../policies/mandate/mandate.ts";
import { coalesceMs, hears, nudgedDueAt } from "../../../policies/mandate/nudges.ts";

const own = {
  forgeId: "7",
  repository: "org/door",
  branches: ["holdfast/m-1-door", "topic"],
  commits: ["c".repeat(40)],
  pulls: [12],
};
const kinds = ["release", "package", "check", "status", "workflow"] as const;

function event(name: string, change: Partial<NudgeEvent> = {}): NudgeEvent {
  const nothing = { tag: null, branch: null, commit: null, number: null };
  return { kind: "nudge", connection: "github", forgeId: "7", event: name, ...nothing, ...change };
}

describe("a wait without signals hears what belongs to its mandate", () => {
  test.each<[string, NudgeEvent, boolean]>([
    ["a release of its repository", event("release.published", { tag: "v1" }), true],
    ["a package of its repository", event("registry_package.published"), true],
    ["a release elsewhere", event("release.published", { forgeId: "8" }), false],
    ["a check of its branch", event("check_run.completed", { branch: "topic" }), true],
    [
      "a check suite of its commit",
      event("check_suite.completed", { commit: "c".repeat(40) }),
      true,
    ],
    ["a status of its commit", event("status", { commit: "c".repeat(40) }), true],
    ["a workflow of its pull request", event("workflow_run.completed", { number: 12 }), true],
    ["a check of another branch", event("check_run.completed", { branch: "main" }), false],
    ["a status of another commit", event("status", { commit: "d".repeat(40) }), false],
    ["a push, which is none of the kinds", event("push", { branch: "topic" }), false],
    ["a merge of its pull request", event("pull_request.merged", { number: 12 }), false],
    [
      "its branch's name in another repository",
      event("status", { forgeId: "8", branch: "topic" }),
      false,
    ],
  ])("%s: %o", (_, told, isHeard) => {
    expect(hears({ signals: [], kinds, own }, told)).toBe(isHeard);
  });

  test("the policy narrows the kinds", () => {
    const told = event("release.published");
    expect(hears({ signals: [], kinds: ["check"], own }, told)).toBe(false);
  });
});

describe("a wait with signals hears those only", () => {
  test.each<[string, Signal, NudgeEvent, boolean]>([
    ["the event", { event: "release.published" }, event("release.published"), true],
    ["another action", { event: "release.published" }, event("release.edited"), false],
    ["any action of a kind", { event: "release" }, event("release.edited"), true],
    ["a name that only begins like it", { event: "release" }, event("released.x"), false],
    [
      "a tag that fits",
      { event: "release.published", tag: "v2.*" },
      event("release.published", { tag: "v2.1" }),
      true,
    ],
    [
      "a tag that does not",
      { event: "release.published", tag: "v2.*" },
      event("release.published", { tag: "v3" }),
      false,
    ],
    [
      "no tag where one is wanted",
      { event: "push", tag: "v*" },
      event("push", { branch: "v2" }),
      false,
    ],
    ["its repository by name", { event: "push", repository: "Org/Door" }, event("push"), true],
    ["another repository's name", { event: "push", repository: "org/wall" }, event("push"), false],
    ["the same event elsewhere", { event: "push" }, event("push", { forgeId: "8" }), false],
    ["what it would hear without signals", { event: "push" }, event("release.published"), false],
  ])("%s", (...[, signal, told, isHeard]) => {
    expect(hears({ signals: [signal], kinds, own }, told)).toBe(isHeard);
  });
});

describe("how far a recheck comes forward", () => {
  const now = 1_000_000_000;
  const signals = [{ event: "push" }];
  const wait = { dueAt: now + 30 * minuteMs, everyMs: 60 * minuteMs, signals };

  test("at once where no recheck was just before", () => {
    expect(nudgedDueAt(wait, { now, lastRecheckAt: null })).toBe(now);
    expect(nudgedDueAt(wait, { now, lastRecheckAt: now - coalesceMs })).toBe(now);
  });

  test("to the end of the minute after the last recheck", () => {
    const lastRecheckAt = now - 10_000;
    expect(nudgedDueAt(wait, { now, lastRecheckAt })).toBe(lastRecheckAt + coalesceMs);
  });

  test("without signals at most once per fifth of the interval", () => {
    const lastRecheckAt = now - minuteMs;
    const times = { now, lastRecheckAt };
    expect(nudgedDueAt({ ...wait, signals: [] }, times)).toBe(lastRecheckAt + 12 * minuteMs);
  });

  test("I6: never later than it was due, never before now", () => {
    const instant = fc.nat(200 * minuteMs);
    const history = fc.record({
      due: instant,
      last: fc.option(instant),
      hasSignals: fc.boolean(),
      every: fc.integer({ min: 1, max: 1_440 }),
    });
    fc.assert(
      fc.property(history, ({ due, last, hasSignals, every }) => {
        const dueAt = now + due;
        const asked = { dueAt, everyMs: every * minuteMs, signals: hasSignals ? signals : [] };
        const lastRecheckAt = last === null ? null : now - last;
        const at = nudgedDueAt(asked, { now, lastRecheckAt });
        expect(at).toBeLessThanOrEqual(dueAt);
        expect(at).toBeGreaterThanOrEqual(now);
      }),
    );
  });
});
