// The status comment, the answer to `status` and the sentence of each state (spec 1.1, 1.6).
import { describe, expect, test } from "vitest";
import type { MandateFacts } from "../../../app/notices/facts.ts";
import { sentenceFor, statusAnswer, statusComment } from "../../../app/notices/status.ts";
import { example, exampleAt, factsWith, hourMs } from "./example.ts";

const wait = {
  reason: "the image v2.1 to appear",
  dueAt: exampleAt + hourMs,
  deadlineAt: exampleAt + 6 * hourMs,
};
const hold = { reason: "paused", byName: "bob", at: exampleAt } as const;

const sentences: [string, Partial<MandateFacts>, string][] = [
  [
    "accepted",
    { counters: { ...example.counters, turns: 0 } },
    "It is accepted and its first turn is next.",
  ],
  ["planned", {}, "Its next turn is planned."],
  ["running", { status: "running" }, "A turn is running."],
  [
    "running in a phase",
    { status: "running", phase: "checking-out" },
    "A turn is running: checking out.",
  ],
  [
    "assessing",
    { status: "assessing" },
    "Its last turn has ended, and an independent check of it is due.",
  ],
  [
    "waiting",
    { status: "waiting", wait },
    "It waits, looks again at 2026-12-01 11:00 UTC and gives up at 2026-12-01 16:00 UTC.",
  ],
  [
    "a plain wait",
    { status: "waiting" },
    "It has asked a person and waits for the answer; no wake-up is registered.",
  ],
  [
    "paused while waiting",
    { status: "waiting", wait, hold },
    "It is held: bob paused it at 2026-12-01 10:00 UTC; the command resume lets it go on.",
  ],
  [
    "held by maintenance",
    { hold: { ...hold, reason: "maintenance" } },
    "It is held since 2026-12-01 10:00 UTC: the installation is under maintenance (maintenance); " +
      "it goes on by itself after that.",
  ],
  ["running although paused", { status: "running", hold }, "A turn is running."],
  [
    "blocked",
    { status: "blocked", reason: "stalled" },
    "It is blocked and needs a person: its attempts brought nothing new any more (stalled).",
  ],
  [
    "completed",
    { status: "completed", endedAt: exampleAt },
    "It was finished at 2026-12-01 10:00 UTC.",
  ],
  [
    "stopped",
    { status: "stopped", endedAt: exampleAt },
    "It was stopped at 2026-12-01 10:00 UTC; nothing of it goes on.",
  ],
];

describe("the sentence of a mandate that is", () => {
  test.each(sentences)("%s", (_, change, sentence) => {
    expect(sentenceFor(factsWith(change))).toBe(sentence);
  });
});

describe("the status comment", () => {
  test("shows state, wait, next step, steps, use, deadline and links", () => {
    const facts = factsWith({
      status: "waiting",
      wait,
      taskName: "rollout",
      steps: [
        { title: "./build.sh", state: "succeeded" },
        { title: './image.sh "$TAG"', state: "waiting" },
      ],
      checklist: [{ text: "look", done: true }],
      publishedCommit: "abcdef0123456789",
      pull: { number: 5, url: "https://forge.example/o/r/pulls/5" },
      timeZone: "Europe/Berlin",
    });
    expect(statusComment(facts, "holdfast")).toBe(`**Holdfast m-7k3f**: update the changelog

It waits, looks again at 2026-12-01 11:00 UTC and gives up at 2026-12-01 16:00 UTC.

- Asked by alice in [this comment](https://forge.example/o/r/issues/1#c7)
- Task: \`rollout\`
- Waits for: the image v2.1 to appear
- Next step (from the agent): read the changelog
- Used: 1 of 20 attempts without anything new, 3 turns
- Deadline: 2026-12-02 11:00 Europe/Berlin (2026-12-02 10:00 UTC)
- Branch \`holdfast/m-7k3f-update-the-changelog\` at commit \`abcdef012345\`
- Pull request [#5](https://forge.example/o/r/pulls/5)
- Record: [m-7k3f](https://bot.example/m/m-7k3f)

Steps:

- ☑ \`./build.sh\`
- ☐ \`./image.sh "$TAG"\` (waiting)

Checklist:

- ☑ look

To end it, write \`@holdfast stop m-7k3f\` in a new comment.`);
  });

  test("of a finished mandate speaks of no deadline and no next step", () => {
    const facts = factsWith({ status: "completed", endedAt: exampleAt });
    expect(statusComment(facts, "holdfast")).not.toMatch(/Deadline|Next step|To end it/);
  });

  test("rings for nobody, as edits tell nobody", () => {
    expect(statusComment(factsWith({}), "holdfast")).not.toContain("@alice");
  });

  test("shows cost and tokens where they were used or have a ceiling", () => {
    const facts = factsWith({
      counters: { ...example.counters, tokens: 12_345 },
      ceilings: { ...example.ceilings, turns: 80, cost: 2.5 },
    });
    expect(statusComment(facts, "holdfast")).toContain(
      "- Used: 1 of 20 attempts without anything new, 3 of 80 turns, 12,345 tokens, cost 0 of 2.5\n",
    );
  });

  test("shows twenty entries of a long checklist", () => {
    const checklist = Array.from({ length: 23 }, (_, nth) => ({ text: `n${nth}`, done: false }));
    const comment = statusComment(factsWith({ checklist }), "holdfast");
    expect(comment).toContain("- ☐ n19\n- and 3 more");
  });
});

describe("the answer to status", () => {
  test("lists the mandates, and for a question how to answer it", () => {
    const answer = statusAnswer([factsWith({ status: "waiting" })], "holdfast");
    expect(answer).toBe(`1 mandate in this conversation:

**m-7k3f**: [update the changelog](https://forge.example/o/r/issues/1#c7)
- It has asked a person and waits for the answer; no wake-up is registered.
- What helps: \`@holdfast reply m-7k3f <your answer>\` in a new comment
- Next step (from the agent): read the changelog
- Used: 1 of 20 attempts without anything new, 3 turns
- Deadline: 2026-12-02 10:00 UTC
- Record: [m-7k3f](https://bot.example/m/m-7k3f)`);
  });

  test("says how to begin where there is none", () => {
    expect(statusAnswer([], "holdfast")).toBe(
      "Nothing was asked of me in this conversation yet. " +
        "To ask for something, write `@holdfast do …` in a new comment.",
    );
  });

  test("stays within twenty mandates", () => {
    const answer = statusAnswer(
      Array.from({ length: 22 }, () => example),
      "holdfast",
    );
    expect(answer).toContain("2 more are not shown; `@holdfast status <id>` shows one of them.");
  });
});
