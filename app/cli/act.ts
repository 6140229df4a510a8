// Commands that write (spec 7.1, 8.2): each is one transaction under a key, and what it causes is done by the process
// that serves the home. Nothing here changes a mandate; only a hold on the whole installation is laid at once.

import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { formsOf, type Keyword } from "../../policies/commands/commands.ts";
import { parseComment } from "../../policies/commands/comment.ts";
import { openIssue, writeComment, type WriteRefusal } from "../forge/local-writing.ts";
import { operator } from "../forge/operator.ts";
import type { Home } from "../home.ts";
import { conversationOf, repositoryOf } from "../ledger/conversations.ts";
import { addHold, liftHold, record } from "../ledger/history.ts";
import { addDelivery, findDelivery, takenCommands } from "../ledger/incoming/deliveries.ts";
import type { Sql } from "../ledger/ledger.ts";
import { findMandate, listMandates, refreshLook } from "../ledger/mandates.ts";
import { findMessage, touchStatus } from "../ledger/outbox.ts";
import { failed, lineOf, misused, printable, said, type Ending } from "../notices/terminal.ts";
import type { Settings } from "../settings.ts";
import { chooseRepository } from "./repository.ts";
import { unknownMandate } from "./show.ts";

const patienceMs = 5_000;
const pollMs = 50;
const titleLimit = 200;
const later =
  "It is recorded, and takes effect when a process serves this home: `holdfast local <repository>` or `holdfast start`.";

export interface Words {
  /** `#12`, `12`, or `new` for an issue. */
  readonly conversation: string;
  readonly text: string;
  readonly title: string | undefined;
  readonly repo: string | undefined;
  readonly key: string | undefined;
}

