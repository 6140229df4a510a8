// What globs match, as a table and against regular expressions.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { matchesGlob } from "../../policies/glob.ts";

test.each([
  ["v2.*", "v2.0", true],
  ["v2.*", "v20", false],
  ["v?.0", "v2.0", true],
  ["v?.0", "v.0", false],
  ["*", "", true],
  ["", "", true],
  ["", "a", false],
  ["*-rc*", "v1-rc2", true],
  ["*-rc", "v1-rc2", false],
  ["a*b*c", "a-b-b-c", true],
  ["v2.0", "v2x0", false],
  ["[v]2", "v2", false],
])("%s on %s is %s", (pattern, text, fits) => {
  expect(matchesGlob(pattern, text)).toBe(fits);
});

test("it agrees with the same pattern as a regular expression", () => {
  const letter = fc.constantFrom("a", "b", "*", "?", ".");
  fc.assert(
    fc.property(
      fc.string({ unit: letter, maxLength: 8 }),
      fc.string({ unit: fc.constantFrom("a", "b", "."), maxLength: 12 }),
      (pattern, text) => {
        const source = pattern.replaceAll(".", "\\.").replaceAll("*", ".*").replaceAll("?", ".");
        expect(matchesGlob(pattern, text)).toBe(new RegExp(`^${source}$`, "s").test(text));
      },
    ),
  );
});

test("many stars on a long text that does not fit end soon", () => {
  expect(matchesGlob("a*".repeat(100) + "b", "a".repeat(20_000))).toBe(false);
});
