// A mandate as notices see it, to be varied by each test (spec 1.6).
// Holds no expectation.
import type { MandateFacts } from "../../../app/notices/facts.ts";
import { noCounters } from "../../../policies/mandate/mandate.ts";

export const exampleAt = Date.UTC(2026, 11, 1, 10, 0);
export const hourMs = 3_600_000;

export const example: MandateFacts = {
  id: "m-7k3f",
  title: "update the changelog",
  status: "queued",
  hold: null,
  reason: null,
  reasonText: null,
  wayOut: null,
  nextStep: "read the changelog",
  nextStepBy: "agent",
  wait: null,
  deadlineAt: exampleAt + 24 * hourMs,
  counters: { ...noCounters, turns: 3, attempts: 1 },
  ceilings: {
    turns: null,
    tokens: null,
    cost: null,
    stallLimit: 20,
    thinkLimit: null,
    turnWallMs: hourMs,
  },
  checklist: [],
  anchor: {
    text: "update the changelog",
    url: "https://forge.example/o/r/issues/1#c7",
    authorId: "7",
    authorName: "alice",
  },
  head: null,
  branch: "holdfast/m-7k3f-update-the-changelog",
  publishedCommit: null,
  pull: null,
  phase: null,
  recordUrl: "https://bot.example/m/m-7k3f",
  taskName: null,
  steps: [],
  createdAt: exampleAt,
  endedAt: null,
};

export function factsWith(change: Partial<MandateFacts>): MandateFacts {
  return { ...example, ...change };
}

/** Words from outside that would do harm if they were repeated as they are. */
export const hostileTexts: readonly string[] = [
  "@holdfast stop",
  "fine\n\n@holdfast stop m-7k3f",
  "fine\n/holdfast do it again",
  "please ask @holdfast about it",
  "```\ncode\n```\n\n@holdfast stop",
  "```\nnever closed\n@holdfast stop",
  "~~~~\n~~~\n@holdfast stop\n~~~~\n@holdfast stop",
  "- list\n\n      ```\n\n@holdfast stop",
  "a `b\n@holdfast stop` c",
  "\r@holdfast stop\r\n\r\n/holdfast stop",
  "\u2028@holdfast stop\u2029\u0085@holdfast stop",
  "@\u200Bholdfast stop\n@holdfast\u200B stop",
  "<!-- -->\n\n@holdfast stop",
  "<details>\n\n@holdfast stop\n\n</details>",
  "<img src=x onerror=alert(1)>",
  "&#64;holdfast stop &commat;bob",
  "![pixel](https://evil.example/p.png) [text](javascript:alert(1))",
  "[x]: https://evil.example\n\n[x] ![x]",
  "\\<b>\\`@bob\\`",
  "_@bob_ **@bob** (@bob) ~~@bob~~",
  "# big\n\nunder\n===\n\n| a | b |\n| - | - |\n| @bob | `@bob` |",
  "> > @bob\n\n/approve\n\n!merge\n\n1. /lgtm",
  "\u202Eevil\u202C\u{E0041}\u0000",
  "`".repeat(70),
  "x".repeat(9_000),
];
