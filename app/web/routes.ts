// The pages as one server (spec 7.4): which address shows what, and what a form writes. Writes nothing
// itself: a form becomes the same text and delivery as one from the command line.

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { Failure } from "../../policies/failure.ts";
import type { WriteRefusal } from "../forge/local-writing.ts";
import {
  serve,
  type HttpAnswer,
  type HttpProblem,
  type Matched,
  type Route,
  type ServeOptions,
} from "../http.ts";
import { conversationOf } from "../ledger/conversations.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { findMandate } from "../ledger/mandates.ts";
import type { Log } from "../log.ts";
import type { RedisState } from "../scheduler/bullmq/driver.ts";
import { pageAccess, securityHeaders } from "./access.ts";
import { conversationPage, emptyDraft, newIssuePage, type Draft } from "./conversation.ts";
import { dashboard, type TaskView } from "./dashboard.ts";
import { keepDiffs, type ReadDiff } from "./diff.ts";
import { watchChanges, type Changes } from "./events.ts";
import { alive, healthPage, ready, whatHolds } from "./health.ts";
import { html } from "./html.ts";
import { pageAnswer, problemAnswer, seeOther, type Page, type View } from "./page.ts";
import { recordPage } from "./record.ts";

export interface WebOptions extends Pick<ServeOptions, "bodyBytesLimit" | "requestMsLimit"> {
  readonly ledger: Ledger;
  readonly log: Log;
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly publicUrl: string | null;
  /** Who has it is let in; one kept from an earlier start lets open pages go on. */
  readonly token: string;
  /** Asked at each page: an App's name is known only when it was asked for. */
  readonly mention: () => string;
  readonly timeZone: string;
  /** Unified diff of a mandate's branch; null when nothing is changed. */
  readonly diff: (mandateId: string) => Promise<string | null>;
  /** Takes secrets out of a page (I11). */
  readonly redact: (text: string) => string;
  /** What more is needed to be ready than a ledger that takes writes; null, or the reason why not. */
  readonly isHeld: () => Promise<string | null>;
  /** How the hints of other processes come; null where there is no Redis. */
  readonly redis: () => RedisState | null;
  /** Of other programs, beside the pages. */
  readonly routes: readonly Route[];
  /** The repository whose issues are here; null where conversations are at their forges. */
  readonly local: LocalPages | null;
}

/** What the pages of the local forge show and write beside mandates. */
export interface LocalPages {
  readonly repository: { readonly id: string; readonly name: string };
  /** The account that Holdfast writes as. */
  readonly selfId: string;
  readonly tasks: () => Promise<TaskView>;
  /** Write as the owner; the same `requestKey` again is the same text. */
  readonly write: {
    comment(comment: {
      number: number;
      body: string;
      requestKey: string;
    }): Promise<{ ok: true; commentId: string } | WriteRefusal>;
    issue(issue: {
      title: string;
      body: string;
      requestKey: string;
    }): Promise<{ ok: true; number: number } | WriteRefusal>;
  };
}

export interface Web {
  /** Without the token, for links in comments. */
  readonly baseUrl: string;
  /** The address to print and to open once. */
  readonly url: string;
  close(): Promise<void>;
}

/** Serves the pages. Throws Failure `port-in-use` or `cannot-listen`. */
export async function startWeb(options: WebOptions): Promise<Web> {
  let port = options.port;
  const changes = watchChanges(options.ledger, randomUUID());
  const site: Site = { ...options, changes, readDiff: keepDiffs(options.diff) };
  const { bodyBytesLimit, requestMsLimit, host, publicUrl, local } = options;
  const localRoutes = local === null ? [] : conversationRoutes({ ...site, local });
  const serving = await serve({
    port,
    host,
    routes: [...options.routes, ...pageRoutes(site), ...localRoutes, ...assetRoutes()],
    guard: pageAccess({
      token: options.token,
      port: () => port,
      publicUrl,
      open: ["/healthz", "/readyz", "/page.css", "/page.js"],
    }),
    problem: (problem) => problemPage(problem, options.log),
    headers: securityHeaders,
    ...(bodyBytesLimit === undefined ? {} : { bodyBytesLimit }),
    ...(requestMsLimit === undefined ? {} : { requestMsLimit }),
  });
  port = Number(new URL(serving.url).port);
  const baseUrl = publicUrl ?? serving.url;
  const url = `${baseUrl}/?token=${options.token}`;
  return { baseUrl, url, close: () => serving.close() };
}

