// The file of the App's keys (spec 6.5, 7.2): whole or not at all, for its owner alone, never replaced unasked.

import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readAppFile, writeAppFile } from "../../../app/setup/app-file.ts";
import { temporaryFolder } from "../../fakes/repository.ts";

const keys = { appId: "1", privateKey: "pem", webhookSecret: "secret" };
const others = { ...keys, appId: "2", baseUrl: "https://git.example/api/v3" };

test("what was written is read again, and its owner alone may do so", () => {
  const home = temporaryFolder();
  expect(readAppFile(home)).toBeNull();
  expect(writeAppFile(home, others, { mayReplace: false })).toBe(true);
  expect(readAppFile(home)).toEqual(others);
  expect(statSync(join(home, "github.json")).mode & 0o777).toBe(0o600);
  expect(readdirSync(home)).toEqual(["github.json"]);
});

test("there is no replacing unasked, and all of it where it was asked for", () => {
  const home = temporaryFolder();
  writeAppFile(home, keys, { mayReplace: false });
  expect(writeAppFile(home, others, { mayReplace: false })).toBe(false);
  expect(readAppFile(home)).toEqual(keys);
  expect(writeAppFile(home, others, { mayReplace: true })).toBe(true);
  expect(readAppFile(home)).toEqual(others);
  expect(readdirSync(home)).toEqual(["github.json"]);
});

test("a home that cannot be written is a failure that leaves nothing behind", () => {
  const home = join(temporaryFolder(), "missing");
  expect(() => writeAppFile(home, keys, { mayReplace: false })).toThrow(
    expect.objectContaining({ code: "home-unwritable" }),
  );
});

test.each([
  ["half of it", '{"appId":"1","privateKey":"canary'],
  ["another form", '{"appId":"canary"}'],
])("a damaged file is said to be so, without what is in it: %s", (_case, text) => {
  const home = temporaryFolder();
  writeFileSync(join(home, "github.json"), text);
  let thrown: unknown;
  try {
    readAppFile(home);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({ code: "secrets-damaged", cause: undefined });
  expect(String(thrown)).not.toContain("canary");
  expect(readFileSync(join(home, "github.json"), "utf8")).toBe(text);
});
