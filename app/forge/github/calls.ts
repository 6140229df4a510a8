// Single calls to GitHub (spec 6.1, 6.5): with a token, in time, and never repeated unless GitHub said that nothing was
// done. What went wrong comes out as a failure of the port.

import { Octokit } from "@octokit/rest";
import { Failure } from "../../../policies/failure.ts";
import { callMsLimit } from "./app.ts";
import { outOfReach, readFailure, statusOf, writeFailure } from "./failures.ts";
import type { Asked, Tokens } from "./tokens.ts";

export interface Caller {
  readonly tokens: Tokens;
  readonly baseUrl: string;
  readonly now: () => number;
}

type Ask<T> = (api: Octokit) => Promise<{ readonly data: T }>;

/** Null where what is asked for does not exist, or is not reached with this token. Throws Failure. */
export async function read<T>(caller: Caller, by: Asked, ask: Ask<T>): Promise<T | null> {
  try {
    return (await withToken(caller, by, ask))?.data ?? null;
  } catch (error) {
    if (error instanceof Failure) throw error;
    return readFailure(error, { route: routeOf(error), now: caller.now() });
  }
}

/** Throws Failure. */
export async function write<T>(caller: Caller, by: Asked, ask: Ask<T>): Promise<T> {
  try {
    return ((await withToken(caller, by, ask)) ?? outOfReach()).data;
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw writeFailure(error, { route: routeOf(error), now: caller.now() });
  }
}

/** 401 says that nothing was done, so that once more with another token is no second time. */
async function withToken<T>(
  caller: Caller,
  by: Asked,
  ask: Ask<T>,
): Promise<{ readonly data: T } | null> {
  const { tokens, baseUrl } = caller;
  const token = await tokens.token(by);
  if (token === null) return null;
  try {
    return await ask(octokit(baseUrl, token));
  } catch (error) {
    if (statusOf(error) !== 401) throw error;
    tokens.forget(token);
  }
  const another = await tokens.token(by);
  return another === null ? null : ask(octokit(baseUrl, another));
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

/** Octokit without retries, throttles or words of its own; null asks as nobody. */
export function octokit(baseUrl: string, token: string | null): Octokit {
  const api = new Octokit({ baseUrl, log: quiet, ...(token === null ? {} : { auth: token }) });
  api.hook.wrap("request", async (request, options) => {
    options.request.signal = AbortSignal.timeout(callMsLimit);
    // A write that is sent on to another address may arrive there as something else.
    if (options.method !== "GET") options.request.redirect = "manual";
    const response = await request(options);
    if (response.status >= 300) throw moved({ request: options, response });
    // Something on the way that answers for GitHub says nothing about what GitHub did.
    if (typeof response.data !== "object") throw new TypeError("the answer is no JSON");
    return response;
  });
  return api;
}

/** Octokit takes an answer that sends elsewhere for a good one. */
function moved(parts: { request: object; response: { status: number } }): Error {
  const { status } = parts.response;
  return Object.assign(new Error("moved"), { name: "HttpError", status, ...parts });
}

/** The route of Octokit's error without its query; a bug of ours has none. */
export function routeOf(error: unknown): string {
  const { request } = error as { request?: { method?: string; url?: string } };
  if (request?.url === undefined) return "a call to GitHub";
  const { url, method } = request;
  return `${method} ${URL.canParse(url) ? new URL(url).pathname : url}`;
}
