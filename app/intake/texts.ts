// Accepting a text (spec 6.2, 1.4, 1.5): re-read it, ask for its author's right, parse once, then one transaction that
// marks the delivery handled and writes all it causes (I4).

import type { Level } from "../../policies/authority.ts";
import type { ParsedComment } from "../../policies/commands/commands.ts";
import { mayHoldCommand } from "../../policies/commands/comment.ts";
import type { EventText, ForgeEvent } from "../../policies/events.ts";
import { Failure } from "../../policies/failure.ts";
import { defaultPolicy, type PolicyFile } from "../../policies/policy-file.ts";
import type { ForgeText, Person, PullState, RepositoryRef } from "../forge/forge.ts";
import { levelOf, operatorId } from "../forge/permission.ts";
import { forgeOf, hashOf, type Host } from "../host.ts";
import {
  changeConversation,
  ensureConversation,
  findConversation,
  type ConversationRow,
  type RepositoryRow,
} from "../ledger/conversations.ts";
import {
  finishDelivery,
  nameOutcome,
  takenCommands,
  type DeliveryRow,
  type TakenCommand,
} from "../ledger/incoming/deliveries.ts";
import type { Tx } from "../ledger/ledger.ts";
import { refusalNotice } from "../notices/refusal.ts";
import { openAgain } from "../outbox/closed.ts";
import { commit } from "../turn/persist.ts";
import { answer } from "./commands/answers.ts";
import { carryOut, commandHash } from "./commands/commands.ts";
import { currentPolicy, policyKept, type PolicyNow } from "./policy.ts";
import { knownRepository } from "./repositories.ts";

/** A text that is not there yet may only lag behind its event: looked for again after 1, 2 and 4 s. */
const goneAfterTries = 3;

/** A text of a person with commands in it, and everything that was found out before anything is written. */
export interface Accepted {
  readonly host: Host;
  readonly delivery: DeliveryRow;
  readonly repository: RepositoryRow;
  readonly conversation: ConversationRow;
  /** Of the text: connection, repository, kind and id (1.4). */
  readonly identity: string;
  readonly text: {
    readonly kind: string;
    readonly id: string;
    readonly url: string;
    readonly body: string;
  };
  readonly author: Person;
  readonly level: Level;
  /** The pull request that is spoken in; null in an issue. */
  readonly pull: PullState | null;
  readonly policy: PolicyFile;
  readonly policyState: Omit<PolicyNow, "policy">;
}

/** A new or changed text: carried out, hinted at, refused, or found to be nothing to us. */
export async function acceptText(
  host: Host,
  delivery: DeliveryRow,
  event: { text: EventText; isEdit: boolean; bodyHash?: string | undefined },
): Promise<void> {
  const forge = forgeOf(host, event.text.connection);
  const text = await forge.readText(event.text);
  if (text === null) {
    // Told as a failure: what looks for it again is the same as for a forge that does not answer.
    if (delivery.attempts < goneAfterTries)
      throw new Failure("not-there-yet", "later", {
        message: "the text of a delivery is not there yet",
      });
    await finish(host, delivery, "gone");
    return;
  }
  if (text.author.id === forge.self.id) return finish(host, delivery, "own");
  if (!mayHoldCommand(text.body, host.mention)) return passOver(host, delivery, text);
  const { kind, id } = event.text;
  await accept(host, delivery, {
    ref: event.text,
    number: text.number,
    text: { kind, id, url: text.url, body: text.body },
    author: text.author,
    isEdit: event.isEdit || isChanged(text, event.bodyHash),
  });
}

/** What the signed event told is the best witness; without one, the forge's own word counts. */
function isChanged(text: ForgeText, bodyHash: string | undefined): boolean {
  return bodyHash === undefined ? text.isEdited : hashOf(text.body) !== bodyHash;
}

/** The operator speaks on the machine itself: as an admin, in the conversation of the mandate (7.1). */
export async function acceptOperator(
  host: Host,
  delivery: DeliveryRow,
  event: Extract<ForgeEvent, { kind: "operator" }>,
): Promise<void> {
  const { connection, forgeId, number, command, byName } = event;
  const body = `@${host.mention} ${command}`;
  await accept(host, delivery, {
    ref: { connection, forgeId },
    number,
    text: { kind: "operator", id: delivery.guid, url: "", body },
    author: { id: operatorId, name: byName, isBot: false },
    isEdit: false,
  });
}

/** No command for us. A person who has spoken lets a bot speak to us again (1.5). */
async function passOver(host: Host, delivery: DeliveryRow, text: ForgeText): Promise<void> {
  await commit(host, async (tx) => {
    await finishDelivery(tx, delivery.id, text.author.isBot ? "bot" : "no-command");
    if (text.author.isBot) return;
    const conversation = await findConversation(tx, { ...text.ref, number: text.number });
    if (conversation?.botHadItsTurn === 1) {
      await changeConversation(tx, conversation.id, { botHadItsTurn: 0 });
    }
  });
}

