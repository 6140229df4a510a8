// The settings file (spec 7.2): what stands in it, where it is looked for, and how its problems are told.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readSettingsFile, type SettingsFileDecision } from "../../app/settings-file.ts";
import { temporaryFolder } from "../fakes/repository.ts";

function read(text: string): SettingsFileDecision {
  const home = temporaryFolder();
  writeFileSync(join(home, "settings.yaml"), text);
  return readSettingsFile(home, {});
}

function problemsOf(text: string): string[] {
  const decision = read(text);
  if (decision.ok) throw new Error("it was taken");
  return decision.problems.map((problem) => problem.replace(/^.*settings\.yaml:/, ""));
}

const defaults = {
  repositories: [],
  nudgeTokens: [],
  github: { writes: { perSecond: 1, perMinute: 80, perHour: 500 } },
};

test.each([
  ["", defaults],
  ["# nothing\n", defaults],
  [
    "repositories: [org/door, 42]\nworkers: 0\ntimeZone: Europe/Berlin\n",
    { ...defaults, repositories: ["org/door", 42], workers: 0, timeZone: "Europe/Berlin" },
  ],
  [
    "github: { writes: { perMinute: 20 } }",
    { ...defaults, github: { writes: { perSecond: 1, perMinute: 20, perHour: 500 } } },
  ],
])("%j is read with its defaults", (text, file) => {
  expect(read(text)).toEqual({ ok: true, file });
});

test.each([
  ["repository: [org/door]", /^1:1 repository: .*did you mean repositories\?/],
  ["repositories: [door]", /^1:16 repositories\[0\]: expected owner\/name or a number/],
  ["repositories: [-3]", /^1:16 repositories\[0\]: expected owner\/name or a number/],
  ["repositories: org/door", /^1:15 repositories: /],
  ["workers: many-canary", /^1:10 workers: /],
  ["workers: 65", /^1:10 workers: /],
  ["timeZone: Canary/Berlin", /^1:11 timeZone: expected a time zone/],
  ["github: { writes: { perHour: 0 } }", /^1:30 github\.writes\.perHour: /],
  ["github:\n  write: {}", /^2:3 github\.write: .*did you mean writes\?/],
  ["admins: [1]", /^1:1 admins: /],
  ["a: b: canary", /^1:/],
])("%j is one problem, at its place and without the value", (text, expected) => {
  const problems = problemsOf(text);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(expected);
  expect(problems[0]).not.toMatch(/canary/i);
});

test("all problems are told together", () => {
  expect(problemsOf("workers: -1\ntimezone: UTC\nrepositories: [a]\n")).toHaveLength(3);
});

test("a file that is named has to be there, the home's own need not", () => {
  const home = join(temporaryFolder(), "home");
  mkdirSync(home);
  const named = join(home, "other.yaml");
  expect(readSettingsFile(home, {})).toMatchObject({ ok: true });
  expect(readSettingsFile(home, { HOLDFAST_SETTINGS: "" })).toMatchObject({ ok: true });
  expect(readSettingsFile(home, { HOLDFAST_SETTINGS: named })).toEqual({
    ok: false,
    problems: [`${named} cannot be read`],
  });
  writeFileSync(named, "workers: 3");
  expect(readSettingsFile(home, { HOLDFAST_SETTINGS: named })).toMatchObject({
    file: { workers: 3 },
  });
});
