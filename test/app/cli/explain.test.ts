// `holdfast explain` (spec 7.1, 7.3): reads as intake reads, says who and what, and leaves nothing behind.

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeRepository, temporaryFolder, writeFiles } from "../../fakes/repository.ts";
import { holdfast, type Called } from "./holdfast.ts";

const policy = `
permissions: { stop: maintain }
tasks:
  hello:
    needs: maintain
    inputs: { NAME: { required: true, pattern: "[a-z]+" } }
    steps: [{ run: echo }, { run: "true" }]
`;

function explain(input: string, ...args: string[]): Promise<Called> {
  return holdfast({ home: join(temporaryFolder(), "home"), input }, "explain", ...args);
}

function explainIn(cwd: string, input: string, ...args: string[]): Promise<Called> {
  return holdfast({ home: join(temporaryFolder(), "home"), cwd, input }, "explain", ...args);
}

test("--json gives the commands as they are typed, and no errors", async () => {
  const { exitCode, stdout } = await explain(
    "hi\n\n@holdfast stop M-7k3f\n@holdfast do it\nwell",
    "--json",
  );
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    commands: [
      { line: 3, name: "stop", args: { id: "m-7k3f" }, text: "stop M-7k3f", needs: "write" },
      {
        line: 4,
        name: "do",
        args: { explicit: true, grant: null, deadline: null },
        text: "it\nwell",
        needs: "write",
      },
    ],
    errors: [],
  });
});

test("errors name line, problem and suggestion, and the exit code is 1", async () => {
  const { exitCode, stdout } = await explain("@holdfast help\n@holdfast stpo\n", "--json");
  expect(exitCode).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    commands: [],
    errors: [
      {
        line: 2,
        problem: "the first word is one slip away from `stop`",
        suggestion: expect.stringContaining("`@holdfast stop [id]`"),
      },
    ],
  });
});

test("a comment that takes too long to read is an error, in time", async () => {
  const { exitCode, stdout } = await explain(
    `@holdfast fix\n\n${"a\n=\n".repeat(4_096)}`,
    "--json",
  );
  expect(exitCode).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ commands: [], errors: [{ line: 1 }] });
});

test("a file is read like standard input", async () => {
  const file = join(temporaryFolder(), "comment.md");
  writeFileSync(file, "@holdfast status");
  const { stdout } = await explain("", file, "--json");
  expect(JSON.parse(stdout)).toMatchObject({ commands: [{ name: "status", needs: "read" }] });
});

test("text without a command says how one begins", async () => {
  const { exitCode, stdout } = await explain("nothing here");
  expect(exitCode).toBe(0);
  expect(stdout).toContain("a line begins with @holdfast or /holdfast");
});

test("nothing is left behind, not even a home", async () => {
  const home = join(temporaryFolder(), "home");
  await holdfast({ home, input: "@holdfast status" }, "explain");
  expect(existsSync(home)).toBe(false);
});

describe("in a repository", () => {
  test("each command tells who may and what would happen", async () => {
    const { path } = makeRepository({ ".holdfast.yml": policy });
    const expected = [
      ["run hello NAME=you", "a mandate for the task hello, with the deadline"],
      ["run hello NAME=you within 1d", "1. echo\n  2. true"],
      ["run hello NAME=yo", "Who may: maintain and above"],
      ["stop", "Who may: maintain and above"],
      ["run hello NAME=YOU", "NAME does not fit the pattern"],
      ["run hallo", "There is no task `hallo` here"],
      ["run hello NAME=you within 31d", "beyond the maximum of 30d"],
      ["review", "this version of Holdfast cannot do it yet"],
      ["do it", "No agent is set up here"],
    ] as const;
    const comment = expected.map(([words]) => `@holdfast ${words}`).join("\n");
    const { exitCode, stdout } = await explainIn(path, comment);
    expect(exitCode).toBe(0);
    const parts = stdout.split(/^(?=Line \d+: )/m);
    expect(parts).toHaveLength(expected.length);
    for (const [index, [, said]] of expected.entries()) expect(parts[index]).toContain(said);
  });

  test("--json tells the level that policy file and task ask for", async () => {
    const { path } = makeRepository({ ".holdfast.yml": policy });
    const { stdout } = await explain("@holdfast run hello NAME=you", "--repo", path, "--json");
    expect(JSON.parse(stdout)).toMatchObject({ commands: [{ name: "run", needs: "maintain" }] });
  });

  test("a policy file that is not committed is not read, and it says so", async () => {
    const { path } = makeRepository({ "a.txt": "a" });
    writeFiles(path, { ".holdfast.yml": policy });
    const { stdout } = await explainIn(path, "@holdfast run hello NAME=you");
    expect(stdout).toContain("There is no task `hello` here");
    expect(stdout).toContain(".holdfast.yml is not committed as it is");
  });

  test("problems of the policy file come with line and column", async () => {
    const { path } = makeRepository({ ".holdfast.yml": "taks: {}\n" });
    const { stdout } = await explainIn(path, "@holdfast run hello");
    expect(stdout).toContain(".holdfast.yml:1:1 taks: unknown key; did you mean tasks?");
  });
});

test("a path that was named must lead to a repository", async () => {
  const { exitCode, stderr } = await explain("@holdfast help", "--repo", temporaryFolder());
  expect(exitCode).toBe(1);
  expect(stderr).toContain("there is no git repository at this place");
});
