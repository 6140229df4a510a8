// Secrets never leave (spec 6.5; I11): known ones and the shapes of well-known tokens.
import { expect, test } from "vitest";
import { openSecrets, redact } from "../../app/redact.ts";

// Put together here, so that no scanner takes this file for a leak.
const letters = "abcdefghij0123456789ABCDEFGHIJ";
const keyLine = ["-----BEGIN RSA PRIVATE", "KEY-----"].join(" ");
const keyEnd = keyLine.replace("BEGIN", "END");

test.each([
  ["a known secret, each time", "s3cret-1 and s3cret-1", "[secret] and [secret]"],
  ["a GitHub token", `x ${["ghp", letters].join("_")} y`, "x [secret] y"],
  ["an installation token", ["ghs", letters].join("_"), "[secret]"],
  ["a fine-grained token", ["github_pat", letters].join("_"), "[secret]"],
  ["a header", `authorization: Bearer ${letters}`, "authorization: [secret]"],
  ["a private key", `a\n${keyLine}\n${letters}\n${keyEnd}\nb`, "a\n[secret]\nb"],
  [
    "a private key in a line of JSON",
    `{"k":"${keyLine}\\n${letters}\\n${keyEnd}"}`,
    `{"k":"[secret]"}`,
  ],
])("I11: %s is cut out", (_, text, clean) => {
  expect(redact(text, ["s3cret-1"])).toBe(clean);
});

test.each(["ghp_short", "a bearer of news", "42", ""])("%j stays as it is", (text) => {
  expect(redact(text, ["s3cret-1", "42", ""])).toBe(text);
});

test("I11: what is kept stays known, and tokens are forgotten oldest first, long after they are worth nothing", () => {
  const secrets = openSecrets();
  secrets.keep("the-webhook-secret");
  for (let count = 1; count <= 1_000; count += 1) secrets.note(`token-${count}.`);
  const text = "the-webhook-secret token-1. token-900. token-1000.";
  expect(redact(text, secrets)).toBe("[secret] token-1. [secret] [secret]");
});
