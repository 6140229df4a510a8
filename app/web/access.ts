// Who may see and write on the pages (spec 7.4): by our own address, with the token's cookie or as its bearer.
// Decides on headers alone, before any body is read or any page is made.

import { createHash, timingSafeEqual } from "node:crypto";
import type { HttpAnswer, HttpRequest } from "../http.ts";
import { html } from "./html.ts";
import { problemAnswer } from "./page.ts";

export interface AccessOptions {
  readonly token: string;
  /** Where the server listens; asked late, because the port may be any free one. */
  readonly port: () => number;
  /** The address under which others reach the server; null where only this machine does. */
  readonly publicUrl: string | null;
  /** Paths that hold nothing of anybody: the probes, style and script. */
  readonly open: readonly string[];
}

/**
 * `no-referrer` would turn the Origin of our own forms into `null`, and they would be refused;
 * `same-origin` tells other sites as little.
 */
export const securityHeaders: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
    "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "same-origin",
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** The guard of the pages: null lets a request through. */
export function pageAccess(options: AccessOptions): (request: HttpRequest) => HttpAnswer | null {
  return (request) => {
    const host = request.header("host")?.toLowerCase() ?? "";
    const origin = originOf(host, options);
    // Another name that leads here is how a page elsewhere would reach us (DNS rebinding).
    if (origin === null) return refuse("foreign-host");
    if (request.method === "POST" && request.header("origin") !== origin) {
      return refuse("foreign-origin");
    }
    if (request.method === "GET" && request.query.has("token")) {
      return enter(request, options, origin);
    }
    if (options.open.includes(request.path)) return null;
    return hasBearer(request, options) || hasCookie(request, options) ? null : refuse("no-cookie");
  };
}

/** The address that a request was sent to, if it is one of ours. */
function originOf(host: string, { port, publicUrl }: AccessOptions): string | null {
  const own = ["127.0.0.1", "localhost", "[::1]"].map((name) => `${name}:${port()}`);
  if (own.includes(host)) return `http://${host}`;
  const ours = publicUrl === null ? null : new URL(publicUrl);
  return ours?.host === host ? ours.origin : null;
}

function hasBearer(request: HttpRequest, { token }: AccessOptions): boolean {
  const [, given = ""] = /^Bearer (\S+)$/.exec(request.header("authorization") ?? "") ?? [];
  return given !== "" && isSame(given, token);
}

const refusals = {
  "foreign-host": {
    status: 421,
    title: "Not this address",
    words: "Holdfast answers only to its own address: HOLDFAST_URL, or this machine's.",
  },
  "foreign-origin": {
    status: 403,
    title: "Nothing was written",
    words: "This form did not come from a page of this Holdfast.",
  },
  "wrong-token": {
    status: 403,
    title: "An old address",
    words: "The key in this address is not the one of the Holdfast that runs now.",
  },
  "no-cookie": {
    status: 401,
    title: "Not let in",
    words: "This page needs the key from the address that Holdfast printed when it started.",
  },
} as const;

function refuse(why: keyof typeof refusals): HttpAnswer {
  const { status, title, words } = refusals[why];
  // A link from another site comes without the cookie; one from our own page brings it.
  const way = html`Open the address that Holdfast printed when it started. If you have done that in
    this browser, <a href="">try once more</a>.`;
  return problemAnswer(status, { title, words, way });
}

/** The token leaves the address, and with it the history and every log. */
function enter(request: HttpRequest, options: AccessOptions, origin: string): HttpAnswer {
  if (!isSame(request.query.get("token") ?? "", options.token)) return refuse("wrong-token");
  const query = new URLSearchParams(request.query);
  query.delete("token");
  // A path of two slashes would be another host.
  const path = `/${request.path.replace(/^[/\\]+/, "")}`;
  const secure = origin.startsWith("https:") ? "; Secure" : "";
  return {
    status: 303,
    headers: {
      location: query.size === 0 ? path : `${path}?${query.toString()}`,
      "set-cookie": `${cookieName(options)}=${options.token}; Path=/; HttpOnly; SameSite=Strict${secure}`,
    },
    body: "",
  };
}

function hasCookie(request: HttpRequest, options: AccessOptions): boolean {
  const name = cookieName(options);
  const cookies = (request.header("cookie") ?? "").split(";").map((part) => part.trim().split("="));
  return cookies.some(([key, value]) => key === name && isSame(value ?? "", options.token));
}

/** Cookies know no ports: two of us on one machine must not overwrite each other's. */
function cookieName({ port }: AccessOptions): string {
  return `holdfast-${port()}`;
}

/** In constant time, whatever the lengths. */
function isSame(given: string, wanted: string): boolean {
  return timingSafeEqual(digest(given), digest(wanted));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
