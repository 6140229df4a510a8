// The manifest flow (spec 7.1): a page on the loopback that sends one form to GitHub, and the one way back. Whoever
// comes back without the state of this run gets nothing, and the keys are handed on once and never shown.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { Failure } from "../../policies/failure.ts";
import { serve, type HttpAnswer, type HttpProblem, type HttpRequest } from "../http.ts";
import { donePage, pageHeaders, refusalPage, startPage, type Refusal } from "./flow-pages.ts";
import { convertManifest, type CreatedApp, type GitHubPlace } from "./github-api.ts";
import { manifestFor, type AppWish } from "./manifest.ts";

export interface FlowOptions {
  readonly place: GitHubPlace;
  readonly wish: AppWish;
  /** Of the App; GitHub has one of each name. */
  readonly name: string;
  /** Where this installation is reached, without a slash at its end. */
  readonly url: string;
  /** The organisation that will own it; null for the person who is signed in. */
  readonly organisation: string | null;
  /** Ends the flow; a trade with GitHub that has begun is finished first. */
  readonly signal: AbortSignal;
  /** The address to open in a browser; it works for this run alone. */
  readonly onListening: (address: string) => void;
  /** False where keys were there already and must not be replaced. */
  readonly keep: (app: CreatedApp) => boolean;
}

export type FlowEnd =
  | { readonly ok: true; readonly app: CreatedApp }
  /** `refused`: GitHub did not take the code. `kept`: other keys came in between. */
  | { readonly ok: false; readonly why: "ended" | "refused" | "kept" };

/** Throws Failure `cannot-listen`, and what `keep` throws. */
export async function createApp(options: FlowOptions): Promise<FlowEnd> {
  const state = randomBytes(32).toString("base64url");
  const key = randomBytes(32).toString("base64url");
  const trade = openTrade(options, state);
  let origin = "";
  function start({ names }: { names: Readonly<Record<string, string>> }): HttpAnswer {
    // The state must not fall to another account of this machine, so its page is not to be guessed either.
    if (!isSame(names["key"] ?? "", key)) return refusalPage("other-run");
    const redirectUrl = `${origin}/callback`;
    const manifest = manifestFor(options.wish, { ...options, redirectUrl });
    return startPage({ ...options, action: formAddress(options, state), manifest });
  }
  const server = await serve({
    host: "127.0.0.1",
    port: 0,
    guard: (request) => guard(request, origin),
    routes: [
      { method: "GET", path: "/start/:key", answer: start },
      { method: "GET", path: "/callback", answer: ({ query }) => trade.take(query) },
    ],
    problem,
    headers: pageHeaders(options.place.web),
  });
  origin = server.url;
  try {
    options.onListening(`${origin}/start/${key}`);
    return await trade.end;
  } finally {
    await server.close();
  }
}

function formAddress({ place, organisation }: FlowOptions, state: string): string {
  const owner = organisation === null ? "" : `/organizations/${organisation}`;
  return `${place.web}${owner}/settings/apps/new?state=${state}`;
}

/** Another name that leads here is how a page elsewhere would reach us (DNS rebinding). */
function guard(request: HttpRequest, origin: string): HttpAnswer | null {
  return `http://${request.header("host") ?? ""}` === origin ? null : refusalPage("foreign-host");
}

function problem({ status }: HttpProblem): HttpAnswer {
  return { ...refusalPage(status === 500 ? "lost" : "not-here"), status };
}

interface Trade {
  readonly end: Promise<FlowEnd>;
  take(query: URLSearchParams): Promise<HttpAnswer>;
}

/** Takes one code for one App. Only an answer that did not come leaves it open for the same code again. */
function openTrade(options: FlowOptions, state: string): Trade {
  const { promise: end, resolve, reject } = Promise.withResolvers<FlowEnd>();
  const { signal } = options;
  let phase: "open" | "trading" | "over" = "open";

  function finish(why: "ended" | "refused" | "kept", page: Refusal): HttpAnswer {
    phase = "over";
    resolve({ ok: false, why });
    return refusalPage(page);
  }

  function onAbort(): void {
    if (phase === "open") finish("ended", "over");
  }

  async function take(query: URLSearchParams): Promise<HttpAnswer> {
    if (!isSame(query.get("state") ?? "", state)) return refusalPage("other-run");
    if (phase !== "open") return refusalPage("over");
    const code = query.get("code") ?? "";
    if (!/^[\w-]{1,200}$/.test(code)) return refusalPage("no-code");
    phase = "trading";
    try {
      const app = await convertManifest(options.place, code);
      if (!options.keep(app)) return finish("kept", "kept");
      phase = "over";
      resolve({ ok: true, app });
      return donePage(app);
    } catch (error) {
      if (!(error instanceof Failure) || error.code === "home-unwritable") {
        phase = "over";
        reject(error);
        return refusalPage("lost");
      }
      if (error.code === "refused") return finish("refused", "refused");
      if (signal.aborted) return finish("ended", "over");
      phase = "open";
      return refusalPage("unavailable");
    }
  }

  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  return { end, take };
}

/** In constant time, whatever the lengths. */
function isSame(given: string, wanted: string): boolean {
  return timingSafeEqual(digest(given), digest(wanted));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
