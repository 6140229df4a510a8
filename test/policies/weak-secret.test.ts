// Which webhook secrets are refused (spec 6.2).

import { expect, test } from "vitest";
import { weakSecret } from "../../policies/weak-secret.ts";

test.each([
  ["", "it is empty"],
  ["   ", "it is empty"],
  ["short", "it has fewer than 16 characters"],
  ["fifteen-letters", "it has fewer than 16 characters"],
  [`  ${"a1".repeat(7)}  `, "it has fewer than 16 characters"],
  ["development", "it is a known default"],
  ["Development", "it is a known default"],
  ["It's a Secret to Everybody", "it is a known default"],
  ["x".repeat(40), "it is one character repeated"],
])("%j is refused: %s", (secret, why) => {
  expect(weakSecret(secret)).toBe(why);
});

test.each([["sixteen-letters!"], ["5d8f1c0b7a3e4d2f9b6c5d8f1c0b7a3e4d2f9b6c"]])(
  "%j may be used",
  (secret) => {
    expect(weakSecret(secret)).toBeNull();
  },
);
