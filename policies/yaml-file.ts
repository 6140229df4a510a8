// A YAML file of settings, read against its schema (spec 7.2, 7.3): checked values, or all of its problems with line and
// column, and never a value. Pure: the text comes in, whoever reads the file decides what follows.

import { isMap, isNode, isPair, isScalar, isSeq, LineCounter, parseDocument, visit } from "yaml";
import type { Document, Node } from "yaml";
import * as z from "zod";
import { findingsOf, type Finding } from "./policy-file/problems.ts";

/** Larger files are refused unread: the YAML parser takes a third of a second for this much hostile text. */
export const yamlFileLimit = 64 * 1024;
const problemLimit = 50;

/** Lines and columns count from 1; `path` is written like `tasks.rollout.steps[0].wait`, "" for the whole file. */
export interface FileProblem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly path: string;
  readonly problem: string;
  /** The nearest valid key. */
  readonly suggestion: string | null;
}

export type FileResult<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problems: readonly FileProblem[] };

/** Reads the text of a file of this name; at most 50 problems, in the order of the file. Never throws. */
export function parseYamlFile<Schema extends z.ZodType>(
  text: string,
  { name, schema }: { readonly name: string; readonly schema: Schema },
): FileResult<z.infer<Schema>> {
  function refuse(found: readonly Located[], count = found.length) {
    return refused(name, found, count);
  }
  if (new TextEncoder().encode(text).length > yamlFileLimit) {
    return refuse([{ problem: `is larger than ${yamlFileLimit / 1024} KB` }]);
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
  const faults = [...document.errors, ...document.warnings].map((fault) => ({
    problem: fault.message,
    place: placeOf(lines, fault.pos[0]),
  }));
  if (faults.length > 0) return refuse(faults);
  const keys = badKeys(document).map(({ key, problem }) => ({
    problem,
    place: placeOf(lines, key.range?.[0]),
  }));
  if (keys.length > 0) return refuse(keys);
  let value: unknown;
  try {
    value = document.toJS() ?? {};
  } catch {
    return refuse([{ problem: "aliases (*name) that expand to too much, or to nothing" }]);
  }
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return { ok: true, value: parsed.data };
  const findings = findingsOf(parsed.error.issues, z.toJSONSchema(schema, { io: "input" }));
  const located = findings
    .slice(0, problemLimit)
    .map((finding) => locate(document, lines, finding));
  return refuse(located, findings.length);
}

function locate(document: Document.Parsed, lines: LineCounter, finding: Finding): Located {
  const { at, isKey, problem, suggestion } = finding;
  return {
    problem,
    suggestion,
    path: at.map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`)).join(""),
    place: placeOf(lines, nodeAt(document, { at, isKey })?.range?.[0]),
  };
}

/** A problem on one line, as compilers write it. */
export function problemLine(problem: FileProblem): string {
  const { file, line, column, path } = problem;
  const near = problem.suggestion === null ? "" : `; did you mean ${problem.suggestion}?`;
  return `${file}:${line}:${column} ${path === "" ? "" : `${path}: `}${problem.problem}${near}`;
}

interface Place {
  readonly line: number;
  readonly column: number;
}

function placeOf(lines: LineCounter, offset: number | undefined): Place {
  const { line, col } = lines.linePos(offset ?? 0);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

interface Located {
  readonly problem: string;
  readonly suggestion?: string | null;
  readonly path?: string;
  readonly place?: Place;
}

/** In the order of the file; `count` is how many there are, where only the first were located. */
function refused(
  file: string,
  found: readonly Located[],
  count: number,
): { readonly ok: false; readonly problems: readonly FileProblem[] } {
  const problems = found.map((one) => {
    const { line, column } = one.place ?? { line: 1, column: 1 };
    const path = (one.path ?? "").replace(/^\./, "");
    const { problem, suggestion = null } = one;
    return { file, line, column, path, problem, suggestion };
  });
  const shown = problems
    .toSorted((a, b) => a.line - b.line || a.column - b.column)
    .slice(0, problemLimit);
  if (count <= shown.length) return { ok: false, problems: shown };
  const more = `${count - shown.length} more problems`;
  const last = { file, line: 1, column: 1, path: "", problem: more, suggestion: null };
  return { ok: false, problems: [...shown, last] };
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
