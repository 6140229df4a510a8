// The policy file (spec 7.3): defaults, every problem with its place, what may only be narrowed, hostile text.
import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dayMs, hourMs } from "../../policies/durations.ts";
import {
  defaultPolicy,
  grantNamed,
  parsePolicyFile,
  permissionFor,
  policyFileLimit,
  policySchema,
  taskNamed,
  type PolicyFile,
} from "../../policies/policy-file.ts";
import { schemaFile, schemaText } from "../../scripts/schema.ts";

function policy(text: string): PolicyFile {
  const result = parsePolicyFile(text);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.policy;
}

/** Problems as one line each: place, path, problem, suggestion. */
function problems(text: string): string[] {
  const result = parsePolicyFile(text);
  if (result.ok) return [];
  return result.problems.map(({ line, column, path, problem, suggestion }) =>
    [`${line}:${column}`, path, problem, suggestion === null ? "" : `→ ${suggestion}`]
      .filter((part) => part !== "")
      .join(" "),
  );
}

describe("a good file", () => {
  test("without anything gives the defaults", () => {
    for (const text of ["", "# nothing\n", "{}", "limits: {}\n", "null"]) {
      expect(policy(text)).toEqual(defaultPolicy);
    }
  });

  test("has the specification's defaults", () => {
    expect(defaultPolicy).toMatchObject({
      allowBots: [],
      limits: { deadlineMs: dayMs, deadlineMsLimit: 30 * dayMs, turnWallMs: hourMs, turns: null },
      stall: { limit: 20, thinkLimit: null },
      children: { limit: 4, depth: 3 },
      untracked: "commit",
      review: { rounds: 3, rebuttals: 5 },
      publish: { on: "completed", to: "head" },
      notices: { activity: false },
      record: { push: false },
      report: {},
      tasks: {},
    });
  });

  test("holds the specification's example of a task", () => {
    const read = policy(`
tasks:
  rollout:
    steps:
      - run: ./scripts/image-exists.sh "$TAG"     # exit 0 go on · 75 not yet (wait) · else failed
        wait: { every: 30m, for: 6h, signals: [release.published] }
      - run: ./scripts/rolled-out.sh || ./scripts/rollout.sh
        repeat: safe                                  # looks before it acts
    needs: maintain
    inputs: { TAG: { required: true, pattern: "v[0-9.]+" } }
`);
    expect(taskNamed(read, "rollout")).toMatchObject({
      needs: "maintain",
      on: "default",
      steps: [
        {
          run: './scripts/image-exists.sh "$TAG"',
          wait: {
            everyMs: hourMs / 2,
            forMs: 6 * hourMs,
            signals: [{ event: "release.published" }],
          },
        },
        { run: "./scripts/rolled-out.sh || ./scripts/rollout.sh", repeat: "safe" },
      ],
    });
  });

  test("finds tasks and grants by their exact names alone", () => {
    const read = policy("grants: { docs: only docs }\ntasks: { t: { steps: [{ run: x }] } }");
    expect(grantNamed(read, "docs")).toBe("only docs");
    expect(grantNamed(read, "Docs")).toBeNull();
    expect(grantNamed(read, "constructor")).toBeNull();
    expect(taskNamed(read, "toString")).toBeNull();
  });

  test("may use anchors", () => {
    const read = policy("grants: { a: &text the same, b: *text }");
    expect(read.grants).toEqual({ a: "the same", b: "the same" });
  });
});

