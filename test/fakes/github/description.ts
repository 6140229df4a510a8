// GitHub's published description (spec 8.4): holds each request and each reply of the fake to the vendored subset in
// openapi.json. Schemas are compiled when first needed, since all of them take seconds.

import { Ajv, type ValidateFunction } from "ajv";
import addFormats from "ajv-formats";
import source from "./openapi.json" with { type: "json" };

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
}

interface Operation {
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content?: object };
  readonly responses: Readonly<Record<string, { readonly content?: object }>>;
}

const paths = source.paths as unknown as Readonly<
  Record<string, Readonly<Record<string, Operation>>>
>;

export interface Asked {
  readonly method: string;
  /** As in the description: `/repos/{owner}/{repo}`. */
  readonly template: string;
  readonly query: URLSearchParams;
  /** Undefined when there was none. */
  readonly body: unknown;
}

export interface Description {
  /** What is wrong with a request, in words; empty when nothing is. */
  questionProblems(asked: Asked): string[];
  /** What is wrong with an answer; a status that is not described is wrong too. */
  answerProblems(asked: Asked, status: number, body: unknown): string[];
}

/** Statuses that any operation may have without its description saying so. */
const everywhere = new Set([301, 304, 307, 401, 403, 404, 410, 422, 429, 500, 502, 503]);

export function openDescription(): Description {
  const ajv = new Ajv({ strict: false, logger: false, coerceTypes: false });
  addFormats.default(ajv);
  ajv.addSchema(source, "github");
  const compiled = new Map<string, ValidateFunction>();

  function problems(pointer: readonly string[], value: unknown): string[] {
    const address = `github#/${pointer.map(escape).join("/")}`;
    const validate = compiled.get(address) ?? ajv.compile({ $ref: address });
    compiled.set(address, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  }

  return {
    questionProblems: (asked) => {
      const { method, template, query, body } = asked;
      const operation = operationOf(asked);
      if (operation === null) return [];
      const at = ["paths", template, method.toLowerCase()];
      const found: string[] = [];
      operation.parameters.forEach((parameter, index) => {
        if (parameter.in !== "query" || !query.has(parameter.name)) return;
        const pointer = [...at, "parameters", String(index), "schema"];
        const given = query.get(parameter.name) ?? "";
        if (readingsOf(given).every((value) => problems(pointer, value).length > 0)) {
          found.push(`query ${parameter.name} may not be ${given}`);
        }
      });
      const known = new Set(operation.parameters.map(({ name }) => name));
      const unknown = [...query.keys()].filter((name) => !known.has(name));
      found.push(...unknown.map((name) => `query ${name} is unknown`));
      if (operation.requestBody?.content === undefined) return found;
      if (body === undefined) return operation.requestBody.required ? [...found, "no body"] : found;
      const pointer = [...at, "requestBody", "content", "application/json", "schema"];
      return [...found, ...problems(pointer, body), ...unknownMembers(pointer, body)];
    },
    answerProblems: (asked, status, body) => {
      const operation = operationOf(asked);
      if (operation === null) return [];
      const response = operation.responses[String(status)];
      if (response === undefined) return everywhere.has(status) ? [] : [`status ${status}`];
      if (response.content === undefined) return [];
      const { template, method } = asked;
      const at = ["paths", template, method.toLowerCase(), "responses", String(status)];
      return problems([...at, "content", "application/json", "schema"], body);
    },
  };
}

function operationOf({ method, template }: Asked): Operation | null {
  return paths[template]?.[method.toLowerCase()] ?? null;
}

/** A query has text alone: it is right when one way to read it is. */
function readingsOf(text: string): unknown[] {
  if (text === "true" || text === "false") return [text, text === "true"];
  return text !== "" && Number.isFinite(Number(text)) ? [text, Number(text)] : [text];
}

/** The description lets unknown members through, GitHub ignores them: what sends one thinks that it does something. */
function unknownMembers(pointer: readonly string[], body: unknown): string[] {
  let schema: unknown = source;
  for (const name of pointer) schema = (schema as Record<string, unknown>)[name];
  const { properties } = schema as { properties?: object };
  if (properties === undefined || typeof body !== "object" || body === null) return [];
  return Object.keys(body)
    .filter((name) => !(name in properties))
    .map((name) => `body ${name} is unknown`);
}

function escape(part: string): string {
  return encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"));
}
