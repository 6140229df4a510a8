// The final result (spec 1.6, 2.3, 5.8): what is claimed, and what is not.
import { expect, test } from "vitest";
import { resultNotice, type ResultWords } from "../../../app/notices/result.ts";
import { factsWith } from "./example.ts";

function noticeOf(words: Partial<ResultWords>): string {
  return resultNotice(factsWith({ status: "completed" }), {
    summary: "Wrote it.\n\n- tested with `npm test`",
    checked: "not-checked",
    publish: { kind: "none" },
    mention: "holdfast",
    ...words,
  });
}

const published = {
  kind: "published",
  branch: "holdfast/m-7k3f-x",
  commit: "abcdef0123456789",
  files: ["CHANGELOG.md"],
  pullNumber: 5,
  pullUrl: "https://forge.example/o/r/pulls/5",
} as const;

test("a result says what was done, that nobody checked it, and where it was published", () => {
  expect(noticeOf({ publish: published }))
    .toBe(`**m-7k3f is done**, *not checked*: no independent check ran, so please look at it yourself.

Asked by @alice: [update the changelog](https://forge.example/o/r/issues/1#c7)

> Wrote it.
>
> - tested with \`npm test\`

Published: 1 file in commit \`abcdef012345\` on branch \`holdfast/m-7k3f-x\`, pull request [#5](https://forge.example/o/r/pulls/5).

- \`CHANGELOG.md\`

Used: 1 of 20 attempts without anything new, 3 turns.

Record: [m-7k3f](https://bot.example/m/m-7k3f)`);
});

test("a result that rules checked says so", () => {
  expect(noticeOf({ checked: "rules" })).toMatch(/^\*\*m-7k3f is done\*\*, checked by rules\.\n/);
});

test("an empty change is said to be empty", () => {
  expect(noticeOf({ publish: { kind: "empty" } })).toContain(
    "\n\nNo file was changed, so there was nothing to publish.\n\n",
  );
});

test("a result without publishing does not speak of a branch", () => {
  expect(noticeOf({})).toContain("\n\nNothing was to be published.\n\n");
});

test("a branch without a pull request names none", () => {
  const notice = noticeOf({ publish: { ...published, pullNumber: null, pullUrl: null } });
  expect(notice).toContain("on branch `holdfast/m-7k3f-x`.\n");
});
