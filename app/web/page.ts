// What every page shares (spec 7.4): its frame, how an instant is shown, and how a problem looks.
// Knows no mandate and reads nothing.

import type { HttpAnswer } from "../http.ts";
import type { Shown } from "../ledger/facts.ts";
import { momentIn } from "../notices/facts.ts";
import { html, markupOf, type Html, type HtmlValue } from "./html.ts";

/** What pages are made from beside the ledger. */
export interface View {
  readonly now: number;
  readonly timeZone: string;
  /** The one that is shown; null: all of them, whose conversations are at their forges. */
  readonly repository: { readonly id: string; readonly name: string } | null;
  readonly mention: string;
  /** The ledger's state before the page was read from it. */
  readonly revision: string;
}

export interface Page {
  readonly title: string;
  readonly body: HtmlValue;
  readonly status?: number;
}

/** Where a conversation can be read: on our own page, or on its forge. */
export function conversationHref(
  view: View,
  { number, url }: { readonly number: number; readonly url: string },
): string {
  if (view.repository !== null) return `/c/${number}`;
  return /^https?:/.test(url) ? url.replace(/#.*$/s, "") : "/";
}

/** A page in its frame; `redact` sees all of it. */
export function pageAnswer(
  view: View,
  { title, body, status = 200 }: Page,
  redact: (text: string) => string,
): HttpAnswer {
  const name = view.repository?.name ?? "all repositories";
  const newIssue = html`<a class="button primary" href="/new">New issue</a>`;
  const frame = html`
    <a class="skip" href="#main">To the content</a>
    <header class="top">
      <a class="brand" href="/">Holdfast</a>
      <span class="repository">${name}</span>
      <nav aria-label="Pages">
        <span class="live" id="live" role="status"></span>
        <a href="/health">Health</a>
        ${view.repository === null ? null : newIssue}
      </nav>
    </header>
    <main id="main" data-revision="${view.revision}">${body}</main>
  `;
  return document(status, redact(markupOf(framed(`${title} · ${name} · Holdfast`, frame))));
}

/** A small page for what went wrong: what happened, and what to do about it. */
export function problemAnswer(
  status: number,
  { title, words, way }: { title: string; words: string; way: HtmlValue },
): HttpAnswer {
  const frame = html`<header class="top"><a class="brand" href="/">Holdfast</a></header>
    <main id="main" class="narrow problem">
      <h1>${title}</h1>
      <p>${words}</p>
      <p>${way}</p>
    </main>`;
  return document(status, markupOf(framed(`${title} · Holdfast`, frame)));
}

function document(status: number, body: string): HttpAnswer {
  return { status, headers: { "content-type": "text/html; charset=utf-8" }, body };
}

function framed(title: string, frame: Html): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/page.css" />
        <script src="/page.js" type="module"></script>
      </head>
      <body>
        ${frame}
      </body>
    </html>`;
}

export function seeOther(location: string): HttpAnswer {
  return { status: 303, headers: { location }, body: "" };
}

const units = [
  { name: "d", seconds: 86_400 },
  { name: "h", seconds: 3_600 },
  { name: "m", seconds: 60 },
  { name: "s", seconds: 1 },
] as const;

/** Time left until an instant, counted down by page.js; the full instant is its tooltip. */
export function until(at: number, view: View): Html {
  const seconds = Math.round((at - view.now) / 1_000);
  return time(at, { view, mode: "until", text: seconds <= 0 ? "now" : `in ${span(seconds, 2)}` });
}

/** How long ago something was, kept up to date by page.js. */
export function since(at: number, view: View): Html {
  const seconds = Math.round((view.now - at) / 1_000);
  const text = seconds < 60 ? "just now" : `${span(seconds, 1)} ago`;
  return time(at, { view, mode: "since", text });
}

/** `2h 5m`: the largest units that are not zero, at most so many; page.js says it alike. */
export function span(seconds: number, count: number): string {
  let rest = Math.max(0, seconds);
  const parts = units.map(({ name, seconds: size }) => {
    const amount = Math.floor(rest / size);
    rest -= amount * size;
    return { text: `${amount}${name}`, amount };
  });
  const first = parts.findIndex(({ amount }) => amount > 0);
  if (first === -1) return "0s";
  const shown = parts.slice(first, first + count).filter(({ amount }) => amount > 0);
  return shown.map(({ text }) => text).join(" ");
}

/** The instant itself, in the installation's zone. */
export function instant(at: number, view: View): Html {
  return time(at, { view, mode: "at", text: shortMoment(at, view) });
}

function time(at: number, shown: { view: View; mode: string; text: string }): Html {
  const iso = new Date(at).toISOString();
  const whole = momentIn(at, shown.view.timeZone);
  return html`<time datetime="${iso}" data-time="${shown.mode}" title="${whole}"
    >${shown.text}</time
  >`;
}

function shortMoment(at: number, { timeZone }: View): string {
  return new Intl.DateTimeFormat("en-GB", {
    timeZone,
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
  }).format(at);
}

/** How facts are shown on pages: records by their own path. */
export const pageLinks: Shown = { recordUrl: (id) => `/m/${id}` };
