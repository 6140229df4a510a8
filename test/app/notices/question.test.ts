// The notice of a plain wait (spec 2.2): it asks, and promises no wake-up.
import { expect, test } from "vitest";
import { questionNotice } from "../../../app/notices/question.ts";
import { factsWith } from "./example.ts";

test("a question says what is asked, that nothing will wake it, and how to answer", () => {
  const facts = factsWith({ status: "waiting" });
  expect(questionNotice(facts, { reason: "Which port?", mention: "holdfast" }))
    .toBe(`**m-7k3f asks a person** and waits for the answer.

Asked by @alice: [update the changelog](https://forge.example/o/r/issues/1#c7)

> Which port?

No wake-up is registered: it goes on only when somebody answers. Without an answer it ends as blocked at its deadline, 2026-12-02 10:00 UTC.

To answer, write this in a new comment:

\`\`\`
@holdfast reply m-7k3f <your answer>
\`\`\`

Record: [m-7k3f](https://bot.example/m/m-7k3f)`);
});