const step = "steps: [{ run: x }]";
const bad: ReadonlyArray<readonly [name: string, text: string, problems: readonly string[]]> = [
  ["an unknown section", "limts: {}", ["1:1 limts unknown key → limits"]],
  ["an unknown key", "stall:\n  limt: 3", ["2:3 stall.limt unknown key → limit"]],
  [
    "a key that resembles none",
    "record: { zebra: 1 }",
    ["1:11 record.zebra unknown key; known here: push"],
  ],
  [
    "a command that is none",
    "permissions: { stopp: write }",
    ["1:16 permissions.stopp unknown key → stop"],
  ],
  [
    "a wider permission",
    "permissions: { stop: read }",
    ["1:22 permissions.stop stop needs write; a policy file may only ask for more"],
  ],
  [
    "a login in place of an id",
    "permissions: { do: { users: [alice] } }",
    ["1:30 permissions.do.users[0] expected number, received string"],
  ],
  [
    "too long a deadline",
    "limits: { deadline: 31d }",
    ["1:21 limits.deadline expected a duration from 1m to 30d, such as 30m or 1h30m"],
  ],
  [
    "a default beyond the maximum",
    "limits: { deadline: 3d, deadlineMax: 2d }",
    ["1:21 limits.deadline is longer than deadlineMax"],
  ],
  ["an empty section", "stall:\n", ["1:7 stall expected map, received null"]],
  [
    "more children than allowed",
    "children: { limit: 5 }",
    ["1:20 children.limit Too big: expected number to be <=4"],
  ],
  ["a task without steps", "tasks: { t: { needs: write } }", ["1:13 tasks.t.steps is missing"]],
  [
    "needs under write",
    `tasks: { t: { ${step}, needs: read } }`,
    ["1:43 tasks.t.needs expected write, maintain or admin"],
  ],
  [
    "a step for an agent",
    "tasks: { t: { steps: [{ agent: fix what failed }] } }",
    ["1:32 tasks.t.steps[0].agent handing a step over to an agent is not in this version"],
  ],
  [
    "a step that does nothing",
    "tasks: { t: { steps: [{}] } }",
    ["1:23 tasks.t.steps[0].run is missing"],
  ],
  [
    "a wait out of bounds",
    "tasks: { t: { steps: [{ run: x, wait: { every: 5s, for: 8d } }] } }",
    [
      "1:48 tasks.t.steps[0].wait.every expected a duration from 1m to 1d, such as 30m or 1h30m",
      "1:57 tasks.t.steps[0].wait.for expected a duration from 2m to 7d, such as 30m or 1h30m",
    ],
  ],
  [
    "a pull request's head with a secret",
    `tasks: { t: { ${step}, on: head, secrets: [KEY] } }`,
    ["1:40 tasks.t.on on a pull request's head a task gets no network and no secrets"],
  ],
  [
    "an input with a secret's name",
    `tasks: { t: { ${step}, inputs: { KEY: {} }, secrets: [KEY] } }`,
    ["1:51 tasks.t.inputs.KEY an input cannot have the name of a secret"],
  ],
  [
    "an input that steers the shell or the loader",
    `tasks: { t: { ${step}, inputs: { BASH_ENV: {}, LD_PRELOAD: {} } } }`,
    [
      "1:46 tasks.t.inputs.BASH_ENV this variable belongs to the host",
      "1:60 tasks.t.inputs.LD_PRELOAD this variable belongs to the host",
    ],
  ],
  [
    "a default that does not fit",
    `tasks: { t: { ${step}, inputs: { A: { pattern: "a+", default: b } } } }`,
    ["1:75 tasks.t.inputs.A.default does not fit the pattern a+"],
  ],
  ["a key twice", "stall: {}\nstall: {}", ["2:1 this key is here twice"]],
  ["a list as file", "- a", ["1:1 expected map, received list"]],
  [
    "several problems, in the order of the file",
    "stal: {}\nreport: { issue: x }\nuntracked: all",
    [
      "1:1 stal unknown key → stall",
      "2:18 report.issue expected number, received string",
      "3:12 untracked expected one of ignore|count|commit",
    ],
  ],
];

describe("a bad file", () => {
  test.each(bad)("with %s says where and what", (_, text, expected) => {
    expect(problems(text)).toEqual(expected);
  });

  test("never has its values repeated", () => {
    const secret = "ghp_0123456789abcdef";
    const texts = [`limits: { deadline: ${secret} }`, `untracked: ${secret}`, `stall: ${secret}`];
    for (const text of texts) expect(problems(text).join("\n")).not.toContain(secret);
  });
});

const hostile: ReadonlyArray<readonly [name: string, text: string]> = [
  ["nested lists", "[".repeat(policyFileLimit)],
  ["nested maps", "{".repeat(policyFileLimit)],
  ["closed nested maps", "{".repeat(2_000) + "}".repeat(2_000)],
  ["maps as keys", "? ".repeat(policyFileLimit / 2)],
  ["nested dashes", "- ".repeat(policyFileLimit / 2)],
  ["anchors", "&a ".repeat(policyFileLimit / 3)],
  [
    "aliases that double",
    `a0: &a0 x\n${Array.from({ length: 40 }, (_, at) => `a${at + 1}: &a${at + 1} [*a${at}, *a${at}]`).join("\n")}`,
  ],
  ["an alias of itself", "a: &a [*a]"],
  ["an alias of nothing", "a: *b"],
  ["a tag", "a: !!js/function x"],
  ["two documents", "{}\n---\n{}"],
  ["a prototype", "__proto__: { polluted: true }\nconstructor: { prototype: { polluted: true } }"],
  ["a prototype as a task", "tasks: { __proto__: { steps: [{ run: x }] } }"],
  ["a merge key", "<<: { stall: { limit: 1 } }"],
  ["keys by the thousand", Array.from({ length: 9_000 }, (_, at) => `k${at}:`).join("\n")],
  ["too much", `# ${"x".repeat(policyFileLimit)}`],
];

