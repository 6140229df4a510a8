// The project as the tidy test sees it: files with their text, and what each one imports.
// Reads and parses only; the rules over it are in the files beside this one.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "vite";

/** One text file; `path` is relative to the project, with `/`. */
export interface File {
  readonly path: string;
  readonly text: string;
}

/** One import of a file; `target` is a project path, a package or a `node:` module, null when only known at run time. */
export interface Import {
  readonly target: string | null;
  /** Erased before it runs: gives a name, opens no door. */
  readonly isType: boolean;
}

export interface Source extends File {
  readonly imports: readonly Import[];
  readonly comments: readonly { readonly value: string; readonly start: number }[];
  /** The text with every comment blanked out, so that rules about code do not read prose. */
  readonly code: string;
}

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const folders = ["app", "bench", "bin", "docs", "policies", "runners", "scripts", "test", ".ci"];
const textEndings = /\.(ts|js|mjs|json|md|css|yml|yaml|sh)$|\/run$|(^|\/)Dockerfile$/;
const sourceEndings = /\.(ts|js|mjs)$/;
const fixtures = "test/fixtures/";

/** Every text file of ours; lock file and recorded fixtures are not written by hand. */
export function readProject(): File[] {
  const inRoot = readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "package-lock.json")
    .map((entry) => entry.name);
  return [...inRoot, ...folders.flatMap(pathsIn)]
    .filter((path) => textEndings.test(path) && !path.startsWith(fixtures))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}

function pathsIn(folder: string): string[] {
  try {
    return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
  } catch {
    return [];
  }
}

export function sourcesOf(files: readonly File[]): Source[] {
  return files.filter(({ path }) => sourceEndings.test(path)).map(parse);
}

export function parse({ path, text }: File): Source {
  const { module, comments, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path} does not parse: ${errors[0]?.message}`);
  const fixed = module.staticImports.map(({ moduleRequest, entries }) => ({
    target: moduleRequest.value,
    isType: entries.length > 0 && entries.every((entry) => entry.isType),
  }));
  const passedOn = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest, isType }) =>
      moduleRequest ? [{ target: moduleRequest.value, isType }] : [],
    ),
  );
  const dynamic = module.dynamicImports.map(({ moduleRequest: { start, end } }) => ({
    target: literalIn(text.slice(start, end)),
    isType: false,
  }));
  const code = comments.reduce(
    (left, { start, end }) => left.slice(0, start) + " ".repeat(end - start) + left.slice(end),
    text,
  );
  const found = [...fixed, ...passedOn, ...dynamic, ...threadsIn(code)];
  const imports = found.map((one) => ({ ...one, target: resolve(path, one.target) }));
  return { path, text, imports, comments, code };
}

/** `new URL("x-thread.ts", import.meta.url)` loads a file as surely as an import does. */
function threadsIn(code: string): Import[] {
  const loads = code.matchAll(/new URL\(\s*"([^"]*\.(?:ts|js|mjs))"\s*,\s*import\.meta\.url/g);
  return [...loads].map(([, path]) => ({ target: `./${path ?? ""}`, isType: false }));
}

function literalIn(expression: string): string | null {
  return /^(["'`])([^"'`$]*)\1$/.exec(expression.trim())?.[2] ?? null;
}

function resolve(from: string, target: string | null): string | null {
  if (target === null || !target.startsWith(".")) return target;
  return join(dirname(from), target);
}
