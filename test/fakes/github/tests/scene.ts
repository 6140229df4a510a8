// What the tests of the fake GitHub begin with (spec 8.4): an organisation with one repository, people, our App
// installed there, clients for it, and a receiver of webhooks.

import { sign } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { Octokit } from "@octokit/rest";
import { onTestFinished } from "vitest";
import { createAccount, install } from "../acts/accounts.ts";
import { allow, createRepository } from "../acts/repositories.ts";
import { startGitHub, type GitHub } from "../github.ts";
import type { Account, Installation, Permissions, Repository, World } from "../world.ts";

export interface Scene {
  readonly github: GitHub;
  readonly world: World;
  readonly org: Account;
  readonly ada: Account;
  /** `org/door`. */
  readonly door: Repository;
  readonly installation: Installation;
  /** As the App itself. */
  readonly app: Octokit;
  /** As the installation, narrowed to these permissions where some are given. */
  readonly api: (permissions?: Permissions) => Promise<Octokit>;
  readonly token: (permissions?: Permissions) => Promise<string>;
}

export const door = { owner: "org", repo: "door" };
export const secret = "a secret of many letters";

export async function openScene(): Promise<Scene> {
  const github = await startGitHub();
  onTestFinished(() => github.close());
  const { world } = github;
  const org = createAccount(world, "org", "Organization");
  const ada = createAccount(world, "ada");
  const repository = createRepository(world, { owner: org });
  allow(repository, ada, "write");
  const installation = install(world, { account: org });
  async function token(permissions?: Permissions): Promise<string> {
    const app = clientOf(github, jwtOf(world));
    const { data } = await app.rest.apps.createInstallationAccessToken({
      installation_id: installation.id,
      ...(permissions !== undefined && { permissions }),
    });
    return data.token;
  }
  return {
    github,
    world,
    org,
    ada,
    door: repository,
    installation,
    app: clientOf(github, jwtOf(world)),
    api: async (permissions) => clientOf(github, await token(permissions)),
    token,
  };
}

export function clientOf(github: GitHub, auth: string): Octokit {
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  return new Octokit({ baseUrl: github.url, auth, log });
}

function ignore(): void {
  // Refusals are what many tests are about.
}

export interface Claim {
  readonly iat?: number;
  readonly exp?: number;
  readonly iss?: number | string;
}

/** Good as it is; `claim` and `key` spoil it. */
export function jwtOf(world: World, claim: Claim = {}, key: string = world.privateKey): string {
  const now = Math.floor(world.now() / 1000);
  const whole = { iat: now - 30, exp: now + 500, iss: world.app.id, ...claim };
  const text = [{ alg: "RS256", typ: "JWT" }, whole]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  return `${text}.${sign("RSA-SHA256", Buffer.from(text), key).toString("base64url")}`;
}

/** The status that a call was refused with; throws when it was not. */
export async function refusalOf(call: Promise<unknown>): Promise<number> {
  try {
    await call;
  } catch (error) {
    if (error instanceof Error && "status" in error) return Number(error.status);
    throw error;
  }
  throw new Error("nothing was refused");
}

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Takes webhooks of the scene from now on; `status` says what it answers. */
export async function receiveWebhooks(
  github: GitHub,
  status: () => number = () => 202,
): Promise<Received[]> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
      response.writeHead(status()).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  github.setHook({ url: `http://127.0.0.1:${address.port}/hook`, secret });
  return received;
}

/** `event.action` of each, in order. */
export function namesOf(received: readonly Received[]): string[] {
  return received.map(({ headers, body }) => {
    const { action } = JSON.parse(body) as { action?: string };
    return [headers["x-github-event"], action].filter(Boolean).join(".");
  });
}
