// The Git side of a repository of the fake GitHub (spec 8.4): a real bare repository, and commits made in it as a
// person would, without a work tree. Runs git synchronously, so that an act is over when its function returns.

import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Null deletes a file. */
export type Files = Readonly<Record<string, string | null>>;

export interface NewCommit {
  readonly files: Files;
  readonly message: string;
  readonly author: { readonly name: string; readonly email: string };
  readonly parents: readonly string[];
  /** Epoch ms. */
  readonly at: number;
}

export interface BareRepository {
  readonly path: string;
  /** Gives stdout without its last newline; throws when git does. */
  git(args: readonly string[], input?: string): string;
  /** Commits by full ref name. */
  refs(): Map<string, string>;
  /** The commit that a name stands for; null when there is none. */
  resolve(name: string): string | null;
  /** Writes a commit on top of its first parent and gives its id; moves no ref. */
  commit(commit: NewCommit): string;
}

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

/** An empty bare repository, or a copy of another's. */
export function openBareRepository(path: string, source?: BareRepository): BareRepository {
  mkdirSync(path, { recursive: true });
  const repository = bareRepositoryAt(path);
  repository.git(["init", "--quiet", "--bare", "--initial-branch=main", "--template="]);
  repository.git(["config", "http.receivepack", "true"]);
  repository.git(["config", "receive.hideRefs", "refs/pull"]);
  repository.git(["config", "uploadpack.allowAnySHA1InWant", "true"]);
  repository.git(["config", "gc.auto", "0"]);
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
  function run(args: readonly string[], input: string, environment: NodeJS.ProcessEnv): string {
    const options = { cwd: path, env: { ...cleanEnvironment, ...environment }, input };
    const output = execFileSync("git", args, { ...options, stdio: ["pipe", "pipe", "pipe"] });
    return output.toString("utf8").replace(/\n$/, "");
  }
  function git(args: readonly string[], input = ""): string {
    return run(args, input, {});
  }
  return {
    path,
    git,
    refs: () => {
      const lines = git(["for-each-ref", "--format=%(refname) %(objectname)"]).split("\n");
      return new Map(lines.filter(Boolean).map((line) => pairOf(line)));
    },
    resolve: (name) => {
      try {
        return git(["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`]);
      } catch {
        return null;
      }
    },
    commit: ({ files, message, author, parents, at }) => {
      const index = join(path, `index-of-${process.pid}`);
      const when = `@${Math.floor(at / 1000)} +0000`;
      const environment = {
        GIT_INDEX_FILE: index,
        GIT_AUTHOR_NAME: author.name,
        GIT_AUTHOR_EMAIL: author.email,
        GIT_AUTHOR_DATE: when,
        GIT_COMMITTER_NAME: author.name,
        GIT_COMMITTER_EMAIL: author.email,
        GIT_COMMITTER_DATE: when,
      };
      const [first] = parents;
      run(["read-tree", first ?? "--empty"], "", environment);
      for (const [name, content] of Object.entries(files)) {
        const blob = content === null ? null : git(["hash-object", "-w", "--stdin"], content);
        const entry = blob === null ? `0 ${"0".repeat(40)}\t${name}` : `100644 ${blob}\t${name}`;
        run(["update-index", "--index-info"], `${entry}\n`, environment);
      }
      const tree = run(["write-tree"], "", environment);
      rmSync(index, { force: true });
      const lineage = parents.flatMap((parent) => ["-p", parent]);
      return run(["commit-tree", tree, ...lineage], message, environment);
    },
  };
}

function pairOf(line: string): [string, string] {
  const [name = "", commit = ""] = line.split(" ");
  return [name, commit];
}
