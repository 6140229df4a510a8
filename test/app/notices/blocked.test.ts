// The blocked notice (spec 1.6): its text, and that its commands are ones the command table knows.
import { fromMarkdown } from "mdast-util-from-markdown";
import { describe, expect, test } from "vitest";
import { blockedNotice } from "../../../app/notices/blocked.ts";
import type { MandateFacts } from "../../../app/notices/facts.ts";
import { parseComment } from "../../../policies/commands/comment.ts";
import { reasonCodes } from "../../../policies/reasons.ts";
import { example, factsWith } from "./example.ts";

function noticeOf(change: Partial<MandateFacts>): string {
  const facts = factsWith({ status: "blocked", ...change });
  return blockedNotice(facts, { what: "", lastSeen: null, mention: "holdfast" });
}

/** What somebody gives who copies each code block into a comment. */
function copiedFrom(notice: string): string[] {
  const blocks = fromMarkdown(notice).children.filter((node) => node.type === "code");
  return blocks.map(({ value }) => {
    const { commands, errors } = parseComment(value, { mention: "holdfast" });
    expect(errors).toEqual([]);
    return commands.map(({ name }) => name).join();
  });
}

describe("a blocked notice", () => {
  test("says what was asked, why it stopped, what was seen last and what helps", () => {
    const facts = factsWith({ status: "blocked", reason: "stalled" });
    const notice = blockedNotice(facts, {
      what: "20 attempts in a row showed nothing new",
      lastSeen: "step 1 (./image.sh) ended with exit 75: not there",
      mention: "holdfast",
    });
    expect(notice).toBe(`**m-7k3f is blocked** and does not go on by itself.

Asked by @alice: [update the changelog](https://forge.example/o/r/issues/1#c7)

Why: its attempts brought nothing new any more (\`stalled\`).

> 20 attempts in a row showed nothing new

What was seen last:

> step 1 (./image.sh) ended with exit 75: not there

Used so far: 1 of 20 attempts without anything new, 3 turns.

What helps is one of these commands, in a new comment:

Let it go on with fresh attempts (permission: write):

\`\`\`
@holdfast continue m-7k3f
\`\`\`

Start again from the same request (permission: write):

\`\`\`
@holdfast retry m-7k3f
\`\`\`

Give it up (permission: write):

\`\`\`
@holdfast stop m-7k3f
\`\`\`

Record: [m-7k3f](https://bot.example/m/m-7k3f)`);
  });

  test.each(reasonCodes)("for %s names its code and commands that exist", (reason) => {
    const notice = noticeOf({ reason });
    expect(notice).toContain(`(\`${reason}\`)`);
    expect(copiedFrom(notice)).toContain("stop");
  });

  test.each([
    ["agent-blocked", null, ["reply"]],
    ["stalled", null, ["continue"]],
    ["deadline-passed", null, ["extend"]],
    ["deadline-passed", "continue", ["continue"]],
    ["recovery-uncertain", null, ["recover"]],
    ["review-escalated", null, ["review", "review"]],
    ["policy-invalid", null, []],
    ["paused", null, ["resume"]],
  ] as const)("for %s with the way out %s begins with its own commands", (reason, wayOut, own) => {
    expect(copiedFrom(noticeOf({ reason, wayOut }))).toEqual([...own, "retry", "stop"]);
  });

  test("raises exactly the ceilings that were reached", () => {
    const { counters, ceilings } = example;
    const notice = noticeOf({
      reason: "budget-exhausted",
      counters: { ...counters, turns: 10, tokens: 5, cost: 2.5 },
      ceilings: { ...ceilings, turns: 10, tokens: 100, cost: 2.5 },
    });
    expect(notice).toContain("@holdfast extend m-7k3f turns=15 cost=4\n");
  });

  test.each([
    ["policy-invalid", "Mend `.holdfast.yml` on the default branch; then it goes on."],
    ["head-moved", "Look at the new commits first: going on accepts them."],
    ["authority-revoked", "Who lets it go on becomes the author of the request."],
  ] as const)("for %s tells what else there is to know", (reason, hint) => {
    expect(noticeOf({ reason })).toContain(`\n\n${hint}\n\n`);
  });

  test("gives more time for a passed deadline", () => {
    expect(noticeOf({ reason: "deadline-passed" })).toContain("@holdfast extend m-7k3f 1d\n");
  });
});
