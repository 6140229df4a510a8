// Where the App's keys come from (spec 7.2): the environment before the file, piece by piece, and problems without values.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { appFileOf, writeAppFile } from "../../../app/setup/app-file.ts";
import { readAppKeys } from "../../../app/setup/app-keys.ts";
import { temporaryFolder } from "../../fakes/repository.ts";

const stored = {
  appId: "1",
  privateKey: "stored key",
  webhookSecret: "stored secret",
  baseUrl: "https://git.example/api/v3",
};
const given = { APP_ID: "2", PRIVATE_KEY: "given key", WEBHOOK_SECRET: "given secret" };
const fromGiven = { appId: "2", privateKey: "given key", webhookSecret: "given secret" };

function homeWith(keys: typeof stored | null): string {
  const home = temporaryFolder();
  if (keys !== null) writeAppFile(home, keys, { mayReplace: false });
  return home;
}

test.each([
  { name: "nothing", keys: null, environment: {}, expected: null },
  { name: "the file alone", keys: stored, environment: {}, expected: stored },
  { name: "the environment alone", keys: null, environment: given, expected: fromGiven },
  { name: "both: the environment wins", keys: stored, environment: given, expected: fromGiven },
  {
    name: "one from the environment, the rest from the file",
    keys: stored,
    environment: { WEBHOOK_SECRET: "new secret" },
    expected: { ...stored, webhookSecret: "new secret" },
  },
  {
    name: "empty variables are as good as none",
    keys: stored,
    environment: { APP_ID: "", PRIVATE_KEY: "", WEBHOOK_SECRET: "", GHE_HOST: "" },
    expected: stored,
  },
  {
    name: "a key on one line",
    keys: null,
    environment: { ...given, PRIVATE_KEY: "a\\nb\\n" },
    expected: { ...fromGiven, privateKey: "a\nb\n" },
  },
  {
    name: "an Enterprise Server",
    keys: stored,
    environment: { GHE_HOST: "127.0.0.1:4010", GHE_PROTOCOL: "http" },
    expected: { ...stored, baseUrl: "http://127.0.0.1:4010/api/v3" },
  },
])("$name", ({ keys, environment, expected }) => {
  expect(readAppKeys(homeWith(keys), environment)).toEqual({ ok: true, keys: expected });
});

test("a key is read from the file that PRIVATE_KEY_PATH names", () => {
  const home = temporaryFolder();
  const file = join(home, "key.pem");
  writeFileSync(file, "from a file");
  const environment = { ...given, PRIVATE_KEY: "", PRIVATE_KEY_PATH: file };
  const expected = { ...fromGiven, privateKey: "from a file" };
  expect(readAppKeys(home, environment)).toEqual({ ok: true, keys: expected });
});

test.each([
  [
    { APP_ID: "canary" },
    [
      "APP_ID must be the number of a GitHub App",
      "PRIVATE_KEY or PRIVATE_KEY_PATH must be given",
      "WEBHOOK_SECRET must be given",
    ],
  ],
  [
    { ...given, PRIVATE_KEY: "", PRIVATE_KEY_PATH: "/nonexistent/canary" },
    ["PRIVATE_KEY_PATH must name a file that can be read"],
  ],
  [{ ...given, GHE_HOST: "https://canary" }, ["GHE_HOST must be a host"]],
  [
    { ...given, GHE_HOST: "git.example", GHE_PROTOCOL: "canary" },
    ["GHE_PROTOCOL must be https or http"],
  ],
])("%j is refused, all of it at once", (environment, problems) => {
  const decision = readAppKeys(homeWith(null), environment);
  expect(decision).toEqual({ ok: false, problems });
});

test("a damaged file does not matter where the environment says everything", () => {
  const home = temporaryFolder();
  writeFileSync(appFileOf(home), "{");
  expect(readAppKeys(home, given)).toEqual({ ok: true, keys: fromGiven });
  expect(() => readAppKeys(home, {})).toThrow(expect.objectContaining({ code: "secrets-damaged" }));
});
