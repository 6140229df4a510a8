// Git over HTTP (spec 5.1, 6.5, 8.4): the real `git http-backend` as CGI, behind installation tokens. What a push moved
// is told like any other push, once git is through.

import { spawn } from "node:child_process";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { dirname } from "node:path";
import { refsMoved } from "./acts/repositories.ts";
import { covers, permits, type Token, type Tokens } from "./auth.ts";
import { findRenamed, findRepository } from "./route.ts";
import type { Repository, World } from "./world.ts";

interface GitSite {
  readonly world: World;
  readonly tokens: Tokens;
}

export interface GitAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
}

/** One after the other for each repository, so that each push knows what it moved. */
const turns = new WeakMap<Repository, Promise<void>>();

export async function serveGit(
  { world, tokens }: GitSite,
  request: IncomingMessage,
): Promise<GitAnswer> {
  const [pathname = "", query = ""] = (request.url ?? "").split("?");
  const [, name = "", rest = ""] = /^\/([^/]+\/[^/]+?)\.git(\/.*)$/.exec(pathname) ?? [];
  const token = tokenOf(tokens, request.headers.authorization);
  const isPush = `${rest}?${query}`.includes("git-receive-pack");
  const repository = findRepository(world, name) ?? findRenamed(world, name);
  const refusal = refusalFor(repository, token, isPush);
  if (repository === null || refusal !== null) {
    const { status, message } = refusal ?? { status: 404, message: "Repository not found." };
    const challenge = status === 401 ? { "www-authenticate": 'Basic realm="GitHub"' } : {};
    return { status, headers: { "content-type": "text/plain", ...challenge }, body: message };
  }
  const pathInfo = `/${repository.id}.git${rest}`;
  const mayChangeWorkflows = token !== null && permits(token.permissions, "workflows:write");
  const environment = {
    GIT_PROJECT_ROOT: dirname(repository.git.path),
    PATH_INFO: pathInfo,
    QUERY_STRING: query,
    ...(mayChangeWorkflows && { MAY_CHANGE_WORKFLOWS: "1" }),
  };
  const before = turns.get(repository) ?? Promise.resolve();
  const now = before.then(async () => {
    const refs = repository.git.refs();
    const answer = await runBackend(request, environment);
    if (isPush) refsMoved(world, repository, { by: world.app.bot, before: refs });
    return answer;
  });
  const over = now.then(
    () => undefined,
    () => undefined,
  );
  turns.set(repository, over);
  return now;
}

function tokenOf(tokens: Tokens, authorization: string | undefined): Token | null {
  const [scheme, value = ""] = (authorization ?? "").split(" ");
  if (scheme?.toLowerCase() !== "basic") return null;
  const [user, ...password] = Buffer.from(value, "base64").toString().split(":");
  return user === "x-access-token" ? tokens.find(password.join(":")) : null;
}

function refusalFor(
  repository: Repository | null,
  token: Token | null,
  isPush: boolean,
): { status: number; message: string } | null {
  const isOpen = repository !== null && !repository.isPrivate && !isPush;
  if (isOpen) return null;
  if (token === null) return { status: 401, message: "Authentication failed." };
  if (token.installation.isSuspended) return { status: 403, message: "Installation suspended." };
  if (repository === null) return { status: 404, message: "Repository not found." };
  const denied = { status: 403, message: "Write access to repository not granted." };
  if (!covers(token, repository)) return isPush ? denied : { status: 404, message: "Not found." };
  if (isPush && repository.isArchived) return denied;
  return permits(token.permissions, isPush ? "contents:write" : "contents:read") ? null : denied;
}

/** Headers from its output up to an empty line, then the body. */
async function runBackend(
  request: IncomingMessage,
  environment: Readonly<Record<string, string>>,
): Promise<GitAnswer> {
  const child = spawn("git", ["http-backend"], {
    env: {
      PATH: process.env["PATH"] ?? "",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_HTTP_EXPORT_ALL: "1",
      GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
      REQUEST_METHOD: request.method ?? "",
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
      REMOTE_USER: "x-access-token",
      ...environment,
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  child.stdin.on("error", () => undefined);
  request.pipe(child.stdin);
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  await once(child, "close");
  const output = Buffer.concat(chunks);
  const end = output.indexOf("\r\n\r\n");
  const headers: Record<string, string> = {};
  for (const header of output.subarray(0, end).toString("latin1").split("\r\n")) {
    const [name = "", value = ""] = header.split(": ");
    if (name !== "") headers[name.toLowerCase()] = value;
  }
  const { status = "200", ...others } = headers;
  return { status: Number.parseInt(status, 10), headers: others, body: output.subarray(end + 4) };
}
