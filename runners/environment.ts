// What a child process is told about its surroundings (spec 5.7): an allow-list, never a copy of ours.
// No token, no `npm_*`, no `NODE_*`, none of our own programs reaches an agent, a task or git.

import { delimiter, isAbsolute, sep } from "node:path";

type Variables = Record<string, string>;

/**
 * Marks every process of a turn with its checkout, so that survivors are found whatever their working folder, and those of
 * other homes on this machine are never taken for them.
 */
export const checkoutMarker = "HOLDFAST_CHECKOUT";

// A folder that does not exist is emptier than any that does, and nobody can put a `.gitconfig` there.
const nowhere = "/nonexistent";
const passedNames = ["LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM"];

/** The environment of an agent or a step. `given` wins and should bring a private `HOME`. */
export function taskEnvironment(host: NodeJS.ProcessEnv, given: Readonly<Variables>): Variables {
  const env: Variables = { LANG: "C.UTF-8", TERM: "dumb" };
  for (const name of passedNames) {
    const value = host[name];
    if (value !== undefined) env[name] = value;
  }
  return { ...env, PATH: foreignPath(host["PATH"]), HOME: nowhere, ...given };
}

/** The one way out that a git call has; `file` reads or writes a repository on this machine's disk. */
export type Protocol = "https" | "http" | "file";

export interface GitPlaces {
  gitDir: string;
  workTree?: string | undefined;
  indexFile?: string | undefined;
  /** `https` by default. */
  protocol?: Protocol | undefined;
}

/** The one environment of every git call of the host; with it the checkout's own configuration is never read. */
export function gitEnvironment(host: NodeJS.ProcessEnv, places: GitPlaces): Variables {
  return {
    PATH: foreignPath(host["PATH"]),
    HOME: nowhere,
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_NO_LAZY_FETCH: "1",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_ALLOW_PROTOCOL: places.protocol ?? "https",
    GIT_DIR: places.gitDir,
    ...(places.workTree === undefined ? {} : { GIT_WORK_TREE: places.workTree }),
    ...(places.indexFile === undefined ? {} : { GIT_INDEX_FILE: places.indexFile }),
  };
}

/** A relative entry would name programs inside the checkout; one in node_modules names ours. */
function foreignPath(path: string | undefined): string {
  const entries = (path ?? "").split(delimiter).filter((entry) => {
    return isAbsolute(entry) && !entry.split(sep).includes("node_modules");
  });
  return entries.length > 0 ? entries.join(delimiter) : "/usr/local/bin:/usr/bin:/bin";
}
