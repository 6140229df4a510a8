// The few calls that set an App up and look at it (spec 6.6, 7.1), made without the adapter: doctor has to say what is
// wrong where the adapter cannot even open. Reads only, but for the one conversion; an answer's text is shown nowhere.

import { createPrivateKey, sign } from "node:crypto";
import { z } from "zod";
import { secondMs } from "../../policies/durations.ts";
import { Failure } from "../../policies/failure.ts";
import type { AppKeys } from "./app-file.ts";

/** Where a GitHub has its pages and its API. */
export interface GitHubPlace {
  readonly web: string;
  readonly api: string;
}

const callMsLimit = 10 * secondMs;
const pagesLimit = 10;
const pageSize = 100;
const publicApi = "https://api.github.com";

/** `host` is the one of an Enterprise Server; null is github.com. */
export function placeOf(host: string | null, protocol = "https"): GitHubPlace {
  if (host === null) return { web: "https://github.com", api: publicApi };
  return { web: `${protocol}://${host}`, api: `${protocol}://${host}/api/v3` };
}

/** The place whose API is at this address, as setup and settings keep it. */
export function placeAt(api: string): GitHubPlace {
  return api === publicApi ? placeOf(null) : { web: new URL(api).origin, api };
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  /** What GitHub's clock shows, to the second; null where it did not say. */
  readonly dateAt: number | null;
}

/** Throws Failure `unavailable` where nothing that can be read came back. */
async function call(
  url: string,
  options: { method: "GET" | "POST"; token?: string },
): Promise<Answer> {
  const headers: Record<string, string> = {
    accept: "application/vnd.github+json",
    "user-agent": "holdfast",
  };
  if (options.token !== undefined) headers["authorization"] = `Bearer ${options.token}`;
  try {
    const response = await fetch(url, {
      method: options.method,
      headers,
      redirect: "error",
      signal: AbortSignal.timeout(callMsLimit),
    });
    const text = await response.text();
    const dateAt = Date.parse(response.headers.get("date") ?? "");
    return {
      status: response.status,
      body: text === "" ? null : JSON.parse(text),
      dateAt: Number.isNaN(dateAt) ? null : dateAt,
    };
  } catch {
    // Its cause may name the address, and a conversion's address holds a code.
    throw new Failure("unavailable", "later", { message: "GitHub gave no answer to read" });
  }
}

const CreatedApp = z.object({
  id: z.int().positive(),
  slug: z.string().regex(/^[\w-]+$/),
  html_url: z.url(),
  pem: z.string().min(1),
  webhook_secret: z.string().min(1),
});
export type CreatedApp = z.infer<typeof CreatedApp>;

/**
 * Trades the code of a finished form for the App and its keys; a code works once, for an hour.
 * Throws Failure `unavailable` (may be tried again) or `refused`.
 */
export async function convertManifest(place: GitHubPlace, code: string): Promise<CreatedApp> {
  const url = `${place.api}/app-manifests/${encodeURIComponent(code)}/conversions`;
  const { status, body } = await call(url, { method: "POST" });
  if (status >= 500 || status === 429) {
    throw new Failure("unavailable", "later", { message: `the conversion got status ${status}` });
  }
  const app = CreatedApp.safeParse(body);
  if (status === 201 && app.success) return app.data;
  throw new Failure("refused", "never", { message: `the conversion got status ${status}` });
}

const Permissions = z.record(z.string(), z.string());

export const AppSeen = z.object({
  id: z.int(),
  slug: z.string().default(""),
  name: z.string(),
  html_url: z.string().default(""),
  owner: z.object({ login: z.string(), type: z.string() }).nullish().catch(null),
  permissions: Permissions,
  events: z.array(z.string()),
});
export type AppSeen = z.infer<typeof AppSeen>;

export const HookSeen = z.object({
  url: z.string().default(""),
  content_type: z.string().default(""),
  insecure_ssl: z.union([z.string(), z.number()]).default("0"),
});
export type HookSeen = z.infer<typeof HookSeen>;

export const InstallationSeen = z.object({
  id: z.int(),
  account: z.object({ login: z.string() }).nullish().catch(null),
  html_url: z.string().default(""),
  permissions: Permissions,
  suspended_at: z.string().nullish(),
});
export type InstallationSeen = z.infer<typeof InstallationSeen>;

export const DeliverySeen = z.object({
  guid: z.string(),
  delivered_at: z.string(),
  status_code: z.int(),
});
export type DeliverySeen = z.infer<typeof DeliverySeen>;

/** Asks as the App itself. */
export interface AppReader {
  read(path: string): Promise<Answer>;
  /** The whole list, at most a thousand; null where GitHub answered with anything else. */
  readAll<T>(path: string, entry: z.ZodType<T>): Promise<T[] | null>;
}

export function openAppReader(keys: AppKeys, now: () => number): AppReader {
  const api = (keys.baseUrl ?? publicApi).replace(/\/+$/, "");
  function read(path: string): Promise<Answer> {
    return call(`${api}${path}`, { method: "GET", token: appToken(keys, now()) });
  }
  return {
    read,
    readAll: async (path, entry) => {
      const all = [];
      for (let page = 1; page <= pagesLimit; page += 1) {
        const { status, body } = await read(`${path}?per_page=${pageSize}&page=${page}`);
        const part = z.array(entry).safeParse(body);
        if (status !== 200 || !part.success) return null;
        all.push(...part.data);
        if (part.data.length < pageSize) break;
      }
      return all;
    },
  };
}

/** A signed claim to be the App, good for nine minutes; back-dated, because clocks differ. */
function appToken({ appId, privateKey }: AppKeys, now: number): string {
  const second = Math.floor(now / secondMs);
  const head = base64Url(JSON.stringify({ alg: "RS256", typ: "JWT" }));
  const claim = base64Url(JSON.stringify({ iat: second - 60, exp: second + 9 * 60, iss: appId }));
  const signature = sign("RSA-SHA256", Buffer.from(`${head}.${claim}`), privateKey);
  return `${head}.${claim}.${signature.toString("base64url")}`;
}

function base64Url(text: string): string {
  return Buffer.from(text).toString("base64url");
}

/** Whether it is an RSA key in PEM form, as GitHub makes them. */
export function isPrivateKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === "rsa";
  } catch {
    return false;
  }
}
