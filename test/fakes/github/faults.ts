// What goes wrong between a client and GitHub (spec 8.4), switched on by a test for a number of requests: errors before
// and after a request was applied, silence, lag, limits, tokens that are not taken.

import type { ServerResponse } from "node:http";

export interface SeenRequest {
  readonly method: string;
  /** With query, as it came. */
  readonly path: string;
  /** `POST /repos/{owner}/{repo}/issues/{issue_number}/comments`; `git` for the Git side, empty when there is none. */
  readonly route: string;
  readonly headerNames: readonly string[];
  /** Its value, so that tests can look for secrets where they must not be. */
  readonly authorization: string | null;
  readonly body: string;
  /** Epoch ms. */
  readonly at: number;
  /** Of the answer; null while there is none. */
  status: number | null;
}

export interface Fault {
  /** A method and a path with any names in braces, or a question. */
  readonly on: string | ((request: SeenRequest) => boolean);
  readonly kind:
    | "5xx-before"
    | "5xx-after"
    | "timeout-before"
    | "timeout-after"
    | "reset-before"
    | "reset-after"
    | "404-lag"
    | "secondary-limit"
    | "primary-limit"
    | "401";
  /** How many requests it meets; 1 when missing. */
  readonly times?: number;
  /** Of `5xx` (502 when missing) and of limits (403 when missing). */
  readonly status?: number;
  /** Seconds, for limits; no such header when null or missing. */
  readonly retryAfter?: number | null;
}

export interface Faults {
  add(fault: Fault): void;
  /** The fault that meets this request, which uses it up by one. */
  meet(request: SeenRequest): Fault | null;
  clear(): void;
}

export function openFaults(): Faults {
  const entries: { fault: Fault; left: number }[] = [];
  return {
    add: (fault) => {
      entries.push({ fault, left: fault.times ?? 1 });
    },
    meet: (request) => {
      const entry = entries.find(({ fault, left }) => left > 0 && isMeant(fault, request));
      if (entry === undefined) return null;
      entry.left -= 1;
      return entry.fault;
    },
    clear: () => {
      entries.length = 0;
    },
  };
}

export function isApplied({ kind }: Fault): boolean {
  return kind.endsWith("-after");
}

/** Answers as the fault says, or leaves the client without an answer; gives the status, null for none. */
export function answerFault(
  fault: Fault,
  response: ServerResponse,
  resetAt: number,
): number | null {
  const { kind } = fault;
  switch (kind) {
    case "5xx-before":
    case "5xx-after":
      return refuse(response, { status: fault.status ?? 502, message: "Server Error" });
    case "timeout-before":
    case "timeout-after":
      return null;
    case "reset-before":
    case "reset-after":
      response.socket?.resetAndDestroy();
      return null;
    case "404-lag":
      return refuse(response, { status: 404, message: "Not Found" });
    case "401":
      return refuse(response, { status: 401, message: "Bad credentials" });
    case "secondary-limit": {
      const message = "You have exceeded a secondary rate limit. Please wait a few minutes.";
      const headers = retryHeader(fault);
      return refuse(response, { status: fault.status ?? 403, message, headers });
    }
    case "primary-limit": {
      const message = "API rate limit exceeded for installation ID 1.";
      const headers = {
        ...retryHeader(fault),
        "x-ratelimit-limit": "5000",
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": String(Math.ceil(resetAt / 1000)),
      };
      return refuse(response, { status: fault.status ?? 403, message, headers });
    }
  }
}

function retryHeader({ retryAfter }: Fault): Record<string, string> {
  return retryAfter === undefined || retryAfter === null ? {} : { "retry-after": `${retryAfter}` };
}

function refuse(
  response: ServerResponse,
  refusal: { status: number; message: string; headers?: Record<string, string> },
): number {
  const { status, message, headers = {} } = refusal;
  const body = { message, documentation_url: "https://docs.github.com/rest" };
  response.writeHead(status, { "content-type": "application/json; charset=utf-8", ...headers });
  response.end(JSON.stringify(body));
  return status;
}

function isMeant({ on }: Fault, request: SeenRequest): boolean {
  if (typeof on === "function") return on(request);
  return nameless(on) === nameless(request.route);
}

function nameless(route: string): string {
  return route.replaceAll(/\{[^}]*\}/g, "{}");
}
