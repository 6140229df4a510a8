// No notice is ever read as a command, whatever it has to repeat (spec 1.6): each one with hostile words
// in every place that is filled from outside, read by the project's own parser.
import { assert as check, constantFrom, property, record } from "fast-check";
import { fromMarkdown } from "mdast-util-from-markdown";
import { describe, expect, test } from "vitest";
import { answerNotice } from "../../../app/notices/answers.ts";
import { blockedNotice } from "../../../app/notices/blocked.ts";
import type { MandateFacts } from "../../../app/notices/facts.ts";
import { helpNotice } from "../../../app/notices/help.ts";
import { questionNotice } from "../../../app/notices/question.ts";
import { refusalNotice } from "../../../app/notices/refusal.ts";
import { resultNotice } from "../../../app/notices/result.ts";
import { statusAnswer, statusComment } from "../../../app/notices/status.ts";
import { commandTable } from "../../../policies/commands/commands.ts";
import { parseComment } from "../../../policies/commands/comment.ts";
import { statuses } from "../../../policies/mandate/mandate.ts";
import { reasonCodes } from "../../../policies/reasons.ts";
import { exampleAt, factsWith, hostileTexts } from "./example.ts";

const mention = "holdfast";

interface Node {
  readonly type: string;
  readonly value?: string;
  readonly children?: readonly Node[];
}

function nodesOf(node: Node): Node[] {
  return [node, ...(node.children ?? []).flatMap(nodesOf)];
}

function hostileFacts(text: string): MandateFacts {
  return factsWith({
    title: text,
    reasonText: text,
    nextStep: text,
    wait: { reason: text, dueAt: exampleAt, deadlineAt: exampleAt },
    hold: { reason: "paused", byName: text, at: exampleAt },
    checklist: [{ text, done: true }],
    anchor: { text, url: text, authorId: "7", authorName: text },
    branch: text,
    publishedCommit: text,
    pull: { number: 5, url: text },
    phase: text,
    recordUrl: text,
    taskName: text,
    steps: [{ title: text, state: text }],
  });
}

const notices: Record<string, (text: string, facts: MandateFacts) => string> = {
  status: (_, facts) => statusComment(facts, mention),
  "status answer": (_, facts) => statusAnswer([facts, facts], mention),
  blocked: (text, facts) => blockedNotice(facts, { what: text, lastSeen: text, mention }),
  question: (text, facts) => questionNotice(facts, { reason: text, mention }),
  result: (text, facts) =>
    resultNotice(facts, {
      summary: text,
      checked: "rules",
      publish: {
        kind: "published",
        branch: text,
        commit: text,
        files: [text, text],
        pullNumber: 5,
        pullUrl: text,
      },
      mention,
    }),
  help: (text) => helpNotice(commandTable, [{ name: text, inputs: [text] }], mention),
  "unparsable command": (text) => {
    const { errors } = parseComment(`@holdfast stop ${text}`, { mention });
    return refusalNotice({ kind: "unparsable", errors }, mention);
  },
  "unknown task": (text) =>
    refusalNotice({ kind: "unknown-task", task: text, tasks: [text] }, mention),
  "wrong inputs": (text) =>
    refusalNotice({ kind: "wrong-inputs", task: text, problems: [text] }, mention),
  "wrong state": (_, facts) =>
    refusalNotice({ kind: "wrong-state", facts, keyword: "check", fitting: ["stop"] }, mention),
  "unknown id": (text, facts) =>
    refusalNotice({ kind: "unknown-id", id: text, candidates: [facts] }, mention),
  "beyond maximum": (text) =>
    refusalNotice({ kind: "beyond-maximum", what: text, maximum: text }, mention),
  "invalid policy": (text) => {
    const problem = { file: text, line: 1, column: 2, path: text, problem: text, suggestion: text };
    return refusalNotice({ kind: "policy-invalid", problems: [problem] }, mention);
  },
  "which mandate": (_, facts) =>
    refusalNotice({ kind: "which-mandate", candidates: [facts] }, mention),
  "no agent": (text) => refusalNotice({ kind: "no-agent", tasks: [text] }, mention),
  stopped: (text, facts) =>
    answerNotice({ kind: "stopped", mandates: [facts], alsoExists: [text] }, mention),
  extended: (_, facts) => answerNotice({ kind: "extended", facts, byMs: null }, mention),
  noted: (text) => answerNotice({ kind: "noted", notes: [text] }, mention),
};

const situation = record({
  text: constantFrom(...hostileTexts),
  status: constantFrom(...statuses),
  reason: constantFrom(...reasonCodes),
});

describe.each(Object.entries(notices))("the notice: %s", (_, render) => {
  test("commands nobody, rings for nobody and holds no HTML", () => {
    check(
      property(situation, ({ text, status, reason }) => {
        const facts = { ...hostileFacts(text), status, reason };
        for (const one of [facts, { ...facts, wait: null, hold: null }]) {
          const notice = render(text, one);
          expect(parseComment(notice, { mention })).toEqual({
            commands: [],
            errors: [],
            mention: null,
            notes: [],
          });
          const nodes = nodesOf(fromMarkdown(notice));
          const words = nodes.filter(({ type }) => type === "text").map(({ value }) => value ?? "");
          expect(words.filter((word) => /@[A-Za-z0-9]/.test(word))).toEqual([]);
          expect(nodes.filter(({ type }) => type === "html" || type === "image")).toEqual([]);
        }
      }),
    );
  });
});

describe("the author of a mandate", () => {
  test.each(["blocked", "question", "result"])("is called by the notice: %s", (name) => {
    expect(notices[name]?.("words", factsWith({}))).toContain("Asked by @alice: ");
  });

  test.each(["holdfast", "Holdfast", "x[bot]", "@bob", "a b"])(
    "never rings as %s",
    (authorName) => {
      const facts = factsWith({ anchor: { ...factsWith({}).anchor, authorName } });
      const notice = questionNotice(facts, { reason: "why", mention: "other" });
      expect(notice).not.toMatch(/@[A-Za-z0-9](?!ther)/);
    },
  );
});
