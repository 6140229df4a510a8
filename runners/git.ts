// The only file that runs the git program (spec 5.1), always on a git dir the host owns and in one clean environment.
// It must never be pointed at the `.git` inside a checkout: hardening flags do not disarm an agent's configuration.
// A token goes in on a descriptor (6.5) and comes out of no complaint.

import { strict as assert } from "node:assert";
import { isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";
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
  /** The password for the remote, if it asks for one. */
  token?: string | null | undefined;
  /** Exit codes beside 0 that are answers. */
  answers?: readonly number[] | undefined;
}

const askpass = fileURLToPath(new URL("askpass.sh", import.meta.url));
const tokenUser = "x-access-token";
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
 * `read-only`, `foreign-owner`, `forge-refused-git`, `no-repository`, `no-such-ref`.
 */
export async function git(options: GitOptions): Promise<Buffer> {
  assert(isAbsolute(options.gitDir), "a git dir is absolute");
  const token = options.token ?? undefined;
  const settings = [
    ...hardening,
    `protocol.file.allow=${options.protocol === "file" ? "always" : "never"}`,
    ...(token === undefined ? [] : [`credential.username=${tokenUser}`]),
    ...(options.settings ?? []),
  ];
  const result = await exec({
    argv: ["git", ...settings.flatMap((setting) => ["-c", setting]), ...options.args],
    cwd: options.workTree ?? "/",
    env: {
      ...gitEnvironment(process.env, options),
      ...options.identity,
      ...(token === undefined ? {} : { GIT_ASKPASS: askpass }),
    },
    input: options.input,
    secret: token,
    deadlineMs: options.deadlineMs ?? 120_000,
    outputLimit: options.outputLimit ?? 256 * 1024 * 1024,
    onExcess: "end",
    signal: options.signal,
  });
  if (result.ended === "exited" && isAnswer(result.exitCode, options)) return result.stdout;
  if (result.ended === "output-limit" && options.onExcess === "cut") return result.stdout;
  throw failureOf(result, options);
}

function isAnswer(exitCode: number | null, { answers = [] }: GitOptions): boolean {
  return exitCode === 0 || (exitCode !== null && answers.includes(exitCode));
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

function failureOf(result: ExecResult, { args, token }: GitOptions): Failure {
  const [code, retry] = codeOf(result);
  const said = redact(result.stderr.toString("utf8"), token).trim().slice(-2_000);
  const how = result.exitCode ?? result.signalName ?? result.ended;
  return new Failure(code, retry, { message: `git ${args[0] ?? ""} ended with ${how}: ${said}` });
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
  const refused =
    /Authentication failed for|could not read (?:Username|Password) for|error: 40[13]\b/;
  if (refused.test(stderr)) return ["forge-refused-git", "later"];
  if (/repository '[^'\n]+' not found/.test(stderr)) return ["no-repository", "later"];
  if (/couldn't find remote ref|not our ref|unadvertised object/.test(stderr))
    return ["no-such-ref", "later"];
  return ["git-failed", "later"];
}

/** A server may repeat what it was sent, in the words of the request or in those of its header. */
function redact(text: string, token: string | null | undefined): string {
  const urls = text.replace(/\/\/[^/\s@]+@/g, "//***@");
  if (token === null || token === undefined || token === "") return urls;
  const header = Buffer.from(`${tokenUser}:${token}`).toString("base64");
  return urls.replaceAll(token, "***").replaceAll(header, "***");
}
