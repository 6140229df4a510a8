// Short answers to commands that were carried out (spec 1.3, 1.4).
import { describe, expect, test } from "vitest";
import type { Answer } from "../../../app/notices/answers.ts";
import { answerNotice } from "../../../app/notices/answers.ts";
import { example, factsWith, hourMs } from "./example.ts";

const published = factsWith({
  publishedCommit: "abcdef0123456789",
  pull: { number: 5, url: "https://forge.example/o/r/pulls/5" },
});

const rows: [string, Answer, string][] = [
  [
    "a stop names what was revoked and what exists outside",
    { kind: "stopped", mandates: [published], alsoExists: ["a comment that was being sent"] },
    "Stopped, with everything that was planned for it:\n\n- `m-7k3f`: update the changelog\n\n" +
      "This exists already and was not undone:\n\n" +
      "- Branch `holdfast/m-7k3f-update-the-changelog` at commit `abcdef012345` (m-7k3f)\n" +
      "- Pull request [#5](https://forge.example/o/r/pulls/5) (m-7k3f)\n" +
      "- a comment that was being sent",
  ],
  [
    "a stop before anything was published says so",
    { kind: "stopped", mandates: [example], alsoExists: [] },
    "Stopped, with everything that was planned for it:\n\n- `m-7k3f`: update the changelog\n\n" +
      "Nothing of it had been published.",
  ],
  [
    "a stop without mandates says so",
    { kind: "stopped", mandates: [], alsoExists: [] },
    "There was nothing to stop: no mandate here is unfinished.",
  ],
  [
    "a pause of the conversation",
    { kind: "paused", id: null },
    "This conversation is paused: nothing starts and nothing is discarded. Deadlines go on. " +
      "`@holdfast resume` ends the pause.",
  ],
  [
    "a pause of one mandate",
    { kind: "paused", id: "m-7k3f" },
    "`m-7k3f` is paused: nothing starts and nothing is discarded. Deadlines go on. " +
      "`@holdfast resume m-7k3f` ends the pause.",
  ],
  [
    "a resume",
    { kind: "resumed", id: null },
    "The pause of this conversation has ended. What became due in the meantime runs once now.",
  ],
  [
    "a later deadline in the installation's zone and in UTC",
    {
      kind: "extended",
      facts: factsWith({ timeZone: "America/New_York" }),
      byMs: 36 * hourMs,
    },
    "`m-7k3f` has a new deadline: 2026-12-02 05:00 America/New_York (2026-12-02 10:00 UTC), " +
      "1d12h from the command on.",
  ],
  [
    "a higher ceiling",
    {
      kind: "extended",
      facts: factsWith({ ceilings: { ...example.ceilings, turns: 80 } }),
      byMs: null,
    },
    "`m-7k3f` has a higher ceiling now: 1 of 20 attempts without anything new, 3 of 80 turns.",
  ],
  [
    "a continue",
    { kind: "continued", id: "m-7k3f" },
    "`m-7k3f` goes on with fresh attempts. What it has already shown is kept and earns nothing twice.",
  ],
  [
    "a recovery",
    { kind: "recover-granted", id: "m-7k3f" },
    "One recovery is granted to `m-7k3f`: what was cut off runs once more.",
  ],
  [
    "a recheck",
    { kind: "recheck-asked", id: "m-7k3f" },
    "`m-7k3f` looks again now. This uses up its planned look; its deadline stays.",
  ],
  [
    "a reply says how to ask for something new",
    { kind: "reply-delivered", id: "m-7k3f" },
    "Your answer was delivered to `m-7k3f`. `@holdfast do …` makes a new mandate instead.",
  ],
  [
    "a retry of a blocked mandate",
    { kind: "retried", id: "m-7k3f", newId: "m-9abc", stopsOld: true },
    "`m-9abc` starts from the same request as `m-7k3f`, which is stopped.",
  ],
  [
    "a retry of a finished mandate",
    { kind: "retried", id: "m-7k3f", newId: "m-9abc", stopsOld: false },
    "`m-9abc` starts from the same request as `m-7k3f`.",
  ],
  [
    "notes on what was left out",
    { kind: "noted", notes: ["line 9 is too far down"] },
    "- line 9 is too far down",
  ],
];

describe("the answer to", () => {
  test.each(rows)("%s", (_, answer, text) => {
    expect(answerNotice(answer, "holdfast")).toBe(text);
  });
});
