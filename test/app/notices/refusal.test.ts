// Refusals (spec 1.4, 1.5): what happened, why, and what would fit.
import { describe, expect, test } from "vitest";
import type { Refusal } from "../../../app/notices/refusal.ts";
import { refusalNotice } from "../../../app/notices/refusal.ts";
import { parseComment } from "../../../policies/commands/comment.ts";
import { example, factsWith } from "./example.ts";

const mention = "holdfast";
const readings =
  "What you wrote can be read in two ways: as a command: `@holdfast run <task> [key=value …]`; " +
  "as a request in words: `@holdfast do …`.";

const rows: [Refusal, string][] = [
  [
    { kind: "not-permitted", keyword: "do", needs: "write", has: "read" },
    "`do` needs the permission write in this repository, and you have read (`not-permitted`). " +
      "Nothing was started.\n\n`@holdfast help` shows what you may use here.",
  ],
  [
    { kind: "unknown-task", task: "the", tasks: ["rollout"] },
    `There is no task \`the\` here, so nothing was started.\n\n${readings}\n\n` +
      "The tasks of this repository:\n\n- `@holdfast run rollout`",
  ],
  [
    { kind: "wrong-inputs", task: "rollout", problems: ["TAG is needed"] },
    "The inputs of the task `rollout` do not fit it, so nothing was started.\n\n" +
      `- TAG is needed\n\n${readings}`,
  ],
  [
    {
      kind: "wrong-state",
      facts: factsWith({ status: "waiting" }),
      keyword: "recover",
      fitting: ["reply", "stop"],
    },
    "`recover` does not fit `m-7k3f` as it is, so nothing was changed. " +
      "It has asked a person and waits for the answer; no wake-up is registered.\n\n" +
      "What fits it: `@holdfast reply m-7k3f <text>`, `@holdfast stop m-7k3f`.",
  ],
  [
    { kind: "not-in-version", keyword: "review" },
    "`review` is known, but this version of Holdfast cannot do it yet. Nothing was started.",
  ],
  [
    { kind: "unreadable" },
    "This comment could not be read in time, so nothing in it was started. " +
      "Please write the command in a short comment of its own.",
  ],
  [
    { kind: "too-many-commands", limit: 10 },
    "A comment holds at most 10 commands, and this one has more. " +
      "None of them was started; please use several comments.",
  ],
  [
    { kind: "unknown-id", id: "m-zzzz", candidates: [example] },
    "There is no mandate `m-zzzz` in this conversation, so nothing was changed.\n\n" +
      "These are here:\n\n- `m-7k3f`: update the changelog",
  ],
  [
    { kind: "beyond-maximum", what: "the deadline", maximum: "30d" },
    "The deadline is beyond the maximum that is allowed here, 30d. " +
      "Nothing was changed; please write a smaller one.",
  ],
  [
    {
      kind: "policy-invalid",
      problems: [
        {
          file: ".holdfast.yml",
          line: 3,
          column: 5,
          path: "tasks.rollout.step",
          problem: "is no key here",
          suggestion: "steps",
        },
      ],
    },
    "The policy file on the default branch has errors (`policy-invalid`), so nothing was started.\n\n" +
      "- `.holdfast.yml`, line 3, column 5: `tasks.rollout.step`: is no key here. " +
      "Did you mean `steps`?\n\nPlease mend it and write the command again.",
  ],
  [
    { kind: "which-mandate", candidates: [example, { id: "m-9abc", title: "fix it" }] },
    "Several mandates ask a person here:\n\n- `m-7k3f`: update the changelog\n- `m-9abc`: fix it\n\n" +
      "Which one do you answer? Please write `@holdfast reply <id> <text>`.",
  ],
  [
    { kind: "edited" },
    "An edited comment starts nothing. To give this command, please write it in a new comment.",
  ],
  [
    { kind: "no-agent", tasks: ["rollout"] },
    "No agent is set up here, so a request in words cannot be worked on. Nothing was started.\n\n" +
      "The tasks of this repository:\n\n- `@holdfast run rollout`",
  ],
  [
    { kind: "no-agent", tasks: [] },
    "No agent is set up here, so a request in words cannot be worked on. Nothing was started. " +
      "This repository declares no tasks either; they go into its `.holdfast.yml`.",
  ],
  [
    { kind: "muted", limit: 20 },
    "There were more than 20 answers to commands in this conversation within an hour. " +
      "Hints and refusals are left out here for the rest of the hour; " +
      "results, questions and blocked notices still come.",
  ],
];

describe("a refusal", () => {
  test.each(rows)("of the kind $kind", (refusal, text) => {
    expect(refusalNotice(refusal, mention)).toBe(text);
  });

  test("of several commands names line, problem and what fits for each", () => {
    const { errors } = parseComment("@holdfast stpo m-7k3f\n@holdfast check", { mention });
    expect(refusalNotice({ kind: "unparsable", errors }, mention)).toBe(
      "I could not read this as a command, so nothing in the comment was started.\n\n" +
        "- Line 1: the first word is one slip away from `stop`. " +
        "What fits: as a command: `@holdfast stop [id]`; as a request in words: `@holdfast do …`.\n" +
        "- Line 2: what follows `check` does not fit it. " +
        "What fits: as a command: `@holdfast check <id>`; as a request in words: `@holdfast do …`.\n\n" +
        "Please write it again in a new comment; an edit starts nothing.",
    );
  });

  test("for a mandate that nothing fits any more offers something new", () => {
    const facts = factsWith({ status: "stopped" });
    const refusal = { kind: "wrong-state", facts, keyword: "check", fitting: [] } as const;
    expect(refusalNotice(refusal, mention)).toContain("`@holdfast do …` starts something new.");
  });
});
