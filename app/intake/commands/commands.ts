// Carries out the commands of one comment (spec 1.3, 1.4): all were parsed first; then all run in order, or none does.
// Runs inside the transaction that marks the delivery handled.

import { isAtLeast } from "../../../policies/authority.ts";
import type { Command, ParsedComment } from "../../../policies/commands/commands.ts";
import { commandTable } from "../../../policies/commands/commands.ts";
import { permissionFor } from "../../../policies/policy-file.ts";
import { hashOf } from "../../host.ts";
import { claimIdentity } from "../../ledger/incoming/deliveries.ts";
import type { Tx } from "../../ledger/ledger.ts";
import { answerNotice } from "../../notices/answers.ts";
import { refusalNotice, type Refusal } from "../../notices/refusal.ts";
import type { Accepted } from "../texts.ts";
import { answer, answerAgain, helpText, refuseOnce, statusText } from "./answers.ts";
import { control } from "./controls.ts";
import { findAsking, request } from "./requests.ts";

/** What one command led to: a mandate it is about, and a text for the person, or nothing to say. */
export interface Outcome {
  readonly mandateId: string | null;
  readonly say: string | null;
}

export async function carryOut(
  tx: Tx,
  accepted: Accepted,
  parsed: ParsedComment | null,
): Promise<string> {
  const { host } = accepted;
  if (parsed === null) return refuseStranger(tx, accepted);
  if (parsed.errors.length > 0) {
    const body = refusalNotice({ kind: "unparsable", errors: parsed.errors }, host.mention);
    await answer(tx, accepted, { name: "errors", body });
    return "unparsable";
  }
  const refused = parsed.commands.map((command) => forbidden(accepted, command)).find(isRefusal);
  if (refused !== undefined) {
    await refuseOnce(tx, accepted, refusalNotice(refused, host.mention));
    return "not-permitted";
  }
  const texts: string[] = [];
  for (const [index, command] of (await readAsCommands(tx, accepted, parsed)).entries()) {
    const text = await carryOutOne(tx, accepted, { command, index });
    if (text !== null) texts.push(text);
  }
  if (parsed.notes.length > 0) {
    texts.push(answerNotice({ kind: "noted", notes: parsed.notes }, host.mention));
  }
  if (texts.length > 0) await answer(tx, accepted, { name: "commands", body: texts.join("\n\n") });
  return parsed.commands.length > 0 ? "commands" : "no-command";
}

/** A mention inside a line is an answer where exactly one mandate asks a person, and nothing otherwise (1.3). */
async function readAsCommands(
  tx: Tx,
  accepted: Accepted,
  parsed: ParsedComment,
): Promise<readonly Command[]> {
  if (parsed.commands.length > 0 || parsed.mention === null) return parsed.commands;
  const asking = await findAsking(tx, accepted.conversation.id);
  const [only] = asking;
  if (only === undefined || asking.length > 1) return [];
  const reply: Command = {
    name: "reply",
    args: { id: only.id },
    line: 1,
    text: parsed.mention,
    needs: "write",
  };
  return forbidden(accepted, reply) === null ? [reply] : [];
}

/** Somebody with no right at all is not even parsed. */
async function refuseStranger(tx: Tx, accepted: Accepted): Promise<string> {
  const refusal: Refusal = {
    kind: "not-permitted",
    keyword: "do",
    needs: "write",
    has: accepted.level,
  };
  await refuseOnce(tx, accepted, refusalNotice(refusal, accepted.host.mention));
  return "not-permitted";
}

function isRefusal(refusal: Refusal | null): refusal is Refusal {
  return refusal !== null;
}

function forbidden(accepted: Accepted, command: Command): Refusal | null {
  const { level, users } = permissionFor(command, accepted.policy);
  const isNamed = users === null || users.includes(Number(accepted.author.id));
  if (isNamed && isAtLeast(accepted.level, level)) return null;
  return { kind: "not-permitted", keyword: command.name, needs: level, has: accepted.level };
}

async function carryOutOne(
  tx: Tx,
  accepted: Accepted,
  { command, index }: { command: Command; index: number },
): Promise<string | null> {
  const { identity, conversation, delivery, author } = accepted;
  const outcome = await dispatch(tx, accepted, command);
  const isNew = await claimIdentity(tx, {
    identity: `${identity} ${index}`,
    textIdentity: identity,
    deliveryId: delivery.id,
    conversationId: conversation.id,
    name: command.name,
    mandateId: outcome.mandateId,
    bodyHash: hashOf(accepted.text.body),
    commandHash: commandHash(command),
    byId: author.id,
  });
  // Two deliveries of one text cannot both come this far: the second saw it as known.
  if (!isNew) throw new Error(`command ${identity} ${index} was taken before`);
  return outcome.say;
}

/** What a command says, wherever in the comment it stands. */
export function commandHash({ name, args, text }: Command): string {
  return hashOf(JSON.stringify([name, args, text]));
}

async function dispatch(tx: Tx, accepted: Accepted, command: Command): Promise<Outcome> {
  const { host } = accepted;
  const isKnown = commandTable.some((row) => row.keyword === command.name && row.inVersion);
  if (!isKnown) {
    const say = refusalNotice({ kind: "not-in-version", keyword: command.name }, host.mention);
    return { mandateId: null, say };
  }
  switch (command.name) {
    case "do":
    case "run":
    case "retry":
      return request(tx, accepted, command);
    case "status": {
      const body = await statusText(tx, accepted, command.args.id);
      await answerAgain(tx, accepted, { name: "status", body });
      return { mandateId: null, say: null };
    }
    case "help":
      await answerAgain(tx, accepted, { name: "help", body: helpText(accepted) });
      return { mandateId: null, say: null };
    case "reply":
    case "stop":
    case "pause":
    case "resume":
    case "continue":
    case "extend":
    case "check":
    case "recover":
      return control(tx, accepted, command);
    case "wait":
    case "review":
    case "rebut":
    case "strategy":
    case "restart":
      return { mandateId: null, say: null };
  }
}
