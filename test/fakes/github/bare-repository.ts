// The Git side of a repository of the fake GitHub (spec 8.4): a real bare repository, and commits made in it as a
// person would, without a work tree. Runs git synchronously, so that an act is over when its function returns.

import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";

/** Contents of files by path; null deletes one. */
export type Files = Readonly<Record<string, string | null>>;

export interface NewCommit {
  /** The full ref that it becomes the tip of, whatever was there. */
  readonly ref: string;
  readonly message: string;
  readonly author: { readonly name: string; readonly email: string };
  /** The tree of the first is what changes are made to. */
  readonly parents: readonly string[];
  readonly changes: Files | readonly TreeChange[];
  /** Epoch ms. */
  readonly at: number;
}

/** A file of another commit; `blob` is null where it was deleted. */
export interface TreeChange {
  readonly path: string;
  readonly mode: string;
  readonly blob: string | null;
}

export interface BareRepository {
  readonly path: string;
  /** Gives stdout without its last newline; throws when git does. */
  git(args: readonly string[], input?: string): string;
  /** The same for a question about commits by their ids: what it was answered once, it always is. */
  ask(args: readonly string[]): string;
  /** What refs point to, by full name. */
  refs(): Map<string, string>;
  /** The commit that a name stands for; null when there is none. */
  resolve(name: string): string | null;
  /** Gives the commit. */
  commit(commit: NewCommit): string;
}

const outputLimit = 64 * 1024 * 1024;

const cleanEnvironment = {
  PATH: process.env["PATH"] ?? "",
  HOME: "/nonexistent",
  LC_ALL: "C",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
};

/**
 * GitHub's own refusals of a push: protected branches, and workflow files without the permission for them. The list of
 * protected branches is a file beside it, since the hook runs in a process of its own.
 */
const updateHook = `#!/bin/sh
if grep -qxF "$1" protected-branches; then
  echo "error: GH006: Protected branch update failed for $1." >&2
  exit 1
fi
zero=0000000000000000000000000000000000000000
if [ "$3" != "$zero" ] && [ -z "$MAY_CHANGE_WORKFLOWS" ]; then
  new=$(git rev-list "$3" --not --all -- .github/workflows | head -n 1)
  if [ -n "$new" ]; then
    echo "refusing to allow a GitHub App to create or update workflow without workflows permission" >&2
    exit 1
  fi
fi
`;

const configuration = `[http]
	receivepack = true
[receive]
	hideRefs = refs/pull
[uploadpack]
	allowAnySHA1InWant = true
[gc]
	auto = 0
`;

/** An empty bare repository, or a copy of another's. */
export function openBareRepository(path: string, source?: BareRepository): BareRepository {
  mkdirSync(path, { recursive: true });
  const repository = bareRepositoryAt(path);
  repository.git(["init", "--quiet", "--bare", "--initial-branch=main", "--template="]);
  appendFileSync(join(path, "config"), configuration);
  mkdirSync(join(path, "hooks"));
  writeFileSync(join(path, "hooks", "update"), updateHook, { mode: 0o755 });
  protect(repository, []);
  if (source !== undefined) {
    repository.git(["fetch", "--quiet", source.path, "refs/heads/*:refs/heads/*"]);
  }
  return repository;
}

/** Full ref names that pushes must not move. */
export function protect(repository: BareRepository, refs: readonly string[]): void {
  writeFileSync(
    join(repository.path, "protected-branches"),
    refs.map((ref) => `${ref}\n`).join(""),
  );
}

function bareRepositoryAt(path: string): BareRepository {
  function git(args: readonly string[], input = ""): string {
    const options = { cwd: path, env: cleanEnvironment, input, maxBuffer: outputLimit };
    const output = execFileSync("git", args, { ...options, stdio: ["pipe", "pipe", "pipe"] });
    return output.toString("utf8").replace(/\n$/, "");
  }
  const answers = new Map<string, string>();
  return {
    path,
    git,
    ask: (args) => {
      const question = args.join(" ");
      const answer = answers.get(question) ?? git(args);
      answers.set(question, answer);
      return answer;
    },
    refs: () => new Map([...packedRefs(path), ...looseRefs(path)].toSorted(byName)),
    resolve: (name) => {
      const branch = name.startsWith("refs/") ? name : `refs/heads/${name}`;
      const commit = looseRef(path, branch) ?? packedRefs(path).get(branch) ?? null;
      if (branch.startsWith("refs/heads/") && (commit !== null || branch === name)) return commit;
      try {
        return git(["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`]);
      } catch {
        return null;
      }
    },
    commit: (commit) => git(["fast-import", "--quiet", "--force"], streamOf(commit)),
  };
}

/** One commit in the language of `git fast-import`, which says its id in the end. */
function streamOf({ ref, message, author, parents, changes, at }: NewCommit): string {
  const [first, ...others] = parents;
  const who = `${author.name} <${author.email}> ${Math.floor(at / 1000)} +0000`;
  const lines = Array.isArray(changes)
    ? (changes as readonly TreeChange[]).map(({ path, mode, blob }) =>
        blob === null ? `D ${path}\n` : `M ${mode} ${blob} ${path}\n`,
      )
    : Object.entries(changes as Files).map(([path, content]) =>
        content === null ? `D ${path}\n` : `M 100644 inline ${path}\n${blockOf(content)}`,
      );
  return [
    // Without a parent a branch that is there would be carried on.
    `reset ${ref}\n`,
    `commit ${ref}\nmark :1\nauthor ${who}\ncommitter ${who}\n${blockOf(message)}`,
    ...(first === undefined ? [] : [`from ${first}\n`]),
    ...others.map((parent) => `merge ${parent}\n`),
    ...lines,
    "\nget-mark :1\n",
  ].join("");
}

function blockOf(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}\n`;
}

/** Refs are read as the files they are: a process for each look would make tests slow. */
function looseRefs(path: string): Map<string, string> {
  const entries = readdirSync(join(path, "refs"), { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".lock"))
    .map((entry) => relative(path, join(entry.parentPath, entry.name)));
  return new Map(names.map((name) => [name, looseRef(path, name) ?? ""]));
}

function looseRef(path: string, name: string): string | null {
  try {
    return readFileSync(join(path, name), "utf8").trim();
  } catch {
    return null;
  }
}

function packedRefs(path: string): Map<string, string> {
  const lines = (looseRef(path, "packed-refs") ?? "").split("\n");
  return new Map(
    lines
      .filter((line) => /^[0-9a-f]{40} /.test(line))
      .map((line) => [line.slice(41), line.slice(0, 40)]),
  );
}

function byName([one]: readonly [string, string], [two]: readonly [string, string]): number {
  return one < two ? -1 : 1;
}
