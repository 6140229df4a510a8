// The HTTP side of the fake GitHub (spec 8.4): the API under /api/v3 as on Enterprise Server, Git beside it. Each
// request is seen, met by faults, admitted, held to the description and answered; each answer is held to it as well.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { credentialOf, type Tokens } from "./auth.ts";
import { openDescription } from "./description.ts";
import { answerFault, isApplied, type Faults, type SeenRequest } from "./faults.ts";
import { serveGit } from "./git-backend.ts";
import { Refused } from "./refused.ts";
import { admit, findRenamed, findRepository, type Call, type Reply, type Route } from "./route.ts";
import { appRoutes } from "./routes/app.ts";
import { commitRoutes } from "./routes/commits.ts";
import { issueRoutes } from "./routes/issues.ts";
import { pullRoutes } from "./routes/pulls.ts";
import { releaseRoutes } from "./routes/releases.ts";
import { repositoryRoutes } from "./routes/repositories.ts";
import type { Webhooks } from "./webhooks.ts";
import { fullName, type World } from "./world.ts";

export interface Site {
  readonly world: World;
  readonly tokens: Tokens;
  readonly webhooks: Webhooks;
  readonly faults: Faults;
  readonly requests: SeenRequest[];
  /** What did not fit GitHub's description, one sentence each. */
  readonly violations: string[];
}

const routes = [
  ...appRoutes,
  ...repositoryRoutes,
  ...issueRoutes,
  ...pullRoutes,
  ...commitRoutes,
  ...releaseRoutes,
].map(compile);
const description = openDescription();

interface Compiled {
  readonly route: Route;
  readonly method: string;
  readonly template: string;
  readonly pattern: RegExp;
}

function compile(route: Route): Compiled {
  const [method = "", path = ""] = route.on.split(" ");
  const pattern = path
    .replaceAll(/\{(\w+)\.\.\.\}/g, "(?<$1>.+)")
    .replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)");
  const template = path.replaceAll("...", "");
  return { route, method, template, pattern: new RegExp(`^${pattern}$`) };
}

