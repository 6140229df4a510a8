// Patterns of task inputs (spec 5.6): the same answers as the engine everybody knows, without its worst case.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compilePattern, matches } from "../../../policies/policy-file/pattern.ts";

function fits(source: string, text: string): boolean {
  const compiled = compilePattern(source);
  if (!compiled.ok) throw new Error(`${source}: ${compiled.problem}`);
  return matches(compiled.pattern, text);
}

describe("a pattern", () => {
  test.each([
    ["v[0-9.]+", "v1.2.3", true],
    ["v[0-9.]+", "v", false],
    ["v[0-9.]+", "xv1", false],
    ["v[0-9.]+", "v1x", false],
    ["^v\\d+$", "v12", true],
    ["a|bc", "bc", true],
    ["a|bc", "ac", false],
    ["(?:a|b){2,3}", "aba", true],
    ["(?:a|b){2,3}", "abab", false],
    ["x{2}", "xx", true],
    ["x{2,}", "xxxxx", true],
    ["x{2,}", "x", false],
    ["[^/]+/[^/]+", "org/repo", true],
    ["[^/]+/[^/]+", "a/b/c", false],
    ["[a\\]]+", "a]", true],
    ["\\.", "x", false],
    ["(a*)*b", "aaab", true],
    ["", "", true],
    ["", "a", false],
  ])("%s and the text %j: %s", (source, text, expected) => {
    expect(fits(source, text)).toBe(expected);
  });

  test.each([
    ["(a", "not a valid regular expression"],
    ["a)", "not a valid regular expression"],
    ["*a", "not a valid regular expression"],
    ["(?=a)b", "look-around and named groups are not supported in a pattern"],
    ["(a)\\1", "`\\1` is not supported in a pattern"],
    ["a\\b", "`\\b` is not supported in a pattern"],
    ["a+?", "lazy quantifiers are not supported in a pattern"],
    ["a$b", "`$b` is not supported in a pattern"],
    ["a{5000}", "a pattern repeats a part at most 1000 times"],
    ["((a{100}){100}){100}", "the pattern is too large"],
  ])("%s is refused: %s", (source, problem) => {
    expect(compilePattern(source)).toEqual({ ok: false, problem });
  });

  test("answers as the engine does", () => {
    const atom = fc.constantFrom("a", "b", ".", "[ab]", "[^a]", "\\d", "\\.", "\\w");
    const times = fc.constantFrom("", "", "*", "+", "?", "{2}", "{1,2}", "{2,}");
    const { part } = fc.letrec<{ part: string; plain: string }>((tie) => ({
      plain: fc.tuple(atom, times).map((both) => both.join("")),
      part: fc.oneof(
        { maxDepth: 3 },
        tie("plain"),
        fc.tuple(tie("part"), tie("part")).map((both) => both.join("")),
        fc.tuple(tie("part"), tie("part"), times).map(([one, two, n]) => `(?:${one}|${two})${n}`),
      ),
    }));
    const text = fc.stringMatching(/^[ab1. ]{0,8}$/);
    fc.assert(
      fc.property(part, text, (source, value) => {
        expect(fits(source, value)).toBe(new RegExp(`^(?:${source})$`).test(value));
      }),
      { numRuns: 1_000 },
    );
  });

  test("that doubles its ways with each letter still ends", () => {
    expect(fits("((a|a)+)+b", "a".repeat(1_000))).toBe(false);
    expect(fits("(a?){500}a{500}", "a".repeat(499))).toBe(false);
  });
});
