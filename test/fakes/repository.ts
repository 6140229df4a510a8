// Real repositories for tests, made with the real git program in temporary folders.
// The environment is clean, so that nobody's own configuration decides whether a test passes.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

export type Files = Readonly<Record<string, string | Buffer>>;

export interface TestRepository {
  path: string;
  /** Runs git here and gives stdout without its last newline. */
  git(args: readonly string[], input?: string | Buffer): string;
  /** Writes files, commits everything and gives the commit. */
  commit(files: Files, message?: string): string;
}

const environment = {
  PATH: process.env["PATH"] ?? "",
  HOME: "/nonexistent",
  LC_ALL: "C",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_AUTHOR_NAME: "A",
  GIT_AUTHOR_EMAIL: "a@example.org",
  GIT_AUTHOR_DATE: "@1700000000 +0000",
  GIT_COMMITTER_NAME: "A",
  GIT_COMMITTER_EMAIL: "a@example.org",
  GIT_COMMITTER_DATE: "@1700000000 +0000",
};

/** A folder that is removed when the test is over; its name has a space, because paths may. */
export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "holdfast test-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A repository with one commit of these files on `main`; with none it has no commit. */
export function makeRepository(
  files: Files = {},
  options: { bare?: boolean } = {},
): TestRepository {
  const repository = repositoryAt(join(temporaryFolder(), "repository"));
  mkdirSync(repository.path);
  const kind = options.bare === true ? ["--bare"] : [];
  repository.git(["init", "--quiet", "--initial-branch=main", "--template=", ...kind]);
  if (Object.keys(files).length > 0) repository.commit(files, "begin");
  return repository;
}

/** Git commands of a person in a repository that exists. */
export function repositoryAt(path: string): TestRepository {
  const repository: TestRepository = {
    path,
    git(args, input = "") {
      const stdio = ["pipe", "pipe", "pipe"] as const;
      const options = { cwd: path, env: environment, input, stdio: [...stdio] };
      return execFileSync("git", args, options).toString("utf8").replace(/\n$/, "");
    },
    commit(files, message = "more") {
      writeFiles(path, files);
      repository.git(["add", "--all"]);
      repository.git(["commit", "--quiet", "--allow-empty", "--message", message]);
      return repository.git(["rev-parse", "HEAD"]);
    },
  };
  return repository;
}

export function writeFiles(folder: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
}
