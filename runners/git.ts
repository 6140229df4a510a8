// The only file that runs the git program (spec 5.1), always on a git dir the host owns and in one clean environment.
// It must never be pointed at the `.git` inside a checkout: hardening flags do not disarm an agent's configuration.

import { strict as assert } from "node:assert";
import { isAbsolute } from "node:path";
import { Failure, type Retry } from "../policies/failure.ts";
import { gitEnvironment, type GitPlaces } from "./environment.ts";
import { exec, type ExecResult, type Input } from "./exec.ts";

export interface GitOptions extends GitPlaces {
  args: readonly string[];
  /** More `-c` settings of this one call. */
  settings?: readonly string[] | undefined;
  input?: Input | undefined;
  /** 2 minutes by default. */
  deadlineMs?: number | undefined;
  /** Bytes of stdout and stderr together; 256 MiB by default. */
  outputLimit?: number | undefined;
  /** Beyond the limit: `fail` throws `output-limit`, `cut` gives the first bytes. */
  onExcess?: "fail" | "cut" | undefined;
  signal?: AbortSignal | undefined;
  /** Who a commit is by and when, as git reads it from the environment. */
  identity?: Readonly<Record<string, string>> | undefined;
}

const gitVersionLimit = "2.39.5";

const hardening = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "safe.bareRepository=explicit",
  "submodule.recurse=false",
  "gc.auto=0",
  "maintenance.auto=false",
  "transfer.fsckObjects=true",
  "credential.helper=",
  "http.followRedirects=false",
];

/**
 * Stdout of one git command. Throws Failure `git-failed`, `git-timeout`, `cancelled`, `output-limit`, `disk-full`,
 * `read-only`, `foreign-owner`.
 */
export async function git(options: GitOptions): Promise<Buffer> {
  assert(isAbsolute(options.gitDir), "a git dir is absolute");
  const protocol = `protocol.file.allow=${options.allowLocal === true ? "always" : "never"}`;
  const settings = [...hardening, protocol, ...(options.settings ?? [])];
  const result = await exec({
    argv: ["git", ...settings.flatMap((setting) => ["-c", setting]), ...options.args],
    cwd: options.workTree ?? "/",
    env: { ...gitEnvironment(process.env, options), ...options.identity },
    input: options.input,
    deadlineMs: options.deadlineMs ?? 120_000,
    outputLimit: options.outputLimit ?? 256 * 1024 * 1024,
    onExcess: "end",
    signal: options.signal,
  });
  if (result.ended === "exited" && result.exitCode === 0) return result.stdout;
  if (result.ended === "output-limit" && options.onExcess === "cut") return result.stdout;
  throw failureOf(result, options.args[0] ?? "");
}

/** Stdout as text without its last newline. */
export async function gitText(options: GitOptions): Promise<string> {
  return (await git(options)).toString("utf8").replace(/\n$/, "");
}

/** The version of the installed git, such as `2.39.5`. Throws Failure `spawn-failed` when there is none. */
export async function gitVersion(): Promise<string> {
  const text = await gitText({ gitDir: "/nonexistent", args: ["--version"] });
  return /\d+(?:\.\d+)+/.exec(text)?.[0] ?? "0";
}

/** Throws Failure `git-too-old` below 2.39.5, the oldest release in which the traps of a checkout were tried. */
export async function requireGit(): Promise<string> {
  const version = await gitVersion();
  if (version.localeCompare(gitVersionLimit, "en", { numeric: true }) < 0) {
    const message = `git ${version} is older than ${gitVersionLimit}`;
    throw new Failure("git-too-old", "never", { message });
  }
  return version;
}

function failureOf(result: ExecResult, command: string): Failure {
  const [code, retry] = codeOf(result);
  const said = redactUrls(result.stderr.toString("utf8").trim().slice(-2_000));
  const how = result.exitCode ?? result.signalName ?? result.ended;
  return new Failure(code, retry, { message: `git ${command} ended with ${how}: ${said}` });
}

function codeOf(result: ExecResult): [string, Retry] {
  switch (result.ended) {
    case "timeout":
      return ["git-timeout", "later"];
    case "cancelled":
      return ["cancelled", "never"];
    case "output-limit":
      return ["output-limit", "never"];
    case "exited":
      return complaintOf(result.stderr.toString("latin1"));
  }
}

/** Git gives no error numbers, only the C library's words, in English because of LC_ALL. */
function complaintOf(stderr: string): [string, Retry] {
  if (/No space left on device|Disk quota exceeded/.test(stderr)) return ["disk-full", "later"];
  if (/Read-only file system/.test(stderr)) return ["read-only", "never"];
  if (/detected dubious ownership/.test(stderr)) return ["foreign-owner", "never"];
  return ["git-failed", "later"];
}

function redactUrls(text: string): string {
  return text.replace(/\/\/[^/\s@]+@/g, "//***@");
}
