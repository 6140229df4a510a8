// Style as a test (spec 8.1): who imports whom, which file is whose door, sizes, names, documents.
// Each rule runs over the whole project and over planted offences, so that a rule gone blind fails.
import { describe, expect, test } from "vitest";
import { reasonCodes } from "../policies/reasons.ts";
import { deadLinks, reasonGaps, unlinkedDocuments } from "./tidy/docs.ts";
import { bannedActs, forbiddenImports } from "./tidy/imports.ts";
import { parse, readProject, sourcesOf } from "./tidy/project.ts";
import type { Source } from "./tidy/project.ts";
import {
  badlyNamed,
  foreignPlaces,
  looseEnds,
  tooFull,
  tooLong,
  withoutOpening,
} from "./tidy/shape.ts";

const files = readProject();
const paths = new Set(files.map(({ path }) => path));
const sources = sourcesOf(files);

// Planted offences are put together here, since this file is looked at as well.
const reminder = ["TO", "DO"].join("");
const here = ["", "work", ""].join("/");
const beside = ["..", "shared"].join("/");

type Rule = (sources: readonly Source[]) => string[];

function offencesOf(rule: Rule, path: string, text: string): string[] {
  return rule([parse({ path, text })]);
}

test("it looks at every folder that has code, and sees what is imported there", () => {
  for (const path of ["policies/reasons.ts", "runners/exec.ts", "test/tidy.test.ts"]) {
    expect([...paths]).toContain(path);
  }
  const exec = sources.find(({ path }) => path === "runners/exec.ts");
  expect(exec?.imports.map(({ target }) => target)).toContain("node:child_process");
  expect(sources.some(({ path }) => path.startsWith("app/ledger/"))).toBe(true);
  expect([...paths].some((path) => path.includes("node_modules"))).toBe(false);
});

describe("imports", () => {
  test("nothing imports what its layer and the doors do not allow", () => {
    expect(forbiddenImports(sources)).toEqual([]);
  });

  test.each([
    ["policies/a.ts", `import { readFileSync } from "node:fs";`],
    ["policies/a.ts", `import type { Server } from "node:http";`],
    ["policies/a.ts", `import { x } from "../app/log.ts";`],
    ["policies/a.ts", `import { parse } from "yaml";`],
    ["policies/evidence/a.ts", `export { x } from "../../runners/runner.ts";`],
    ["runners/a.ts", `import type { x } from "../app/settings.ts";`],
    ["runners/a.ts", `import { z } from "zod";`],
    ["runners/git.ts", `import { spawn } from "node:child_process";`],
    ["runners/agents/task.ts", `await import("node:child_process");`],
    ["app/a.ts", `import { exec } from "../runners/exec.ts";`],
    ["app/a.ts", `import type { Outcome } from "../runners/exec.ts";`],
    ["app/a.ts", `export * from "../test/system.ts";`],
    ["app/a.ts", `import pino from "pino";`],
    ["app/web/a.ts", `import { createServer } from "node:http";`],
    ["app/turn/turn.ts", `import { DatabaseSync } from "node:sqlite";`],
    ["app/a.ts", `import { connect } from "node:net";`],
    ["app/a.ts", `import { spawn } from "child_process";`],
    ["app/a.ts", `import leftPad from "left-pad";`],
    ["app/a.ts", `const name = "node:" + "net"; await import(name);`],
    ["app/a.ts", `new Worker(new URL("../runners/exec.ts", import.meta.url));`],
    ["app/a.ts", `import "../policies/../runners/git.ts";`],
  ])("%s may not say %s", (path, text) => {
    expect(offencesOf(forbiddenImports, path, text)).toHaveLength(1);
  });

  test.each([
    ["policies/a.ts", `import { z } from "zod"; import { y } from "./evidence/b.ts";`],
    ["policies/yaml-file.ts", `import { parseDocument } from "yaml";`],
    ["runners/exec.ts", `import { spawn } from "node:child_process";`],
    ["runners/agents/task.ts", `import { exec } from "../exec.ts";`],
    ["app/a.ts", `import { runner } from "../runners/runner.ts"; import { open } from "node:fs";`],
    ["app/intake/a.ts", `new Worker(new URL("b-thread.ts", import.meta.url));`],
    ["app/web/a.ts", `import type { IncomingMessage } from "node:http";`],
    ["app/ledger/sqlite/sqlite.ts", `import { DatabaseSync } from "node:sqlite";`],
    ["test/a.ts", `import { spawn } from "node:child_process"; import "left-pad";`],
  ])("%s may say %s", (path, text) => {
    expect(offencesOf(forbiddenImports, path, text)).toEqual([]);
  });
});

