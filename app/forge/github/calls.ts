// Single calls to GitHub (spec 6.1, 6.5): with a token, in time, and never repeated unless GitHub said that nothing was
// done. What went wrong comes out as a failure of the port.

import { Octokit } from "@octokit/rest";
import { Failure } from "../../../policies/failure.ts";
import { callMsLimit } from "./app.ts";
import { readFailure, statusOf, writeFailure } from "./failures.ts";
import type { Tokens, Use } from "./tokens.ts";

/** By which token: of an installation, for one repository or for all of them, and for what. */
export interface By {
  readonly account: string;
  readonly forgeId: string | null;
  readonly use: Use;
}

export interface Caller {
  readonly tokens: Tokens;
  readonly baseUrl: string;
  readonly now: () => number;
}

type Ask<T> = (api: Octokit) => Promise<{ readonly data: T }>;

/** Null where what is asked for does not exist. Throws Failure. */
export async function read<T>(caller: Caller, by: By, ask: Ask<T>): Promise<T | null> {
  try {
    return await withToken(caller, by, ask);
  } catch (error) {
    if (error instanceof Failure) throw error;
    return readFailure(error, { route: routeOf(error), now: caller.now() });
  }
}

/** Throws Failure. */
export async function write<T>(caller: Caller, by: By, ask: Ask<T>): Promise<T> {
  try {
    return await withToken(caller, by, ask);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw writeFailure(error, { route: routeOf(error), now: caller.now() });
  }
}

/** 401 says that nothing was done, so that once more with another token is no second time. */
async function withToken<T>(caller: Caller, by: By, ask: Ask<T>): Promise<T> {
  const { tokens, baseUrl } = caller;
  const token = await tokens.token(by);
  try {
    return (await ask(octokit(baseUrl, token))).data;
  } catch (error) {
    if (statusOf(error) !== 401) throw error;
    tokens.forget(token);
    return (await ask(octokit(baseUrl, await tokens.token(by)))).data;
  }
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

/** Octokit without retries, throttles or words of its own; null asks as nobody. */
export function octokit(baseUrl: string, token: string | null): Octokit {
  const api = new Octokit({ baseUrl, log: quiet, ...(token === null ? {} : { auth: token }) });
  api.hook.before("request", (request) => {
    request.request.signal = AbortSignal.timeout(callMsLimit);
    // A write that is sent on to another address may arrive there as something else.
    if (request.method !== "GET") request.request.redirect = "manual";
  });
  return api;
}

/** The route of Octokit's error without its query; a bug of ours has none. */
export function routeOf(error: unknown): string {
  const { request } = error as { request?: { method?: string; url?: string } };
  if (request?.url === undefined) return "a call to GitHub";
  return `${request.method} ${new URL(request.url).pathname}`;
}
