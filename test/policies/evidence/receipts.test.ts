// Receipts (spec 2.4, 5.5): when one is given, why not, and what makes two of them equal.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { receipt, type ToolCall } from "../../../policies/evidence/receipts.ts";

function call(over: Partial<ToolCall> = {}): ToolCall {
  return {
    id: "c1",
    name: "bash",
    kind: "work",
    startedAt: 10,
    finishedAt: 20,
    exitCode: 0,
    error: false,
    text: "ok",
    length: 2,
    ...over,
  };
}

/** The canonical text itself stands for its hash: a failing test shows what differs. */
function given(calls: readonly ToolCall[]): string {
  const result = receipt(calls, { succeeded: true, hash: (text) => text });
  return result.given ? result.hash : `refused: ${result.reasons.join("; ")}`;
}

const verdicts: ReadonlyArray<readonly [name: string, calls: readonly ToolCall[], text: string]> = [
  ["a call with a result", [call()], '[["bash","ok\\nexit 0"]]'],
  ["a silent exit 0", [call({ text: " \n" })], '[["bash","exit 0"]]'],
  ["a silent not yet", [call({ text: "", exitCode: 75 })], '[["bash","exit 75"]]'],
  [
    "exit 75, even reported as an error",
    [call({ exitCode: 75, error: true })],
    '[["bash","ok\\nexit 75"]]',
  ],
  ["a result of unknown exit code", [call({ exitCode: null })], '[["bash","ok"]]'],
  ["no call", [], "refused: no work tool was used"],
  ["only control calls", [call({ kind: "control" })], "refused: no work tool was used"],
  [
    "nothing of unknown exit code",
    [call({ text: "", exitCode: null })],
    "refused: bash returned nothing",
  ],
  [
    "nothing but what changes by itself is something",
    [call({ text: "12:03:11", exitCode: null })],
    '[["bash","<time>"]]',
  ],
  ["an error", [call({ error: true })], "refused: bash ended with an error"],
  ["another exit code", [call({ exitCode: 1 })], "refused: bash ended with an error"],
  ["a call that did not finish", [call({ finishedAt: null })], "refused: bash did not finish"],
  [
    "one bad call among good ones",
    [call(), call({ id: "c2", name: "grep", error: true })],
    "refused: grep ended with an error",
  ],
  [
    "a control call that failed",
    [call(), call({ id: "c2", kind: "control", error: true })],
    '[["bash","ok\\nexit 0"]]',
  ],
  [
    "a call in two records",
    [call({ finishedAt: null, text: "", exitCode: null }), call({ startedAt: 15 })],
    '[["bash","ok\\nexit 0"]]',
  ],
];

describe("receipt", () => {
  test.each(verdicts)("of %s", (_, calls, text) => {
    expect(given(calls)).toBe(text);
  });

  test("is refused for a turn that did not succeed, with all reasons together", () => {
    const calls = [call({ error: true })];
    expect(receipt(calls, { succeeded: false, hash: (text) => text })).toEqual({
      given: false,
      reasons: ["the turn did not succeed", "bash ended with an error"],
    });
  });

  test("is the same when only the time of day differs", () => {
    const one = call({ text: "CI still running (as of 12:03:11)" });
    const other = call({
      text: "CI still running (as of 12:33:12)",
      startedAt: 99,
      finishedAt: 120,
    });
    expect(given([one])).toBe(given([other]));
  });

  test("differs with the name of the tool, the result and its exit code", () => {
    const texts = [call(), call({ name: "sh" }), call({ text: "no" }), call({ exitCode: 75 })];
    expect(new Set(texts.map((one) => given([one]))).size).toBe(4);
  });

  test("cannot be forged by text that looks like two results", () => {
    const two = [call({ text: "a" }), call({ id: "c2", text: "b", startedAt: 30, finishedAt: 40 })];
    expect(given([call({ text: 'a"],["bash","b' })])).not.toBe(given(two));
  });

  test("keeps the order of calls that followed each other", () => {
    const first = call({ id: "z", text: "z" });
    const second = call({ id: "a", text: "a", startedAt: 20, finishedAt: 30 });
    const swapped = [
      { ...second, startedAt: 10, finishedAt: 20 },
      { ...first, startedAt: 20, finishedAt: 30 },
    ];
    expect(given([first, second])).toBe(given([second, first]));
    expect(given([first, second])).not.toBe(given(swapped));
  });

  test("ignores who won the race among calls that overlapped", () => {
    const texts = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 6 });
    const delays = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 6, maxLength: 6 });
    fc.assert(
      fc.property(texts, delays, delays, (results, starts, others) => {
        const [one, other] = [starts, others].map((offsets) =>
          given(
            results.map((text, at) =>
              call({ id: `c${at}`, text, startedAt: offsets[at] ?? 0, finishedAt: 50 + at }),
            ),
          ),
        );
        expect(one).toBe(other);
      }),
    );
  });
});
