// How the command line is called (spec 7.1): help, near misses, exit codes and complaints, in real processes.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../fakes/repository.ts";
import { holdfast, type Called } from "./holdfast.ts";

const commands = [
  ["local"],
  ["start"],
  ["worker"],
  ["comment"],
  ["status"],
  ["log"],
  ["stop"],
  ["continue"],
  ["retry"],
  ["check"],
  ["recover"],
  ["extend"],
  ["pause"],
  ["resume"],
  ["nudge"],
  ["explain"],
  ["doctor"],
  ["setup"],
  ["ledger"],
] as const;

function call(...args: string[]): Promise<Called> {
  return holdfast({ home: join(temporaryFolder(), "home") }, ...args);
}

test("--help lists every command and ends well", async () => {
  const { exitCode, stdout } = await call("--help");
  expect(exitCode).toBe(0);
  for (const [name] of commands) expect(stdout).toMatch(new RegExp(`^  ${name}\\b`, "m"));
});

test.each(commands)("%s --help shows one example", async (name) => {
  const { exitCode, stdout } = await call(name, "--help");
  expect(exitCode).toBe(0);
  expect(stdout).toContain(`Usage: holdfast ${name}`);
  expect(stdout.match(/^ {2}\$ .*holdfast /gm)).toHaveLength(1);
});

test("--version is the one of the package", async () => {
  const { exitCode, stdout } = await call("--version");
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

describe("wrong usage ends with 2, says what would fit and shows no stack", () => {
  test.each([
    [["stauts"], "Did you mean status?"],
    [["status", "--jsn"], "Did you mean --json?"],
    [[], "Usage: holdfast"],
    [["log"], "missing required argument 'id'"],
    [["local", "--port", "99999"], "0 to 65535"],
    [["pause"], "`holdfast pause <id>` or `holdfast pause --all`"],
    [["resume", "m-7k3f", "--all"], "`holdfast resume <id>` or `holdfast resume --all`"],
    [["extend", "m-7k3f", "soon"], "`holdfast extend <id> <duration>`"],
    [["stop", "m-7k3f\n@holdfast stop"], "`holdfast stop [id]`"],
    [["stop", "everything"], "`holdfast stop [id]`"],
    [["comment", "twelve", "hello"], "`holdfast local <repository>`"],
  ])("%j", async (args, fitting) => {
    const { exitCode, stdout, stderr } = await call(...args);
    expect(exitCode).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toContain(fitting);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  test("settings that do not fit are all named, without their values", async () => {
    const environment = { PORT: "s3cret", HOLDFAST_TIMING: "{" };
    const home = join(temporaryFolder(), "home");
    const { exitCode, stderr } = await holdfast({ home, environment }, "status");
    expect(exitCode).toBe(2);
    expect(stderr).toContain("PORT must be a number from 0 to 65535; HOLDFAST_TIMING must be");
    expect(stderr).not.toContain("s3cret");
  });
});

describe("what fails ends with 1 and says what, why and what to do", () => {
  test.each([
    [["status", "m-7k3f"], "There is no mandate m-7k3f here."],
    [["log", "m-7k3f"], "There is no mandate m-7k3f here."],
    [["stop", "m-7k3f"], "There is no mandate m-7k3f here."],
    [["explain", "/nonexistent"], "/nonexistent cannot be read"],
    [["local", "/nonexistent"], "there is no git repository at this place"],
  ])("%j", async (args, said) => {
    const { exitCode, stderr } = await call(...args);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(said);
    expect(stderr).toMatch(/^ {2}Why: .+\n {2}What to do: ./m);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  test("a home that cannot be written", async () => {
    const home = join(temporaryFolder(), "home");
    writeFileSync(home, "");
    const { exitCode, stderr } = await holdfast({ home }, "status");
    expect(exitCode).toBe(1);
    expect(stderr).toContain("Why: the home folder cannot be written");
    expect(stderr).not.toContain("ENOTDIR");
  });

  test("the stack stands in the log at level debug", async () => {
    const home = join(temporaryFolder(), "home");
    writeFileSync(home, "");
    const { stderr } = await holdfast({ home, environment: { LOG_LEVEL: "debug" } }, "status");
    expect(stderr).toContain('"stack":"');
  });
});

test("NO_COLOR and a pipe take every escape away, FORCE_COLOR brings them", async () => {
  const home = join(temporaryFolder(), "home");
  const plain = await holdfast({ home, environment: { NO_COLOR: "1" } }, "doctor");
  const bright = await holdfast({ home, environment: { FORCE_COLOR: "1" } }, "doctor");
  expect(plain.stdout).not.toContain("\u001b");
  expect(bright.stdout).toContain("\u001b[");
});