/** What the answers share: the options, what open pages are told, and the diffs kept for them. */
interface Site extends WebOptions {
  readonly changes: Changes;
  readonly readDiff: ReadDiff;
}

function pageRoutes(site: Site): Route[] {
  const { ledger } = site;
  return [
    get("/", async ({ query }) => {
      const tasks = (await site.local?.tasks()) ?? noTasks;
      const shown = { filter: query.get("state") ?? "", tasks };
      return show(site, (view) => ledger.read((sql) => dashboard(sql, view, shown)));
    }),
    get("/m/:id", ({ names, query }) => {
      const asked = { id: names["id"] ?? "", all: query.has("all"), diff: site.readDiff };
      return show(site, (view) => ledger.read((sql) => recordPage(sql, view, asked)));
    }),
    get("/health", async () => {
      const held = await whatHolds(ledger, site);
      return show(site, (view) =>
        ledger.read((sql) => healthPage(sql, view, { held, redis: site.redis() })),
      );
    }),
    get("/healthz", alive),
    get("/readyz", async () => ready(await whatHolds(ledger, site))),
    get("/events", () => site.changes.events()),
  ];
}

const noTasks: TaskView = { tasks: [], problems: [], isUncommitted: false };

interface LocalSite extends Site {
  readonly local: LocalPages;
}

/** The pages of the local forge, which is the only one that people write on here. */
function conversationRoutes(site: LocalSite): Route[] {
  const { ledger } = site;
  return [
    post("/m/:id/comment", async ({ names }, draft) => {
      const number = await numberOf(ledger, names["id"] ?? "");
      return comment(site, { number, draft });
    }),
    get("/c/:number", ({ names }) => thread(site, wholeNumber(names["number"]), emptyDraft())),
    post("/c/:number", ({ names }, draft) =>
      comment(site, { number: wholeNumber(names["number"]), draft }),
    ),
    get("/new", ({ query }) => {
      const given = { title: query.get("title") ?? "", body: query.get("body") ?? "" };
      return show(site, (view) => newIssuePage(emptyDraft(given), view));
    }),
    post("/new", (_, draft) => openIssue(site, draft)),
  ];
}

/** Makes a page; the state it shows is read before anything else, so that no change is missed. */
async function show(
  site: Site,
  make: (view: View) => Promise<Page | null> | Page,
): Promise<HttpAnswer> {
  const { local, timeZone, changes, ledger } = site;
  const revision = changes.revision();
  const repository = local?.repository ?? null;
  const view = { now: ledger.now(), revision, repository, mention: site.mention(), timeZone };
  const page = await make(view);
  return page === null
    ? problemPage({ status: 404 }, site.log)
    : pageAnswer(view, page, site.redact);
}

function thread(site: LocalSite, number: number, draft: Draft): Promise<HttpAnswer> {
  const asked = { number, draft, diff: site.readDiff, selfId: site.local.selfId };
  return show(site, (view) => site.ledger.read((sql) => conversationPage(sql, view, asked)));
}

/** What was refused comes back on the page of its conversation, with the text still in the box. */
async function comment(
  site: LocalSite,
  { number, draft }: { number: number; draft: Draft },
): Promise<HttpAnswer> {
  const { key: requestKey, body } = draft;
  const result = await site.local.write.comment({ number, body, requestKey });
  if (result.ok) return seeOther(`/c/${number}#comment-${result.commentId}`);
  return thread(site, number, { ...draft, problem: refusalWords(result) });
}

