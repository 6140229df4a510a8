// The repository's policy file `.holdfast.yml` (spec 7.3): text to checked settings, or all of its problems.
// It can only narrow what the installation allows; nothing here reads a file or keeps an earlier version.

import { isMap, isNode, isPair, isScalar, isSeq, LineCounter, parseDocument, visit } from "yaml";
import type { Document, Node } from "yaml";
import * as z from "zod";
import { stricter, type Level } from "./authority.ts";
import type { Command } from "./commands/commands.ts";
import { findingsOf, type Finding } from "./policy-file/problems.ts";
import * as sections from "./policy-file/sections.ts";
import { AccountId, Name } from "./policy-file/values.ts";
import { Task } from "./tasks.ts";

export const policyFileName = ".holdfast.yml";

/** Larger files are refused unread: the YAML parser takes a third of a second for this much hostile text. */
export const policyFileLimit = 64 * 1024;
const problemLimit = 50;

/** The whole file as read: every section is there, with its defaults. Unknown keys are problems. */
export const PolicyFile = z.strictObject({
  permissions: sections.Permissions.prefault({}),
  allowBots: z.array(AccountId).max(100).prefault([]),
  limits: sections.Limits.prefault({}),
  stall: sections.Stall.prefault({}),
  children: sections.Children.prefault({}),
  grants: z.record(Name, z.string().trim().min(1).max(10_000)).prefault({}),
  agents: z.strictObject({}).prefault({}),
  tasks: z.record(Name, Task).prefault({}),
  waits: sections.Waits.prefault({}),
  nudges: sections.Nudges.prefault({}),
  untracked: z.enum(["ignore", "count", "commit"]).prefault("commit"),
  review: sections.Review.prefault({}),
  publish: sections.Publish.prefault({}),
  notices: z.strictObject({ activity: z.boolean().prefault(false) }).prefault({}),
  record: z.strictObject({ push: z.boolean().prefault(false) }).prefault({}),
  report: z.strictObject({ issue: z.int().positive().optional() }).prefault({}),
});
export type PolicyFile = z.infer<typeof PolicyFile>;

/** Lines and columns count from 1; `path` is written like `tasks.rollout.steps[0].wait`, "" for the whole file. */
export interface PolicyProblem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly path: string;
  readonly problem: string;
  /** The nearest valid key. */
  readonly suggestion: string | null;
}

export type PolicyResult =
  | { readonly ok: true; readonly policy: PolicyFile }
  | { readonly ok: false; readonly problems: readonly PolicyProblem[] };

/** The settings of a repository without a policy file. */
export const defaultPolicy: PolicyFile = PolicyFile.parse({});

/** Reads the text of a policy file; at most 50 problems, in the order of the file. Never throws. */
export function parsePolicyFile(text: string): PolicyResult {
  if (new TextEncoder().encode(text).length > policyFileLimit) {
    return refused([problemAt({ problem: `is larger than ${policyFileLimit / 1024} KB` })]);
  }
  const lines = new LineCounter();
  const document = parseDocument(text, {
    schema: "core",
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    // The parser compares each key with every other; badKeys() does it in one pass.
    uniqueKeys: false,
  });
  const faults = [...document.errors, ...document.warnings].map((fault) =>
    problemAt({ problem: fault.message, place: placeOf(lines, fault.pos[0]) }),
  );
  if (faults.length > 0) return refused(faults);
  const keys = badKeys(document).map(({ key, problem }) =>
    problemAt({ problem, place: placeOf(lines, key.range?.[0]) }),
  );
  if (keys.length > 0) return refused(keys);
  return checked(document, lines);
}

