// Health (spec 7.4): queues, lag, processes, forges and what could not be delivered, and two probes for other
// programs. A probe tells that something is wrong, never what is in the ledger.

import type { HttpAnswer } from "../http.ts";
import { listRepositories, type RepositoryRow } from "../ledger/conversations.ts";
import { healthOf, proveWritable, type Health } from "../ledger/facts.ts";
import { isSilent, listConnections, type ConnectionRow } from "../ledger/incoming/connections.ts";
import type { Ledger, Sql } from "../ledger/ledger.ts";
import { isMissed, listProcesses, type ProcessRow } from "../ledger/shared/processes.ts";
import type { Log } from "../log.ts";
import type { RedisState } from "../scheduler/bullmq/driver.ts";
import { html, type Html, type HtmlValue } from "./html.ts";
import { since, type Page, type View } from "./page.ts";

const lateMs = 30_000;

interface Line {
  readonly name: string;
  readonly value: HtmlValue;
  readonly isGood: boolean;
}

/** `held` is what `ready` would say. */
export async function healthPage(
  sql: Sql,
  view: View,
  { held, redis }: { held: string | null; redis: RedisState | null },
): Promise<Page> {
  const connections = await listConnections(sql);
  const lines = [
    ledgerLine(held !== "persistence-unavailable"),
    ...linesOf(await healthOf(sql), view),
    ...(held === "forge-unreachable" ? [unreachable] : []),
    ...(redis === null ? [] : [redisLine(redis)]),
    ...(await listProcesses(sql)).map((row) => processLine(row, view)),
    ...connections.map((row) => connectionLine(row, view)),
    ...reachLines(await listRepositories(sql)),
  ];
  const isGood = lines.every((line) => line.isGood);
  const state = isGood
    ? html`<span class="badge completed">Good</span> Everything that waits has what moves it on.`
    : html`<span class="badge blocked">Needs a look</span> Run <code>holdfast doctor</code> to see
        what to do.`;
  const body = html`<div class="narrow">
    <h1>Health</h1>
    <div id="health" data-live>
      <p class="state" role="status">${state}</p>
      <dl class="facts grid">${lines.map(linePart)}</dl>
    </div>
  </div>`;
  return { title: "Health", body };
}

/** Without writes nothing moves on, however good the rest looks (2.1: `persistence-unavailable`). */
function ledgerLine(isGood: boolean): Line {
  const value = isGood
    ? "takes writes"
    : "cannot be written (disk full or read-only?): everything is held until it can";
  return { name: "Ledger", value, isGood };
}

function redisLine(state: RedisState): Line {
  const values = {
    ready: "takes hints",
    away: "does not answer: work goes on without its hints, a few seconds later",
    refused: "must not be used as it is set up: work goes on without its hints",
  };
  return { name: "Redis", value: values[state], isGood: state === "ready" };
}

function linePart({ name, value, isGood }: Line): Html {
  return html`<dt>${name}</dt>
    <dd class="${isGood ? "good" : "bad"}">${value}</dd>`;
}

function linesOf(health: Health, view: View): Line[] {
  const { running, queued, waits, undelivered, overdueAt, deliveryAt, messageAt } = health;
  return [
    { name: "Turns running", value: running, isGood: true },
    { name: "Entries waiting for a turn", value: queued, isGood: true },
    { name: "Waits armed", value: waits, isGood: true },
    lagLine("Oldest mandate overdue for its look", overdueAt, view),
    lagLine("Oldest comment not taken in yet", deliveryAt, view),
    lagLine("Oldest message in the outbox", messageAt, view),
    { name: "Messages that could not be delivered", value: undelivered, isGood: undelivered === 0 },
  ];
}

const unreachable: Line = {
  name: "Forge",
  value: "does not answer: webhooks are kept, and what they ask for is done when it does",
  isGood: false,
};

function connectionLine({ name, ...row }: ConnectionRow, view: View): Line {
  const { lastDeliveryAt, sweptAt, recovered } = row;
  const value = html`last delivery ${moment(lastDeliveryAt, view)}, last sweep
  ${moment(sweptAt, view)}, ${recovered} recovered`;
  return { name: `Connection ${name}`, value, isGood: !isSilent(sweptAt, view.now) };
}

function processLine({ kind, id, ...row }: ProcessRow, view: View): Line {
  const { version, slots, seenAt } = row;
  const value = html`${version}, ${slots} at a time, last seen ${since(seenAt, view)}`;
  const name = kind === "server" ? "Server" : "Worker";
  return { name: `${name} ${id}`, value, isGood: !isMissed(row, view.now) };
}

function moment(at: number | null, view: View): HtmlValue {
  return at === null ? "never" : since(at, view);
}

/** One that was taken away from us is somebody's decision, no fault. */
function reachLines(rows: readonly RepositoryRow[]): Line[] {
  const suspended = rows.filter(({ reach }) => reach === "suspended").map(({ name }) => name);
  const gone = rows.filter(({ reach }) => reach === "gone").map(({ name }) => name);
  return [
    { name: "Repositories suspended", value: suspended.join(", "), isGood: false },
    { name: "Repositories gone", value: gone.join(", "), isGood: true },
  ].filter(({ value }) => value !== "");
}

/** What is due only later is no lag. */
function lagLine(name: string, at: number | null, view: View): Line {
  if (at === null || at > view.now) return { name, value: "none", isGood: true };
  return { name, value: since(at, view), isGood: at > view.now - lateMs };
}

/** The process answers. */
export function alive(): HttpAnswer {
  return { status: 200, headers: { "content-type": "text/plain" }, body: "ok\n" };
}

export function ready(held: string | null): HttpAnswer {
  const headers = { "content-type": "text/plain" };
  if (held === null) return { status: 200, headers, body: "ready\n" };
  return { status: 503, headers, body: `${held}\n` };
}

/** Null where the ledger takes writes and nothing else holds; else the reason code of what does. */
export async function whatHolds(
  ledger: Ledger,
  { log, isHeld }: { log: Log; isHeld: () => Promise<string | null> },
): Promise<string | null> {
  return (await takesWrites(ledger, log)) ? isHeld() : "persistence-unavailable";
}

/** Tried, not guessed; why it does not is for the log. */
async function takesWrites(ledger: Ledger, log: Log): Promise<boolean> {
  try {
    await ledger.write(proveWritable);
    return true;
  } catch (error) {
    log.warn({ error }, "the ledger cannot be written");
    return false;
  }
}
