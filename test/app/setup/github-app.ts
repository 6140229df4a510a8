// A small GitHub as setting an App up and doctor see it: the conversion of a manifest, and what an App may read about
// itself, with signed claims really verified. Holds no expectation.

import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { onTestFinished } from "vitest";
import { readAppWish, webhookPath } from "../../../app/setup/manifest.ts";

export const publicUrl = "https://holdfast.example";

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
/** Marks that no output may show: the key in GitHub's own form, and a secret. */
export const pem = privateKey.export({ type: "pkcs1", format: "pem" }).toString();
export const webhookSecret = "canary-5d8f1c0b7a3e4d2f9b6c";
export const goodCode = "code-0123456789abcdef";

export interface GitHubApp {
  /** `127.0.0.1:port`, as GHE_HOST takes it. */
  readonly host: string;
  readonly api: string;
  /** Codes that were given for conversion, in order. */
  readonly codes: string[];
  /** Answers by path below the API's base; a test changes what it is about. */
  readonly answers: Map<string, { status: number; body: unknown }>;
  /** Statuses for the next conversions, before any is good. */
  readonly conversions: number[];
  /** How far its clock is ahead, in ms. */
  clockAheadMs: number;
}

export function wishedPermissions(): Record<string, string> {
  return Object.fromEntries(readAppWish().permissions.map(({ name, access }) => [name, access]));
}

export function appBody(): Record<string, unknown> {
  return {
    id: 4711,
    slug: "holdfast",
    name: "Holdfast",
    html_url: "https://github.example/apps/holdfast",
    owner: { login: "acme", type: "Organization" },
    permissions: wishedPermissions(),
    events: readAppWish().events.map(({ name }) => name),
  };
}

export function installationBody(): Record<string, unknown> {
  return {
    id: 9,
    account: { login: "acme" },
    html_url: "https://github.example/settings/installations/9",
    permissions: wishedPermissions(),
    suspended_at: null,
  };
}

/** Everything is as it should be until the test says otherwise; closed when the test is over. */
export async function openGitHubApp(): Promise<GitHubApp> {
  const hook = { url: `${publicUrl}${webhookPath}`, content_type: "json", insecure_ssl: "0" };
  const state = {
    codes: [],
    conversions: [],
    clockAheadMs: 0,
    answers: new Map<string, { status: number; body: unknown }>([
      ["/app", { status: 200, body: appBody() }],
      ["/app/hook/config", { status: 200, body: hook }],
      ["/app/installations", { status: 200, body: [installationBody()] }],
      ["/app/hook/deliveries", { status: 200, body: [] }],
    ]),
  };
  const server = createServer((request, response) => answer(github, { request, response }));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("it listens on no port");
  const host = `127.0.0.1:${address.port}`;
  const github: GitHubApp = { ...state, host, api: `http://${host}/api/v3` };
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return github;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

function answer(github: GitHubApp, { request, response }: Exchange): void {
  response.setHeader("date", new Date(Date.now() + github.clockAheadMs).toUTCString());
  const path = (request.url ?? "").replace(/^\/api\/v3/, "").replace(/\?.*$/, "");
  const code = /^\/app-manifests\/([^/]+)\/conversions$/.exec(path)?.[1];
  const { status, body } =
    code === undefined ? asApp(github, { request, path }) : convert(github, code);
  response.statusCode = status;
  response.end(JSON.stringify(body));
}

function convert(github: GitHubApp, code: string): { status: number; body: unknown } {
  github.codes.push(code);
  const failing = github.conversions.shift();
  if (failing !== undefined) return { status: failing, body: { message: `no ${webhookSecret}` } };
  if (code !== goodCode) return { status: 404, body: { message: "Not Found" } };
  return {
    status: 201,
    body: { ...appBody(), pem, webhook_secret: webhookSecret, client_secret: webhookSecret },
  };
}

function asApp(
  github: GitHubApp,
  { request, path }: { request: IncomingMessage; path: string },
): { status: number; body: unknown } {
  if (!isClaim(request.headers.authorization ?? "")) {
    return { status: 401, body: { message: "A JSON web token could not be decoded" } };
  }
  const answer = github.answers.get(path) ?? { status: 404, body: { message: "Not Found" } };
  return Array.isArray(answer.body) ? { ...answer, body: pageOf(answer.body, request) } : answer;
}

function pageOf(all: readonly unknown[], { url = "" }: IncomingMessage): readonly unknown[] {
  const query = new URL(url, "http://here").searchParams;
  const size = Number(query.get("per_page") ?? 30);
  const first = (Number(query.get("page") ?? 1) - 1) * size;
  return all.slice(first, first + size);
}

function isClaim(authorization: string): boolean {
  const [head = "", claim = "", signature = ""] = authorization.replace("Bearer ", "").split(".");
  const signed = Buffer.from(`${head}.${claim}`);
  const key = createPublicKey(publicKey.export({ type: "spki", format: "pem" }));
  if (!verify("RSA-SHA256", signed, key, Buffer.from(signature, "base64url"))) return false;
  const { iat, exp, iss } = JSON.parse(Buffer.from(claim, "base64url").toString());
  return iss === "4711" && exp - iat <= 600 && exp > Date.now() / 1_000;
}
