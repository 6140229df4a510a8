// Problems of a policy file, told so that a person can mend them (spec 7.3): where, what, nearest valid key.
// Never repeats a value: a secret pasted into the wrong place must not travel into a comment.

import type * as z from "zod";
import { nearest } from "./nearest.ts";

type Path = readonly PropertyKey[];
type Issue = z.core.$ZodIssue;
type Schema = z.core.JSONSchema.JSONSchema;

/** One problem; `at` is what the place in the text is looked up by. */
export interface Finding {
  readonly at: Path;
  /** Whether the key itself is wrong, not its value. */
  readonly isKey: boolean;
  readonly problem: string;
  readonly suggestion: string | null;
}

/** Every issue of the schema as findings, alternatives reduced to the one that was meant. */
export function findingsOf(issues: readonly Issue[], schema: Schema, above: Path = []): Finding[] {
  return issues.flatMap((issue) => findings(issue, schema, above));
}

function findings(issue: Issue, schema: Schema, above: Path): Finding[] {
  const at = [...above, ...issue.path];
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => unknownKey(schema, at, key));
    case "invalid_key":
      return [badKey(issue, schema, at)];
    case "invalid_union":
      return alternative(issue, schema, at);
    case "invalid_type": {
      const problem = issue.input === undefined ? "is missing" : withoutPrefix(issue.message);
      return [{ at, isKey: false, problem, suggestion: null }];
    }
    case "invalid_value":
    case "invalid_format":
    case "invalid_element":
    case "too_big":
    case "too_small":
    case "not_multiple_of":
    case "custom":
      return [{ at, isKey: false, problem: withoutPrefix(issue.message), suggestion: null }];
  }
}

/** The schema's words as a reader of YAML knows them. */
function withoutPrefix(message: string): string {
  return message
    .replace(/^(?:Invalid (?:input|option): )/, "")
    .replaceAll(/\b(?:object|record)\b/g, "map")
    .replaceAll(/\barray\b/g, "list")
    .replaceAll('"', "");
}

function unknownKey(schema: Schema, at: Path, key: string): Finding {
  const keys = keysAt(schema, at);
  const suggestion = nearest(key, keys);
  const valid = keys.length === 0 ? "no keys are known here" : `known here: ${keys.join(", ")}`;
  const problem = suggestion === null ? `unknown key; ${valid}` : "unknown key";
  return { at: [...at, key], isKey: true, problem, suggestion };
}

function badKey(issue: Extract<Issue, { code: "invalid_key" }>, schema: Schema, at: Path): Finding {
  const [inner] = issue.issues;
  const key = String(at.at(-1));
  if (inner?.code !== "invalid_value") {
    const problem = withoutPrefix(inner?.message ?? issue.message);
    return { at, isKey: true, problem, suggestion: null };
  }
  return unknownKey(schema, at.slice(0, -1), key);
}

/** Of several forms the one that fits the kind of value written, if any says more than the union itself. */
function alternative(
  issue: Extract<Issue, { code: "invalid_union" }>,
  schema: Schema,
  at: Path,
): Finding[] {
  const meant = issue.errors
    .filter((form) => !form.some((inner) => isWrongKind(inner)))
    .toSorted((one, other) => one.length - other.length)[0];
  if (meant !== undefined) return findingsOf(meant, schema, at);
  const forms = issue.errors.flatMap((form) => form.map((inner) => withoutPrefix(inner.message)));
  return [{ at, isKey: false, problem: [...new Set(forms)].join(", or "), suggestion: null }];
}

function isWrongKind(issue: Issue): boolean {
  return issue.path.length === 0 && ["invalid_type", "invalid_value"].includes(issue.code);
}

/** The keys that the published schema allows at a path. */
function keysAt(schema: Schema, path: Path): string[] {
  const forms = [schema, ...(schema.anyOf ?? [])].filter((form) => typeof form === "object");
  const [step, ...rest] = path;
  if (step === undefined) return forms.flatMap((form) => ownKeys(form));
  return forms.flatMap((form) => {
    const property = form.properties?.[String(step)];
    const inner = property ?? (typeof step === "number" ? form.items : form.additionalProperties);
    const isOne = typeof inner === "object" && !Array.isArray(inner);
    return isOne ? keysAt(inner, rest) : [];
  });
}

function ownKeys(form: Schema): string[] {
  const names = form.propertyNames;
  const listed = typeof names === "object" ? (names.enum ?? []) : [];
  return [...Object.keys(form.properties ?? {}), ...listed.map(String)];
}