/** Writes a comment on the local forge, or opens an issue whose body it is. */
export async function comment(home: Home, words: Words): Promise<Ending> {
  const chosen = await home.ledger.read((sql) => chooseRepository(sql, words.repo));
  if (!chosen.ok) return chosen;
  const isNew = words.conversation === "new";
  const number = Number(/^#?([1-9]\d{0,8})$/.exec(words.conversation)?.[1]);
  if (!isNew && Number.isNaN(number)) {
    const why = `${lineOf(words.conversation)} is neither a number nor \`new\``;
    return misused("No comment was written.", why, "write `#12`, `12`, or `new` to open an issue");
  }
  const about = {
    repositoryId: chosen.repository.id,
    author: operator(),
    requestKey: words.key ?? randomUUID(),
    body: words.text,
  };
  const { ledger } = home;
  const written = isNew
    ? await openIssue(ledger, { ...about, title: words.title ?? firstLine(words.text) })
    : await writeComment(ledger, { ...about, number });
  if (!written.ok) return unwritten(written);
  const part = "commentId" in written ? `comment ${String(written.commentId)}` : "opened";
  const when = home.holder === null ? `\n${later}` : "";
  return said(`#${written.number} ${part}${when}`);
}

/** Titles are no commands, so the body keeps this line too (1.4). */
function firstLine(text: string): string {
  return lineOf(text.trim().split("\n")[0] ?? "", titleLimit);
}

function unwritten({ seen, wanted }: WriteRefusal): Ending {
  return failed("Nothing was written.", `this was given: ${seen}`, `give ${wanted}`);
}

export interface Order {
  readonly keyword: Keyword;
  readonly id: string;
  /** What follows the id: a duration or ceilings. */
  readonly rest: readonly string[];
  readonly key: string | undefined;
}

/** Gives a command about one mandate, as the operator, and waits for its answer while a process serves the home. */
export async function command(home: Home, settings: Settings, order: Order): Promise<Ending> {
  const line = [order.keyword, order.id, ...order.rest].join(" ");
  const misfit = unfit(line, order.keyword, settings.mention);
  if (misfit !== null) return misfit;
  const mandate = await home.ledger.read((sql) => findMandate(sql, order.id.toLowerCase()));
  if (mandate === undefined) return unknownMandate(lineOf(order.id));
  const guid = `operator:${order.key ?? randomUUID()}`;
  const { ledger } = home;
  const given = await ledger.write(async (tx) => {
    const { repositoryId, number } = await conversationOf(tx, mandate.conversationId);
    const { connection, forgeId } = await repositoryOf(tx, repositoryId);
    const byName = operator().name;
    const payload = {
      kind: "operator",
      connection,
      forgeId,
      number,
      command: line,
      byName,
    } as const;
    const isNew = await addDelivery(tx, { connection, guid, payload });
    const earlier = isNew ? undefined : (await findDelivery(tx, connection, guid))?.payload;
    const isOther = earlier?.kind === "operator" && earlier.command !== line;
    const { conversationId } = mandate;
    return isOther ? null : { connection, guid, forgeId, conversationId };
  });
  if (given === null) {
    const why = "another command was given under this key before";
    return misused("Nothing was done.", why, "leave --key out, or use a new one");
  }
  return answerTo(home, given);
}

/** The grammar is the one of comments; here a wrong form is told before anything is recorded. */
function unfit(line: string, keyword: Keyword, mention: string): Ending | null {
  const { commands, errors } = parseComment(`@${mention} ${line}`, { mention });
  const [only] = commands;
  const isOneLine = !/[\r\n]/.test(line);
  if (isOneLine && commands.length === 1 && only?.name === keyword) return null;
  const why = errors[0]?.problem ?? "it cannot be read as this command";
  const forms = formsOf(keyword, mention).replaceAll(`@${mention}`, "holdfast");
  return misused("Nothing was done.", printable(why), `write ${forms}`);
}

interface Given {
  readonly connection: string;
  readonly guid: string;
  readonly forgeId: string;
  readonly conversationId: string;
}

async function answerTo(home: Home, given: Given): Promise<Ending> {
  const giveUpAt = home.ledger.now() + patienceMs;
  for (;;) {
    const answer = await home.ledger.read((sql) => findAnswer(sql, given));
    if (answer !== null) return answer;
    if (home.holder === null) return said(later);
    if (home.ledger.now() >= giveUpAt) {
      return said(
        "It is recorded; the serving process has not answered yet. `holdfast status` shows what came of it.",
      );
    }
    await pause(pollMs);
  }
}

/** The answer stands in the outbox under the delivery's own key; null while nobody has handled it. */
async function findAnswer(sql: Sql, given: Given): Promise<Ending | null> {
  const { connection, guid, forgeId, conversationId } = given;
  const delivery = await findDelivery(sql, connection, guid);
  if (delivery === undefined || delivery.handledAt === null) return null;
  const identity = `${connection} ${forgeId} operator ${guid}`;
  const [taken] = await takenCommands(sql, identity);
  const isDone = taken !== undefined && taken.mandateId !== null;
  for (const name of ["commands", "errors", "unreadable"]) {
    const message = await findMessage(sql, `answer ${conversationId} ${identity} ${name}`);
    const { body } = (message?.payload ?? {}) as { body?: string };
    if (body !== undefined) return said(printable(body), isDone ? 0 : 1);
  }
  return said(isDone ? "Done." : `Nothing was done (${delivery.outcome}).`, isDone ? 0 : 1);
}

/** Lays or lifts the hold on the whole installation (1.3): deadlines go on, nothing else does. */
export async function holdAll(
  home: Home,
  settings: Settings,
  keyword: "pause" | "resume",
): Promise<Ending> {
  const byName = operator().name;
  const hold = { scope: "installation", subject: "all" } as const;
  const isPause = keyword === "pause";
  const count = await home.ledger.write(async (tx) => {
    const isChanged = isPause
      ? await addHold(tx, { ...hold, reason: "paused", byName })
      : await liftHold(tx, hold.scope, hold.subject);
    if (!isChanged) return null;
    const held = await listMandates(tx, { unfinished: true, limit: Number.MAX_SAFE_INTEGER });
    for (const mandate of held) {
      await refreshLook(tx, mandate.id);
      const facts = { scope: hold.scope, by: byName };
      await record(tx, isPause ? "paused" : "resumed", { mandateId: mandate.id, facts });
      await touchStatus(tx, mandate, settings.timing.statusThrottleMs);
    }
    return held.length;
  });
  if (count === null) return said(isPause ? "It is paused already." : "There was no such pause.");
  return said(isPause ? pausedWords(count) : `The pause of ${unfinished(count)} has ended.`);
}

function pausedWords(count: number): string {
  return [
    `The whole installation is paused, with ${unfinished(count)}: no turn, check or publishing starts.`,
    "Deadlines go on. `holdfast resume --all` ends the pause.",
  ].join("\n");
}

function unfinished(count: number): string {
  return count === 1 ? "1 unfinished mandate" : `${count} unfinished mandates`;
}