describe("acts that have one home", () => {
  test("nothing does them elsewhere", () => {
    expect(bannedActs(sources)).toEqual([]);
  });

  test.each([
    ["app/a.ts", `process.getBuiltinModule("node:net");`],
    ["runners/a.ts", `import { createRequire } from "node:module";`],
    ["runners/repository/publish.ts", `exec({ argv: ["git", "push"] });`],
    ["app/turn/turn.ts", "run(`select id\n  from mandates`);"],
    ["app/turn/turn.ts", `run("INSERT INTO mandates values (1)");`],
    ["app/outbox/deliver.ts", `if (connection.kind === "forgejo") {}`],
    ["policies/a.ts", `const at = Date.now();`],
    ["policies/a.ts", `const at = new Date().getTime();`],
    ["policies/a.ts", `const at = Number(new Date);`],
    ["policies/a.ts", `const chance = Math.random();`],
    ["policies/a.ts", `const home = process.env["HOME"];`],
  ])("%s may not do %s", (path, text) => {
    expect(offencesOf(bannedActs, path, text)).toHaveLength(1);
  });

  test.each([
    ["runners/git.ts", `exec({ argv: ["git", "push"] });`],
    ["app/ledger/mandates.ts", "run(`select id from mandates`);"],
    ["app/forge/github.ts", `if (kind === "github") {}`],
    ["policies/durations.ts", `new Date(at).toISOString();`],
    ["policies/a.ts", `// never Date.now()\nconst a = 1;`],
  ])("%s may do %s", (path, text) => {
    expect(offencesOf(bannedActs, path, text)).toEqual([]);
  });
});

describe("shape", () => {
  test.each<[string, Rule]>([
    ["no file is too long", tooLong],
    ["no folder is too full", tooFull],
    ["every file is named after something", badlyNamed],
    ["every file says at its top what it is about", withoutOpening],
    ["no reminder is without an issue", looseEnds],
  ])("%s", (_name, rule) => {
    expect(rule(sources)).toEqual([]);
  });

  test("no file names a place of the machine it was written on", () => {
    expect(foreignPlaces(files)).toEqual([]);
  });

  test.each<[Rule, string, string]>([
    [tooLong, "policies/a.ts", "\n".repeat(251)],
    [tooLong, "app/a.ts", "\n".repeat(401)],
    [tooLong, "test/a.test.ts", "\n".repeat(601)],
    [badlyNamed, "app/runTurn.ts", ""],
    [badlyNamed, "app/git-utils.ts", ""],
    [badlyNamed, "app/web/index.ts", ""],
    [badlyNamed, "app/turn-manager.ts", ""],
    [withoutOpening, "app/a.ts", `import "./b.ts";\n`],
    [withoutOpening, "bin/a.js", `#!/usr/bin/env node\nrun();\n`],
    [withoutOpening, "app/a.ts", "// one\n// two\n// three\n// four\nrun();\n"],
    [looseEnds, "app/a.ts", `/* ${reminder}: later */`],
    [foreignPlaces, "app/a.ts", `open("${here}main");`],
    [foreignPlaces, "app/a.ts", `open("${beside}/spec");`],
  ])("%o finds its offence in %s", (rule, path, text) => {
    expect(offencesOf(rule, path, text)).toHaveLength(1);
  });

  test.each<[Rule, string, string]>([
    [tooLong, "policies/a.ts", "\n".repeat(250)],
    [badlyNamed, "app/run-turn.ts", ""],
    [badlyNamed, "test/policies/waits.test.ts", ""],
    [badlyNamed, "runners/agent-index.ts", ""],
    [withoutOpening, "bin/a.js", `#!/usr/bin/env node\n// what it is\nrun();\n`],
    [looseEnds, "app/a.ts", `// ${reminder}(#12): later`],
    [foreignPlaces, "app/a.ts", `open("app/work/list"); open("../shared-cache");`],
  ])("%o leaves %s in peace", (rule, path, text) => {
    expect(offencesOf(rule, path, text)).toEqual([]);
  });

  test("the fifteenth file of a folder is one too many", () => {
    const folder = Array.from({ length: 15 }, (_, index) =>
      parse({ path: `app/a${index}.ts`, text: "" }),
    );
    expect(tooFull(folder)).toHaveLength(1);
    expect(tooFull(folder.slice(1))).toEqual([]);
  });
});

describe("documents", () => {
  test("every file in docs/ is linked from another document", () => {
    expect(unlinkedDocuments(files)).toEqual([]);
  });

  test("every relative link leads somewhere", () => {
    expect(deadLinks(files, (path) => paths.has(path) || path === "LICENSE")).toEqual([]);
  });

  test("an unlinked document and a dead link are found", () => {
    const lost = { path: "docs/lost.md", text: "[me](lost.md) [gone](../gone.md#part)" };
    const readme = { path: "README.md", text: "[a](docs/a.md) [far](https://a.example/x.md)" };
    expect(unlinkedDocuments([readme, lost, { path: "docs/a.md", text: "" }])).toHaveLength(1);
    expect(deadLinks([readme, lost], (path) => path.startsWith("docs/"))).toHaveLength(1);
  });
});

describe("reason codes", () => {
  const document = files.find(({ path }) => path === "docs/commands.md")?.text ?? "";

  test("docs/commands.md documents each one, and none that does not exist", () => {
    expect(reasonGaps(reasonCodes, document)).toEqual([]);
  });
});

test("a reason that is undocumented, dead or documented twice is found", () => {
  const row = "| `stalled` | nothing new |\n";
  const document = `# Commands\n| \`stop\` | ends it |\n## Reasons\n| code | means |\n${row}`;
  expect(reasonGaps(["stalled"], document)).toEqual([]);
  expect(reasonGaps(["stalled", "paused"], document)).toHaveLength(1);
  expect(reasonGaps([], document)).toHaveLength(1);
  expect(reasonGaps(["stalled"], document + row)).toHaveLength(1);
});