export async function listen(site: Site): Promise<Server> {
  const server = createServer((request, response) => {
    receive(site, request, response).catch((error: unknown) => {
      site.violations.push(`the fake failed: ${String(error)}`);
      response.writeHead(500).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  site.world.origin = `http://127.0.0.1:${address.port}`;
  return server;
}

async function receive(
  site: Site,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? "/", site.world.origin);
  const isGit = url.pathname.includes(".git/");
  const found = isGit ? null : find(site, request.method ?? "", url);
  const seen: SeenRequest = {
    method: request.method ?? "",
    path: request.url ?? "",
    route: isGit ? "git" : found === null ? "" : `${found.method} ${found.template}`,
    headerNames: Object.keys(request.headers),
    authorization: request.headers.authorization ?? null,
    body: isGit ? "" : await bodyOf(request),
    at: site.world.now(),
    status: null,
  };
  site.requests.push(seen);
  const fault = site.faults.meet(seen);
  const resetAt = site.world.now() + 60_000;
  if (fault !== null && !isApplied(fault)) {
    seen.status = answerFault(fault, response, resetAt);
    return;
  }
  const git = isGit ? await serveGit(site, request) : null;
  const reply = git === null ? answer(site, { seen, url, found }) : null;
  if (fault !== null) {
    seen.status = answerFault(fault, response, resetAt);
  } else if (git !== null) {
    seen.status = git.status;
    response.writeHead(git.status, git.headers).end(git.body);
  } else if (reply !== null) {
    seen.status = send(reply, request, response);
  }
}

interface Found extends Compiled {
  readonly params: Readonly<Record<string, string>>;
  /** Where it really is, when the path has a former name. */
  readonly movedTo: string | null;
}

/** `/repositories/{id}` stands for the name of today, at the front of any path. */
function find({ world }: Site, method: string, url: URL): Found | null {
  const path = url.pathname.replace(/^\/api\/v3(?=\/)/, "").replace(/^\/api\/graphql$/, "/graphql");
  const [, id, rest = ""] = /^\/repositories\/(\d+)(\/.*)?$/.exec(path) ?? [];
  const named = world.repositories.find((one) => String(one.id) === id && !one.isDeleted);
  const asked = named === undefined ? path : `/repos/${fullName(named)}${rest}`;
  for (const compiled of routes) {
    const match = compiled.method === method ? compiled.pattern.exec(asked) : null;
    if (match === null) continue;
    const params = Object.fromEntries(
      Object.entries(match.groups ?? {}).map(([name, text]) => [name, decodeURIComponent(text)]),
    );
    return { ...compiled, params, movedTo: placeOf(world, { params, asked, url }) };
  }
  return null;
}

function placeOf(
  world: World,
  found: { params: Found["params"]; asked: string; url: URL },
): string | null {
  const name = `${found.params["owner"]}/${found.params["repo"]}`;
  if (findRepository(world, name) !== null) return null;
  const repository = findRenamed(world, name);
  if (repository === null) return null;
  const rest = found.asked.split("/").slice(4).join("/");
  const end = rest === "" ? "" : `/${rest}`;
  return `${world.origin}/api/v3/repositories/${repository.id}${end}${found.url.search}`;
}

function answer(
  site: Site,
  { seen, url, found }: { seen: SeenRequest; url: URL; found: Found | null },
): Reply {
  if (found === null) {
    site.violations.push(`no route for ${seen.method} ${url.pathname}`);
    return refusal(new Refused(404, "Not Found"));
  }
  const body = parse(seen.body);
  const asked = { ...found, query: url.searchParams, body };
  const reply = tryTo(() => {
    const { world, tokens, webhooks } = site;
    const credential = credentialOf(world, tokens, seen.authorization ?? undefined);
    const given = typeof body === "object" && body !== null ? (body as Call["body"]) : {};
    const call = { world, tokens, webhooks, credential, params: found.params, url, body: given };
    if (found.movedTo !== null) return moved(seen.method, found.movedTo);
    admit(found.route, call);
    const problems = description.questionProblems(asked);
    problems.forEach((problem) => site.violations.push(`${seen.route} was asked: ${problem}`));
    if (problems.length > 0) throw new Refused(422, "Validation Failed");
    return found.route.answer(call);
  });
  const status = reply.status ?? 200;
  for (const problem of description.answerProblems(asked, status, reply.body)) {
    site.violations.push(`${seen.route} answered ${status}: ${problem}`);
  }
  return reply;
}

function tryTo(act: () => Reply): Reply {
  try {
    return act();
  } catch (error) {
    if (error instanceof Refused) return refusal(error);
    throw error;
  }
}

function refusal({ status, message, errors }: Refused): Reply {
  const body = {
    message,
    ...(errors.length > 0 && { errors }),
    documentation_url: "https://docs.github.com/rest",
    status: String(status),
  };
  return { status, body };
}

function moved(method: string, location: string): Reply {
  const status = method === "GET" ? 301 : 307;
  return { status, headers: { location }, body: { message: "Moved Permanently", url: location } };
}

function parse(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function send(reply: Reply, request: IncomingMessage, response: ServerResponse): number {
  const { status = 200, body, headers = {} } = reply;
  const text = body === undefined ? "" : JSON.stringify(body);
  const etag = `"${createHash("sha256").update(text).digest("hex")}"`;
  const limits = { "x-ratelimit-limit": "5000", "x-ratelimit-remaining": "4999" };
  const isSame = request.method === "GET" && request.headers["if-none-match"] === etag;
  const shown = isSame && status === 200 ? 304 : status;
  response.writeHead(shown, {
    ...limits,
    ...headers,
    ...(body !== undefined && { "content-type": "application/json; charset=utf-8", etag }),
  });
  response.end(shown === 304 ? "" : text);
  return shown;
}
