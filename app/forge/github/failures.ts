// GitHub's answers as failures of the port (spec 6.3, 6.4): what is known of a call that did not succeed.
// A message names the route and the status; bodies, headers and tokens never get into one (I11).

import { secondMs } from "../../../policies/durations.ts";
import { Failure } from "../../../policies/failure.ts";
import { LimitedFailure, RefusedFailure } from "../forge.ts";

/** What an HTTP error of Octokit looks like; a network error has no status. */
interface HttpError {
  readonly status: number;
  readonly message: string;
  readonly headers: Readonly<Record<string, string | number | undefined>>;
}

/** GitHub asks for at least a minute where it names no time. */
const limitMsDefault = 60 * secondMs;
/** The statuses that say it was not applied and never will be (6.3); all others below 500 say only the first. */
const refusals = new Set([403, 404, 410, 422, 423]);

/** How GitHub says that there is nothing: 409 of an empty repository, 422 of a commit that nobody knows. */
const nothings = new Set([404, 409, 410, 422, 451]);

/** Null where what was asked for does not exist. Throws the failure of any other read that went wrong. */
export function readFailure(error: unknown, what: { route: string; now: number }): null {
  const http = httpError(error);
  if (http === null) throw unavailable(what.route, error);
  const limit = limitOf(http, what.now);
  if (limit !== null) throw limited(what.route, limit);
  if (nothings.has(http.status)) return null;
  if (isSuspended(http)) throw unavailable(what.route, http.status);
  if (refusals.has(http.status)) throw refused(what.route, http.status);
  throw unavailable(what.route, http.status);
}

/** Why a write did not succeed: refused, limited, not taken yet, or nobody knows. */
export function writeFailure(error: unknown, what: { route: string; now: number }): Failure {
  if (error instanceof Error && error.name === "GraphqlResponseError") {
    return mutationFailure(error, what);
  }
  const http = httpError(error);
  if (http === null) return unsure(what.route, error);
  const limit = limitOf(http, what.now);
  if (limit !== null) return limited(what.route, limit);
  if (http.status >= 500) return unsure(what.route, http.status);
  if (refusals.has(http.status) && !isSuspended(http)) return refused(what.route, http.status);
  // Such as moved away, or a token that is not taken: another name or token may help.
  return unavailable(what.route, http.status);
}

/** GitHub answers a mutation that it did not do with 200 and words about it. */
function mutationFailure(error: Error, what: { route: string; now: number }): Failure {
  const { errors = [] } = error as { errors?: readonly { readonly type?: string }[] };
  const isLimit = errors.some(({ type }) => type === "RATE_LIMITED");
  if (isLimit) return limited(what.route, what.now + limitMsDefault);
  // An error of GitHub's own has no type.
  const isRefused = errors.every(({ type }) => type !== undefined);
  return isRefused ? refused(what.route, 200) : unsure(what.route, 200);
}

/** Why no token was minted: nothing was done with it, so that it can be asked for again. */
export function tokenFailure(error: unknown, what: { route: string; now: number }): Failure {
  const http = httpError(error);
  const limit = http === null ? null : limitOf(http, what.now);
  if (limit !== null) return limited(what.route, limit);
  return unavailable(what.route, http?.status ?? error);
}

/** Nothing was sent: what reaches the repository has changed since it was looked up. */
export function outOfReach(): never {
  throw new Failure("unavailable", "later", { message: "no token reaches this repository now" });
}

/** The status of Octokit's error; null for a network error, a timeout, and every bug of ours. */
export function statusOf(error: unknown): number | null {
  return httpError(error)?.status ?? null;
}

function httpError(error: unknown): HttpError | null {
  if (!(error instanceof Error) || error.name !== "HttpError") return null;
  const { status, message, response } = error as Error & {
    readonly status: number;
    readonly response?: { readonly headers?: HttpError["headers"] };
  };
  // Octokit gives the network's errors the status 500 and no response.
  return response === undefined ? null : { status, message, headers: response.headers ?? {} };
}

/** An installation that rests is waited for (1.7); only GitHub's words tell it from what is forbidden. */
function isSuspended({ status, message }: HttpError): boolean {
  return status === 403 && /suspended/i.test(message);
}

/** Until when nothing more may be asked; null where this is no limit. */
function limitOf({ status, headers, message }: HttpError, now: number): number | null {
  if (status !== 403 && status !== 429) return null;
  const retryAfter = Number(headers["retry-after"]);
  if (retryAfter > 0) return now + retryAfter * secondMs;
  const isUsedUp = String(headers["x-ratelimit-remaining"]) === "0";
  const resetAt = Number(headers["x-ratelimit-reset"]) * secondMs;
  if (isUsedUp && resetAt > now) return resetAt;
  return status === 429 || isUsedUp || /rate limit|abuse/i.test(message)
    ? now + limitMsDefault
    : null;
}

function limited(route: string, until: number): LimitedFailure {
  return new LimitedFailure(until, { message: `${route}: GitHub's limit is reached` });
}

function refused(route: string, status: number): Failure {
  return new StatusRefusal(status, `${route}: GitHub answered ${status}`);
}

/** The statuses by which a place says that it takes nothing from us. */
const closed = new Set([403, 404, 410, 423]);

class StatusRefusal extends RefusedFailure {
  readonly status: number;

  constructor(status: number, message: string) {
    super({ message, isClosed: closed.has(status) });
    this.status = status;
  }
}

/** A write was refused because what it speaks of is not there. */
export function isGone(error: unknown): boolean {
  return error instanceof StatusRefusal && (error.status === 404 || error.status === 410);
}

/** A write was refused for what it says. */
export function isInvalid(error: unknown): boolean {
  return error instanceof StatusRefusal && error.status === 422;
}

function unavailable(route: string, why: unknown): Failure {
  return new Failure("unavailable", "later", { message: `${route}: ${wordsOf(why)}` });
}

function unsure(route: string, why: unknown): Failure {
  return new Failure("unsure", "later", { message: `${route}: ${wordsOf(why)}` });
}

/** A status, or the network's own word for its trouble. */
function wordsOf(why: unknown): string {
  if (typeof why === "number") return `GitHub answered ${why}`;
  for (let error = why; error instanceof Error; error = error.cause) {
    if (error.name === "TimeoutError") return "no answer in time";
    if ("code" in error && typeof error.code === "string") return error.code;
  }
  return "no answer";
}
