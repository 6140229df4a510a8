// Who may import whom (spec 8.1): an allow-list per folder, and for each module that opens a way
// out of the program the files that are its door. What is listed nowhere is refused.
import type { Import, Source } from "./project.ts";

interface Layer {
  readonly folder: string;
  /** Files of ours, by exact path or by folder with a closing slash. */
  readonly files: readonly string[];
  /** Modules every file of the layer may import. `node:` modules are named one by one. */
  readonly modules: readonly string[];
}

/** Modules of Node that open no way to the network, to processes or to storage but files. */
const plainNode = [
  "node:assert",
  "node:assert/strict",
  "node:async_hooks",
  "node:buffer",
  "node:crypto",
  "node:events",
  "node:fs",
  "node:fs/promises",
  "node:os",
  "node:path",
  "node:perf_hooks",
  "node:stream",
  "node:stream/promises",
  "node:timers/promises",
  "node:url",
  "node:util",
  "node:worker_threads",
  "node:zlib",
];

const layers: readonly Layer[] = [
  {
    folder: "policies/",
    files: ["policies/"],
    modules: ["zod", "mdast"],
  },
  { folder: "runners/", files: ["runners/", "policies/"], modules: plainNode },
  {
    folder: "app/",
    files: ["app/", "runners/runner.ts", "policies/"],
    modules: [...plainNode, "zod"],
  },
];

/** The only files that may import a module at run time, whatever their layer allows. */
const doors: Readonly<Record<string, readonly string[]>> = {
  "node:child_process": ["runners/exec.ts"],
  "node:sqlite": ["app/ledger/"],
  bullmq: ["app/scheduler/bullmq/"],
  ioredis: ["app/scheduler/bullmq/"],
  pg: ["app/ledger/postgres/"],
  "node:http": ["app/http.ts"],
  commander: ["app/cli/"],
  pino: ["app/log.ts", "app/forge/github/app.ts"],
  probot: ["app/forge/github/"],
  "@octokit/rest": ["app/forge/github/"],
  yaml: ["policies/yaml-file.ts", "app/setup/manifest.ts"],
  "mdast-util-from-markdown": ["policies/", "app/web/"],
};

/** One sentence per import that is not allowed. */
export function forbiddenImports(sources: readonly Source[]): string[] {
  return sources.flatMap((source) => {
    const layer = layers.find(({ folder }) => source.path.startsWith(folder));
    if (layer === undefined) return [];
    return source.imports
      .filter((one) => !mayImport(source.path, layer, one))
      .map(({ target }) => `${source.path} may not import ${target ?? "what only run time knows"}`);
  });
}

function mayImport(path: string, layer: Layer, { target, isType }: Import): boolean {
  if (target === null) return false;
  const door = doors[target];
  if (door === undefined) return isIn(target, layer.files) || layer.modules.includes(target);
  // A type is erased and opens no door, but pure rules shall not even speak of what is behind it.
  return isIn(path, door) || (isType && layer.folder !== "policies/");
}

function isIn(path: string, places: readonly string[]): boolean {
  return places.some((place) => (place.endsWith("/") ? path.startsWith(place) : path === place));
}

interface Ban {
  readonly what: string;
  readonly pattern: RegExp;
  /** Where it is refused, and the files that are its door all the same. */
  readonly inside: readonly string[];
  readonly except: readonly string[];
}

/** Ways around the imports, and acts that have one home although no import shows them. */
const bans: readonly Ban[] = [
  {
    what: "reaches a module of Node without an import",
    pattern: /\bgetBuiltinModule\b|\bcreateRequire\b|\brequire\(|process\.binding\b/,
    inside: ["app/", "runners/", "policies/"],
    except: [],
  },
  {
    what: "runs git outside runners/git.ts",
    pattern: /\[\s*["'`]git["'`]/,
    inside: ["app/", "runners/"],
    except: ["runners/git.ts"],
  },
  {
    what: "has SQL outside app/ledger/",
    pattern:
      /["'`]\s*(insert into|delete from|create table|update \w+ set|select [^"'`]+ from|pragma \w)/i,
    inside: ["app/", "runners/", "policies/"],
    except: ["app/ledger/"],
  },
  {
    what: "asks which forge it is outside app/forge/",
    pattern: /[!=]==\s*["'](github|forgejo)["']|case ["'](github|forgejo)["']:/,
    inside: ["app/", "runners/", "policies/"],
    except: ["app/forge/"],
  },
  {
    what: "has a clock, chance or the outside in policies/",
    pattern:
      /\bDate\.now\b|\bnew Date\(\s*\)|\bnew Date\b(?!\()|Math\.random\b|\bperformance\.|\bprocess\./,
    inside: ["policies/"],
    except: [],
  },
];

/** One sentence per banned act; comments are not read. */
export function bannedActs(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, code }) =>
    bans
      .filter(({ inside, except }) => isIn(path, inside) && !isIn(path, except))
      .filter(({ pattern }) => pattern.test(code))
      .map(({ what }) => `${path} ${what}`),
  );
}
