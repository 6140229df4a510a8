// What the ledger holds, for a person at a terminal or a script (spec 7.1): `status` and `log`.
// Reads alone, so that it answers the same while no process serves the home.

import { styleText } from "node:util";
import type { Home } from "../home.ts";
import { conversationOf, listRepositories } from "../ledger/conversations.ts";
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
  /** `#12`, or `owner/name#12` where the home has several repositories. */
  readonly conversation: string;
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
    const names = await namesOf(sql);
    const shown: Shown[] = [];
    for (const row of rows) shown.push(await shownOf(sql, row.id, names));
    return shown;
  });
  if (id !== undefined && list.length === 0) return unknownMandate(id);
  if (json) {
    return said(jsonOf(list.map(({ facts, conversation }) => summaryOf(facts, conversation))));
  }
  return said(statusWords(home, list));
}

function statusWords(home: Home, list: readonly Shown[]): string {
  const unfinished = list.filter(({ facts }) => facts.endedAt === null);
  const ended = list.filter(({ facts }) => facts.endedAt !== null);
  const shown = [...unfinished, ...ended.slice(0, endedLimit)];
  const hidden = ended.length - endedLimit;
  return [
    ...(list.length === 0 ? ["Nothing was asked yet. `holdfast comment --help` shows how."] : []),
    ...shown.map(({ facts, conversation }) => headed(mandateText(facts, conversation))),
    ...(hidden > 0 ? [`${hidden} more have ended; --json lists them too.`] : []),
    ...(home.holder === null && unfinished.length > 0 ? [notServed] : []),
  ].join("\n\n");
}

const notServed =
  "No process serves this home, so nothing moves on: `holdfast local <repository>` or `holdfast start` does.";

/** Everything about one mandate: its words, turns, calls, evidence, receipts, waits, notices and events. */
export async function showLog(home: Home, asked: { id: string; json: boolean }): Promise<Ending> {
  const { id, json } = asked;
  const past = await home.ledger.read((sql) => pastOf(sql, id));
  if (past === null) return unknownMandate(id);
  if (!json) return said(headed(pastText(past)));
  const { facts, conversation, ...rest } = past;
  return said(jsonOf({ ...facts, ...summaryOf(facts, conversation), ...rest }));
}

async function pastOf(sql: Sql, id: string): Promise<Past | null> {
  if ((await findMandate(sql, id)) === undefined) return null;
  const turns: Past["turns"][number][] = [];
  for (const turn of await turnsOf(sql, id)) {
    turns.push({ ...turn, calls: await callsOf(sql, turn.id) });
  }
  return {
    ...(await shownOf(sql, id, await namesOf(sql))),
    anchor: (await findAnchor(sql, id)) ?? null,
    turns,
    evidence: await evidenceOf(sql, id),
    waits: await waitsOf(sql, id),
    notices: await messagesOf(sql, id),
    events: await eventsOf(sql, id),
  };
}

/** What stands before `#12`, by repository. */
async function namesOf(sql: Sql): Promise<ReadonlyMap<string, string>> {
  const known = await listRepositories(sql);
  return new Map(known.map(({ id, name }) => [id, known.length > 1 ? name : ""]));
}

async function shownOf(sql: Sql, id: string, names: ReadonlyMap<string, string>): Promise<Shown> {
  const { conversationId } = await mandateOf(sql, id);
  const { number, repositoryId } = await conversationOf(sql, conversationId);
  const conversation = `${names.get(repositoryId) ?? ""}#${number}`;
  return { facts: await factsOf(sql, id, { recordUrl: () => null }), conversation };
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
