// What the ledger holds, for a person at a terminal or a script (spec 7.1): `status` and `log`.
// Reads alone, so that it answers the same while no process serves the home.

import { styleText } from "node:util";
import type { Home } from "../home.ts";
import { conversationOf } from "../ledger/conversations.ts";
import { factsOf } from "../ledger/facts.ts";
import { eventsOf, evidenceOf } from "../ledger/history.ts";
import type { Sql } from "../ledger/ledger.ts";
import { findAnchor, findMandate, listMandates, mandateOf } from "../ledger/mandates.ts";
import { messagesOf } from "../ledger/outbox.ts";
import { callsOf, turnsOf } from "../ledger/turns.ts";
import { waitsOf } from "../ledger/waits.ts";
import type { MandateFacts } from "../notices/facts.ts";
import { pastText, type Past } from "../notices/past.ts";
import {
  failed,
  jsonOf,
  mandateText,
  said,
  summaryOf,
  type Complaint,
  type Ending,
} from "../notices/terminal.ts";

const listLimit = 1_000;
const endedLimit = 5;

interface Shown {
  readonly facts: MandateFacts;
  readonly number: number;
}

/** The mandates of the installation, unfinished ones first, or the one of `id`. */
export async function showStatus(
  home: Home,
  asked: { id: string | undefined; json: boolean },
): Promise<Ending> {
  const { id, json } = asked;
  const list = await home.ledger.read(async (sql) => {
    const rows =
      id === undefined
        ? await listMandates(sql, { limit: listLimit })
        : [await findMandate(sql, id)].filter((row) => row !== undefined);
    const shown: Shown[] = [];
    for (const row of rows) shown.push(await shownOf(sql, row.id));
    return shown;
  });
  if (id !== undefined && list.length === 0) return unknownMandate(id);
  if (json) return said(jsonOf(list.map(({ facts, number }) => summaryOf(facts, number))));
  return said(statusWords(home, list));
}

function statusWords(home: Home, list: readonly Shown[]): string {
  const unfinished = list.filter(({ facts }) => facts.endedAt === null);
  const ended = list.filter(({ facts }) => facts.endedAt !== null);
  const shown = [...unfinished, ...ended.slice(0, endedLimit)];
  const hidden = ended.length - endedLimit;
  return [
    ...(list.length === 0 ? ["Nothing was asked yet. `holdfast comment --help` shows how."] : []),
    ...shown.map(({ facts, number }) => headed(mandateText(facts, number))),
    ...(hidden > 0 ? [`${hidden} more have ended; --json lists them too.`] : []),
    ...(home.holder === null && unfinished.length > 0 ? [notServed] : []),
  ].join("\n\n");
}

const notServed =
  "No process serves this home, so nothing moves on: start one with `holdfast local <repository>`.";

/** Everything about one mandate: its words, turns, calls, evidence, receipts, waits, notices and events. */
export async function showLog(home: Home, asked: { id: string; json: boolean }): Promise<Ending> {
  const { id, json } = asked;
  const past = await home.ledger.read((sql) => pastOf(sql, id));
  if (past === null) return unknownMandate(id);
  if (!json) return said(headed(pastText(past)));
  const { facts, number, ...rest } = past;
  return said(jsonOf({ ...facts, ...summaryOf(facts, number), ...rest }));
}

async function pastOf(sql: Sql, id: string): Promise<Past | null> {
  if ((await findMandate(sql, id)) === undefined) return null;
  const turns: Past["turns"][number][] = [];
  for (const turn of await turnsOf(sql, id)) {
    turns.push({ ...turn, calls: await callsOf(sql, turn.id) });
  }
  return {
    ...(await shownOf(sql, id)),
    anchor: (await findAnchor(sql, id)) ?? null,
    turns,
    evidence: await evidenceOf(sql, id),
    waits: await waitsOf(sql, id),
    notices: await messagesOf(sql, id),
    events: await eventsOf(sql, id),
  };
}

async function shownOf(sql: Sql, id: string): Promise<Shown> {
  const { conversationId } = await mandateOf(sql, id);
  const { number } = await conversationOf(sql, conversationId);
  return { facts: await factsOf(sql, id, { recordUrl: () => null }), number };
}

export function unknownMandate(id: string): Complaint {
  return failed(
    `There is no mandate ${id} here.`,
    "this home's ledger does not know it",
    "`holdfast status` lists the mandates; HOLDFAST_HOME chooses another home",
  );
}

function headed(text: string): string {
  const [head = "", ...rest] = text.split("\n");
  return [styleText("bold", head), ...rest].join("\n");
}