async function openIssue(site: LocalSite, draft: Draft): Promise<HttpAnswer> {
  const { key: requestKey, title, body } = draft;
  const result = await site.local.write.issue({ title, body, requestKey });
  if (result.ok) return seeOther(`/c/${result.number}`);
  const refused = { ...draft, problem: refusalWords(result) };
  return show(site, (view) => newIssuePage(refused, view));
}

function get(path: string, answer: Route["answer"]): Route {
  return { method: "GET", path, answer };
}

function post(
  path: string,
  answer: (request: Matched, draft: Draft) => Promise<HttpAnswer>,
): Route {
  return { method: "POST", path, answer: (request) => answer(request, draftOf(request.body)) };
}

/** A form as it was sent; `before` is what our own forms put in front of a person's words. */
function draftOf(body: Buffer): Draft {
  const form = new URLSearchParams(body.toString("utf8").replaceAll("%0D%0A", "%0A"));
  const { key } = emptyDraft();
  return {
    key: form.get("key") ?? key,
    title: form.get("title") ?? "",
    body: (form.get("before") ?? "") + (form.get("body") ?? ""),
    problem: null,
  };
}

/** A conversation's number as it stands in an address; 0 is none's. */
function wholeNumber(text: string | undefined): number {
  return /^[1-9]\d{0,8}$/.test(text ?? "") ? Number(text) : 0;
}

/** Where a mandate is at home; 0 when there is none of this id. */
function numberOf(ledger: Ledger, mandateId: string): Promise<number> {
  return ledger.read(async (sql) => {
    const mandate = await findMandate(sql, mandateId);
    if (mandate === undefined) return 0;
    return (await conversationOf(sql, mandate.conversationId)).number;
  });
}

function refusalWords({ seen, wanted }: WriteRefusal): string {
  return `Nothing was written: ${seen}, but it must be ${wanted}.`;
}

function assetRoutes(): Route[] {
  const script = readFileSync(new URL("page.js", import.meta.url));
  const style = readFileSync(new URL("page.css", import.meta.url));
  return [
    get("/page.js", () => asset("text/javascript; charset=utf-8", script)),
    get("/page.css", () => asset("text/css; charset=utf-8", style)),
  ];
}

function asset(type: string, body: Buffer): HttpAnswer {
  return { status: 200, headers: { "content-type": type }, body };
}

function problemPage(problem: HttpProblem, log: Log): HttpAnswer {
  const home = html`<a href="/">Go to the dashboard</a>`;
  switch (problem.status) {
    case 404:
      return problemAnswer(404, { title: "Not here", words: "There is no such page.", way: home });
    case 405: {
      const words = "This address takes no such request.";
      const answer = problemAnswer(405, { title: "Not like this", words, way: home });
      return { ...answer, headers: { ...answer.headers, allow: problem.allow } };
    }
    case 408: {
      const words = "The request did not arrive in time.";
      return problemAnswer(408, { title: "Too slow", words, way: "Go back and try again." });
    }
    case 413: {
      const words = "What was sent is larger than anything Holdfast takes.";
      const way = "Go back, shorten it and try again.";
      return problemAnswer(413, { title: "Too large", words, way });
    }
    case 503: {
      const words = "More is being sent at once than Holdfast has room for.";
      return problemAnswer(503, { title: "Busy", words, way: "Try again in a moment." });
    }
    case 500:
      return failurePage(problem.error, log);
  }
}

function failurePage(error: unknown, log: Log): HttpAnswer {
  const id = randomUUID().slice(0, 8);
  if (error instanceof Failure && error.code === "persistence-unavailable") {
    log.warn({ id, error }, "the ledger cannot be written");
    return problemAnswer(503, {
      title: "Nothing was written",
      words: "The ledger cannot be written right now, for instance because the disk is full.",
      way: "Make room, go back (your text is still in its box) and send it again.",
    });
  }
  log.error({ id, error }, "a page failed");
  return problemAnswer(500, {
    title: "This page failed",
    words: `It is our fault, not yours. The log names it as ${id}.`,
    way: html`<a href="">Try again</a> or <a href="/">go to the dashboard</a>.`,
  });
}
