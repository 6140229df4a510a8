// A forge's git side for tests (spec 5.1, 6.5): the real `git http-backend` behind Basic authentication, with refusals
// and delays that a test asks for.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { dirname } from "node:path";
import { onTestFinished } from "vitest";
import { repositoryAt } from "./repository.ts";

export interface GitServer {
  /** The address of the repository. */
  readonly url: string;
  /** `service` names of the requests that came with the right password, in order. */
  readonly served: readonly string[];
}

export interface ServerRules {
  /** A bare repository. */
  readonly path: string;
  readonly password: string;
  /** An answer instead of git's, or null to let git answer. Runs after the password was checked. */
  readonly instead?: (request: IncomingMessage) => Promise<Refusal | null> | Refusal | null;
}

export interface Refusal {
  readonly status: number;
  readonly body: string;
  readonly location?: string;
}

export async function serveGit(rules: ServerRules): Promise<GitServer> {
  repositoryAt(rules.path).git(["config", "http.receivepack", "true"]);
  const served: string[] = [];
  const server = createServer((request, response) => {
    void answer(request, response, { rules, served });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { url: `http://127.0.0.1:${address.port}/repository`, served };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { rules, served }: { rules: ServerRules; served: string[] },
): Promise<void> {
  const expected = Buffer.from(`x-access-token:${rules.password}`).toString("base64");
  if (request.headers.authorization !== `Basic ${expected}`) {
    response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end();
    return;
  }
  const refusal = (await rules.instead?.(request)) ?? null;
  if (refusal !== null) {
    const { status, body, location } = refusal;
    const headers = location === undefined ? {} : { location };
    response.writeHead(status, { "content-type": "text/plain", ...headers }).end(body);
    return;
  }
  served.push(/git-(?:upload|receive)-pack/.exec(request.url ?? "")?.[0] ?? "");
  await runBackend(request, response, rules.path);
}

/** One request through CGI: headers from its output up to an empty line, then the body. */
async function runBackend(
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<void> {
  const [pathInfo = "", query = ""] = (request.url ?? "").split("?");
  const child = spawn("git", ["http-backend"], {
    env: {
      PATH: process.env["PATH"] ?? "",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_PROJECT_ROOT: dirname(path),
      GIT_HTTP_EXPORT_ALL: "1",
      GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
      PATH_INFO: pathInfo,
      QUERY_STRING: query,
      REQUEST_METHOD: request.method ?? "",
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
      REMOTE_USER: "x-access-token",
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
  const headers = output.subarray(0, end).toString("latin1").split("\r\n");
  for (const header of headers) {
    const [name = "", value = ""] = header.split(": ");
    if (name === "Status") response.statusCode = Number.parseInt(value, 10);
    else response.setHeader(name, value);
  }
  response.end(output.subarray(end + 4));
}