function checked(document: Document.Parsed, lines: LineCounter): PolicyResult {
  let value: unknown;
  try {
    value = document.toJS() ?? {};
  } catch {
    return refused([
      problemAt({ problem: "aliases (*name) that expand to too much, or to nothing" }),
    ]);
  }
  const parsed = PolicyFile.safeParse(value, { reportInput: true });
  if (parsed.success) return { ok: true, policy: parsed.data };
  const findings = findingsOf(parsed.error.issues, policySchema());
  const problems = findings.slice(0, problemLimit).map(({ at, isKey, problem, suggestion }) =>
    problemAt({
      problem,
      suggestion,
      path: at
        .map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`))
        .join(""),
      place: placeOf(lines, nodeAt(document, { at, isKey })?.range?.[0]),
    }),
  );
  return refused(problems, findings.length);
}

/** JSON Schema of the file as people write it, for editors. */
export function policySchema(): z.core.JSONSchema.JSONSchema {
  const schema = z.toJSONSchema(PolicyFile, { io: "input" });
  return { ...schema, title: "The Holdfast policy file, .holdfast.yml" };
}

/** The level and, where the file names them, the only people for this command. The file can only ask for more. */
export function permissionFor(
  command: Pick<Command, "name" | "needs">,
  policy: PolicyFile,
): { readonly level: Level; readonly users: readonly number[] | null } {
  const asked = policy.permissions[command.name];
  return { level: stricter(command.needs, asked?.level ?? "none"), users: asked?.users ?? null };
}

/** A problem on one line, as compilers write it. */
export function problemLine(problem: PolicyProblem): string {
  const { file, line, column, path } = problem;
  const near = problem.suggestion === null ? "" : `; did you mean ${problem.suggestion}?`;
  return `${file}:${line}:${column} ${path === "" ? "" : `${path}: `}${problem.problem}${near}`;
}

/** The task of this name; names from a comment never reach what JavaScript itself puts on an object. */
export function taskNamed(policy: PolicyFile, name: string): Task | null {
  return Object.hasOwn(policy.tasks, name) ? (policy.tasks[name] ?? null) : null;
}

/** The narrower text of a task grant (spec 1.2) by its exact name; null when none is declared. */
export function grantNamed(policy: PolicyFile, name: string): string | null {
  return Object.hasOwn(policy.grants, name) ? (policy.grants[name] ?? null) : null;
}

interface Place {
  readonly line: number;
  readonly column: number;
}

function placeOf(lines: LineCounter, offset: number | undefined): Place {
  const { line, col } = lines.linePos(offset ?? 0);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

function problemAt(found: {
  readonly problem: string;
  readonly suggestion?: string | null;
  readonly path?: string;
  readonly place?: Place;
}): PolicyProblem {
  const { line, column } = found.place ?? { line: 1, column: 1 };
  const path = (found.path ?? "").replace(/^\./, "");
  const suggestion = found.suggestion ?? null;
  return { file: policyFileName, line, column, path, problem: found.problem, suggestion };
}

/** In the order of the file; `count` is how many there are, where only the first were located. */
function refused(problems: readonly PolicyProblem[], count = problems.length): PolicyResult {
  const shown = problems
    .toSorted((a, b) => a.line - b.line || a.column - b.column)
    .slice(0, problemLimit);
  if (count <= shown.length) return { ok: false, problems: shown };
  return {
    ok: false,
    problems: [...shown, problemAt({ problem: `${count - shown.length} more problems` })],
  };
}

/** Keys that stand in their map for a second time, or that JavaScript would not keep as a key. */
function badKeys(document: Document.Parsed): { key: Node; problem: string }[] {
  const found: { key: Node; problem: string }[] = [];
  visit(document, {
    Map(_, map) {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) found.push({ key, problem: "this key is here twice" });
        if (key.value === "__proto__") found.push({ key, problem: "this key is not allowed" });
        seen.add(key.value);
      }
    },
  });
  return found;
}

/** The deepest node on the way to a place that the text has. */
function nodeAt(document: Document.Parsed, finding: Pick<Finding, "at" | "isKey">): Node | null {
  let node: Node | null = document.contents;
  for (const [depth, step] of finding.at.entries()) {
    const pair: unknown = isMap(node)
      ? node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step))
      : null;
    const isLast = depth === finding.at.length - 1;
    const inner: unknown = isPair(pair)
      ? isLast && finding.isKey
        ? pair.key
        : pair.value
      : isSeq(node)
        ? node.items[Number(step)]
        : null;
    if (!isNode(inner)) return node;
    node = inner;
  }
  return node;
}