interface Said {
  readonly ref: RepositoryRef;
  readonly number: number;
  readonly text: Accepted["text"];
  readonly author: Person;
  readonly isEdit: boolean;
}

async function accept(host: Host, delivery: DeliveryRow, said: Said): Promise<void> {
  const { ref, number, author } = said;
  const repository = await knownRepository(host, ref);
  if (repository === null) return finish(host, delivery, "unknown-repository");
  const forge = forgeOf(host, repository.connection);
  const known = repository.policy ?? defaultPolicy;
  // Who has no right at all is refused before a repository is fetched for them.
  const isStranger =
    !author.isBot &&
    (await levelOf(forge, repository, { personId: author.id, policy: known })) === "none";
  const policy = isStranger ? policyKept(repository) : await currentPolicy(host, repository);
  // Other bots are dropped before they take any slot, unless the policy file names them by id (1.5).
  if (author.isBot && !policy.policy.allowBots.includes(Number(author.id))) {
    return finish(host, delivery, "bot");
  }
  const level = await levelOf(forge, repository, { personId: author.id, policy: policy.policy });
  const parsing = level === "none" ? null : await host.parse(said.text.body);
  const about = await forge.readConversation({ ...ref, number });
  const pull = about?.kind === "pull" ? await forge.readPull({ ...ref, number }) : null;
  await commit(host, async (tx) => {
    // Whoever finishes it first writes all it causes; anybody else writes nothing (I4).
    if (!(await finishDelivery(tx, delivery.id, "accepting"))) return;
    const kind = about?.kind ?? "issue";
    const conversation = await ensureConversation(tx, repository, { number, kind });
    // Somebody could write here: perhaps we can again.
    await openAgain(tx, conversation.id);
    const identity = `${ref.connection} ${ref.forgeId} ${said.text.kind} ${said.text.id}`;
    const accepted: Accepted = {
      host,
      delivery,
      repository,
      conversation,
      identity,
      text: said.text,
      author,
      level,
      pull,
      policy: policy.policy,
      policyState: policy,
    };
    const outcome = await conclude(tx, accepted, { parsing, isEdit: said.isEdit });
    await nameOutcome(tx, delivery.id, outcome);
  });
}

/** What becomes of the text; the word is kept with the delivery. */
async function conclude(
  tx: Tx,
  accepted: Accepted,
  read: { parsing: ParsedComment | null; isEdit: boolean },
): Promise<string> {
  const { host, level } = accepted;
  const taken = await takenCommands(tx, accepted.identity);
  const [first] = taken;
  const isSame = first?.bodyHash === hashOf(accepted.text.body);
  // The same text again, by whatever way: a redelivery, a replay, a second hook.
  if (first !== undefined && (isSame || !read.isEdit)) return "duplicate";
  if (read.isEdit) return hintAtEdit(tx, accepted, { parsing: read.parsing, taken });
  if (!(await mayBotSpeak(tx, accepted))) return "bot-again";
  if (level !== "none" && read.parsing === null) {
    await answer(tx, accepted, {
      name: "unreadable",
      body: refusalNotice({ kind: "unreadable" }, host.mention),
    });
    return "unreadable";
  }
  return carryOut(tx, accepted, read.parsing);
}

/** Two bots that answer each other stop after one: the next word must be a person's (1.5). */
async function mayBotSpeak(tx: Tx, { author, conversation }: Accepted): Promise<boolean> {
  if (author.isBot && conversation.botHadItsTurn === 1) return false;
  const botHadItsTurn = author.isBot ? 1 : 0;
  if (conversation.botHadItsTurn !== botHadItsTurn) {
    await changeConversation(tx, conversation.id, { botHadItsTurn });
  }
  return true;
}

/** An edit never runs anything; when it adds or changes a command one hint says how to give it (1.4). */
async function hintAtEdit(
  tx: Tx,
  accepted: Accepted,
  { parsing, taken }: { parsing: ParsedComment | null; taken: readonly TakenCommand[] },
): Promise<string> {
  const known = new Set(taken.map((command) => command.commandHash));
  const isNew = parsing?.commands.some((command) => !known.has(commandHash(command))) ?? false;
  if (!isNew && (parsing?.errors.length ?? 0) === 0) return "edited";
  const body = refusalNotice({ kind: "edited" }, accepted.host.mention);
  await answer(tx, accepted, { name: "edited", body });
  return "edited-hint";
}

async function finish(host: Host, delivery: DeliveryRow, outcome: string): Promise<void> {
  await commit(host, (tx) => finishDelivery(tx, delivery.id, outcome));
}
