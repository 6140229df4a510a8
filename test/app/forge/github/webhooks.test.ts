// GitHub's deliveries before anything in them is read (spec 6.2): the three headers, the signature over raw bytes.
import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { verifyGitHub } from "../../../../app/forge/github/webhooks.ts";

const guid = "72d3162e-cc78-11e3-81ab-4c9367dc0958";
const signature = `sha256=${"a".repeat(64)}`;
const whole = {
  "x-github-delivery": guid,
  "x-github-event": "issue_comment",
  "x-hub-signature-256": signature,
};
const secret = "a secret of many letters";
const webhooks = verifyGitHub(secret);

function announced(headers: Readonly<Record<string, string>>) {
  return webhooks.announced((name) => headers[name]);
}

test("a delivery is announced by three headers", () => {
  expect(announced(whole)).toEqual({ guid, event: "issue_comment", signature });
});

test.each<[string, Record<string, string>]>([
  ["no GUID", { "x-github-delivery": "" }],
  ["a GUID that is too long", { "x-github-delivery": "a".repeat(101) }],
  ["a GUID with a space", { "x-github-delivery": "a b" }],
  ["a GUID with a new line", { "x-github-delivery": `${guid}\n` }],
  ["a GUID that is a path", { "x-github-delivery": "../x" }],
  ["no event", { "x-github-event": "" }],
  ["an event in capitals", { "x-github-event": "Issues" }],
  ["an event that is too long", { "x-github-event": "a".repeat(61) }],
  ["an event with a new line", { "x-github-event": "issues\n" }],
  ["no signature", { "x-hub-signature-256": "" }],
  [
    "an old signature alone",
    { "x-hub-signature-256": "", "x-hub-signature": `sha1=${"a".repeat(40)}` },
  ],
  ["an old signature in the new place", { "x-hub-signature-256": `sha1=${"a".repeat(40)}` }],
  ["a signature without its kind", { "x-hub-signature-256": "a".repeat(64) }],
  ["a signature that is too short", { "x-hub-signature-256": signature.slice(0, -1) }],
  ["a signature that is too long", { "x-hub-signature-256": `${signature}a` }],
  ["a signature that is no number", { "x-hub-signature-256": `sha256=${"g".repeat(64)}` }],
  ["a signature with a new line", { "x-hub-signature-256": `${signature}\n` }],
])("%s announces nothing", (_name, headers) => {
  expect(announced({ ...whole, ...headers })).toBeNull();
});

test("GitHub's own example is signed", () => {
  const official = verifyGitHub("It's a Secret to Everybody");
  const told = {
    ...whole,
    "x-hub-signature-256":
      "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
  };
  const delivery = official.announced((name) => told[name as keyof typeof told]);
  if (delivery === null) throw new Error("not announced");
  expect(official.isSigned(delivery, Buffer.from("Hello, World!"))).toBe(true);
  expect(official.isSigned(delivery, Buffer.from("Hello, World"))).toBe(false);
  expect(official.isSigned(delivery, Buffer.from("Hello, World!\n"))).toBe(false);
});

test.each([
  ["nothing", Buffer.alloc(0)],
  ["letters", Buffer.from('{"action":"created"}')],
  ["what is no text", Buffer.from([0, 255, 254, 128, 10, 13])],
  ["a megabyte", Buffer.alloc(1_000_000, "é")],
])("the bytes themselves are signed: %s", (_name, body) => {
  function delivery(key: string) {
    const hex = createHmac("sha256", key).update(body).digest("hex");
    return { guid, event: "issues", signature: `sha256=${hex}` };
  }
  expect(webhooks.isSigned(delivery(secret), body)).toBe(true);
  expect(webhooks.isSigned(delivery("another secret"), body)).toBe(false);
  expect(webhooks.isSigned(delivery(""), body)).toBe(false);
  expect(webhooks.isSigned(delivery(secret), Buffer.concat([body, Buffer.from(" ")]))).toBe(false);
});

test.each([
  ["issues", true],
  ["registry_package", true],
  ["ping", false],
  ["star", false],
  ["__proto__", false],
  ["constructor", false],
])("%s: wanted %s", (event, isWanted) => {
  expect(webhooks.isWanted(event)).toBe(isWanted);
});
