// What a comment is answered with (spec 1.4, 1.5, 6.3): collected over all its commands, posted as one comment, and
// kept within limits, so that nobody can make the bot talk without end.

import { isAtLeast } from "../../../policies/authority.ts";
import { commandTable } from "../../../policies/commands/commands.ts";
import { dayMs, hourMs } from "../../../policies/durations.ts";
import { permissionFor } from "../../../policies/policy-file.ts";
import { operatorId } from "../../forge/permission.ts";
import { factsOfEach } from "../../ledger/facts.ts";
import type { Tx } from "../../ledger/ledger.ts";
import { mandatesIn } from "../../ledger/mandates.ts";
import { countMessages, post, repost } from "../../ledger/outbox.ts";
import { helpNotice } from "../../notices/help.ts";
import { refusalNotice } from "../../notices/refusal.ts";
import { statusAnswer } from "../../notices/status.ts";
import type { Accepted } from "../texts.ts";

/** Refusals, hints and answers per conversation and hour; then one last word and silence. */
const answersLimit = 20;

/** One answer to a comment; `name` tells it apart from other answers to the same comment. */
export async function answer(
  tx: Tx,
  accepted: Accepted,
  told: { name: string; body: string },
): Promise<void> {
  if (!(await mayAnswer(tx, accepted))) return;
  const { conversation, identity } = accepted;
  await post(tx, {
    key: `answer ${conversation.id} ${identity} ${told.name}`,
    conversationId: conversation.id,
    mandateId: null,
    kind: "tell",
    payload: { body: told.body },
  });
}

/** The same question within an hour draws the earlier answer anew instead of writing another. */
export async function answerAgain(
  tx: Tx,
  accepted: Accepted,
  told: { name: "status" | "help"; body: string },
): Promise<void> {
  const { conversation, author } = accepted;
  const prefix = `answer ${conversation.id} ${told.name} ${author.id} `;
  const earlier = { conversationId: conversation.id, prefix, since: tx.now - hourMs };
  if (await repost(tx, earlier, { body: told.body })) return;
  // Once an hour and person: who asks what is going on is never left without a word.
  await post(tx, {
    key: `${prefix}${accepted.identity}`,
    conversationId: conversation.id,
    mandateId: null,
    kind: "tell",
    payload: { body: told.body },
  });
}

async function mayAnswer(tx: Tx, { conversation, host, author }: Accepted): Promise<boolean> {
  // The operator reads the answer in the terminal, and floods nobody.
  if (author.id === operatorId) return true;
  let count = 0;
  for (const kind of ["answer", "refusal"]) {
    const prefix = `${kind} ${conversation.id} `;
    const posted = { conversationId: conversation.id, prefix, since: tx.now - hourMs };
    count += await countMessages(tx, posted);
  }
  if (count < answersLimit) return true;
  await post(tx, {
    key: `answer ${conversation.id} muted ${Math.floor(tx.now / hourMs)}`,
    conversationId: conversation.id,
    mandateId: null,
    kind: "tell",
    payload: { body: refusalNotice({ kind: "muted", limit: answersLimit }, host.mention) },
  });
  return false;
}

/** Who has no right gets one short answer per conversation and day, and nothing of the request is used (1.5). */
export async function refuseOnce(tx: Tx, accepted: Accepted, body: string): Promise<void> {
  if (!(await mayAnswer(tx, accepted))) return;
  const { conversation, author } = accepted;
  await post(tx, {
    key: `refusal ${conversation.id} ${author.id} ${Math.floor(tx.now / dayMs)}`,
    conversationId: conversation.id,
    mandateId: null,
    kind: "tell",
    payload: { body },
  });
}

export async function statusText(tx: Tx, accepted: Accepted, id: string | null): Promise<string> {
  const mandates = await mandatesIn(tx, accepted.conversation.id, { all: id !== null });
  const wanted = id === null ? mandates : mandates.filter((mandate) => mandate.id === id);
  return statusAnswer(await factsOfEach(tx, wanted, accepted.host), accepted.host.mention);
}

export function helpText(accepted: Accepted): string {
  const { level, policy, host } = accepted;
  const allowed = commandTable.filter((row) =>
    isAtLeast(level, permissionFor({ name: row.keyword, needs: row.needs }, policy).level),
  );
  const tasks = Object.entries(policy.tasks).map(([name, task]) => ({
    name,
    inputs: Object.keys(task.inputs),
  }));
  return helpNotice(allowed, tasks, host.mention);
}