describe("a hostile file", () => {
  test.each(hostile)("with %s is refused with at most 51 problems", (_, text) => {
    const result = parsePolicyFile(text);
    expect(result.ok).toBe(false);
    expect(result.ok ? 0 : result.problems.length).toBeLessThanOrEqual(51);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });

  test("of any text never throws, and every problem has a place in it", () => {
    const words = fc.constantFrom(
      "a",
      "tasks",
      "steps",
      "run",
      ": ",
      "\n",
      "  ",
      "- ",
      "{",
      "}",
      "[",
      "]",
      "&a",
      "*a",
      "!t",
      "'",
      '"',
      "|",
      "#",
      ",",
      "?",
      "\t",
      "\0",
      "é",
    );
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(words).map((list) => list.join("")),
    );
    fc.assert(
      fc.property(text, (value) => {
        const result = parsePolicyFile(value);
        const lineCount = value.split(/\r\n|\r|\n/).length;
        for (const { line, column } of result.ok ? [] : result.problems) {
          expect(line).toBeGreaterThanOrEqual(1);
          expect(line).toBeLessThanOrEqual(lineCount + 1);
          expect(column).toBeGreaterThanOrEqual(1);
        }
      }),
    );
  });
});

describe("permissionFor", () => {
  const read = policy(
    "permissions: { do: maintain, stop: { users: [7] }, recover: { level: admin, users: [8] } }",
  );

  test.each([
    ["do", "write", { level: "maintain", users: null }],
    ["do", "admin", { level: "admin", users: null }],
    ["stop", "write", { level: "write", users: [7] }],
    ["recover", "maintain", { level: "admin", users: [8] }],
    ["run", "write", { level: "write", users: null }],
  ] as const)("%s, by default %s, is %j", (name, needs, expected) => {
    expect(permissionFor({ name, needs }, read)).toEqual(expected);
  });
});

describe("what is published of it", () => {
  const doc = readFileSync(new URL("../../docs/policy-file.md", import.meta.url), "utf8");

  test("the JSON Schema is the one of the code; else run node scripts/schema.ts", () => {
    expect(readFileSync(schemaFile, "utf8")).toBe(schemaText());
  });

  test("the document names every section and key, and no other", () => {
    const named = [...doc.matchAll(/^\| `([\w.<>[\]]+)` +\|/gm)].map((match) => match[1]);
    const keys = keysOf(policySchema());
    expect(named.filter((key) => !keys.includes(key ?? ""))).toEqual([]);
    expect(keys.filter((key) => !named.includes(key))).toEqual([]);
  });

  test("every example in the document is a good file", () => {
    const examples = [...doc.matchAll(/```yaml\n([\s\S]*?)```/g)].map((match) => match[1] ?? "");
    expect(examples.length).toBeGreaterThan(3);
    for (const example of examples) expect(problems(example)).toEqual([]);
  });
});

type Schema = ReturnType<typeof policySchema>;

/** Every key that can be written, as the document writes it: `tasks.<name>.steps[].run`. */
function keysOf(schema: Schema, above = ""): string[] {
  const forms = [schema, ...(schema.anyOf ?? [])];
  const found = forms.flatMap((form) => {
    if (typeof form !== "object") return [];
    const own = Object.entries(form.properties ?? {}).map(([key, inner]) => {
      return [above === "" ? key : `${above}.${key}`, inner] as const;
    });
    const named = [[`${above}.<name>`, form.additionalProperties] as const];
    const listed = [[`${above}[]`, form.items] as const];
    return [...own, ...named, ...listed].flatMap(([path, inner]) => leaves(path, inner));
  });
  return [...new Set(found)];
}

function leaves(path: string, inner: unknown): string[] {
  if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return [];
  const schema = inner as Schema;
  const below = keysOf(schema, path);
  const isValueToo = (schema.anyOf ?? []).some((form) => "type" in form && form.type === "string");
  return below.length > 0 && !isValueToo ? below : [path.replace(/\[\]$/, ""), ...below];
}
