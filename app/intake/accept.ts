// Accepting a delivery (spec 6.2, 1.4, 1.5): re-read what it speaks of, ask for the author's right, parse once, then
// one transaction that marks it handled and writes all it causes (I4). A delivery only says what to re-read.

import type { Level } from "../../policies/authority.ts";
import type { ParsedComment } from "../../policies/commands/commands.ts";
import { mayHoldCommand } from "../../policies/commands/comment.ts";
import type { EventText } from "../../policies/events.ts";
import type { PolicyFile } from "../../policies/policy-file.ts";
import type { Person } from "../forge/forge.ts";
import { levelOf, operatorId } from "../forge/permission.ts";
import { forgeOf, hashOf, type Host } from "../host.ts";
import {
  ensureConversation,
  findRepository,
  type ConversationRow,
  type RepositoryRow,
} from "../ledger/conversations.ts";
import {
  finishDelivery,
  nameOutcome,
  takenCommands,
  openDeliveries,
  postponeDelivery,
  type DeliveryRow,
  type TakenCommand,
} from "../ledger/deliveries.ts";
import type { Tx } from "../ledger/ledger.ts";
import { refusalNotice } from "../notices/refusal.ts";
import { commit } from "../turn/persist.ts";
import { answer } from "./answers.ts";
import { carryOut, commandHash } from "./commands.ts";
import { currentPolicy, type PolicyNow } from "./policy.ts";

const batchLimit = 20;
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
  readonly policy: PolicyFile;
  readonly policyState: Omit<PolicyNow, "policy">;
}

/** Accepts what is due; returns how many deliveries were looked at. */
export async function acceptDeliveries(host: Host): Promise<number> {
  const open = await host.ledger.read((sql) => openDeliveries(sql, host.ledger.now(), batchLimit));
  for (const delivery of open) {
    try {
      await acceptOne(host, delivery);
    } catch (error) {
      host.log.warn({ delivery: delivery.id, error }, "a delivery could not be accepted yet");
      await commit(host, (tx) => postpone(tx, host, delivery));
    }
  }
  return open.length;
}

async function postpone(tx: Tx, host: Host, delivery: DeliveryRow): Promise<void> {
  const { retryFirstMs, acceptRetryMaxMs, acceptForMs } = host.timing;
  if (tx.now - delivery.receivedAt > acceptForMs) {
    await finishDelivery(tx, delivery.id, "given-up");
    return;
  }
  const backoffMs = Math.min(retryFirstMs * 2 ** Math.min(delivery.attempts, 20), acceptRetryMaxMs);
  await postponeDelivery(tx, delivery, tx.now + backoffMs);
}

async function acceptOne(host: Host, delivery: DeliveryRow): Promise<void> {
  const event = delivery.payload;
  switch (event.kind) {
    case "text":
    case "edited":
      await acceptText(host, delivery, { text: event.text, isEdit: event.kind === "edited" });
      return;
    case "operator":
      await acceptOperator(host, delivery, event);
      return;
  }
}

async function acceptText(
  host: Host,
  delivery: DeliveryRow,
  event: { text: EventText; isEdit: boolean },
): Promise<void> {
  const forge = forgeOf(host, event.text.connection);
  const text = await forge.readText(event.text);
  if (text === null) {
    if (delivery.attempts < goneAfterTries)
      await commit(host, (tx) => postpone(tx, host, delivery));
    else await finish(host, delivery, "gone");
    return;
  }
  // Own and other bots' texts are dropped before they take any slot (6.2).
  if (text.author.id === forge.self.id || text.author.isBot) {
    await finish(host, delivery, "bot");
    return;
  }
  if (!mayHoldCommand(text.body, host.mention)) {
    await finish(host, delivery, "no-command");
    return;
  }
  const { kind, id } = event.text;
  await accept(host, delivery, {
    ref: event.text,
    number: text.number,
    text: { kind, id, url: text.url, body: text.body },
    author: text.author,
    isEdit: event.isEdit || text.isEdited,
  });
}

/** The operator speaks on the machine itself: as an admin, in the conversation of the mandate (7.1). */
async function acceptOperator(
  host: Host,
  delivery: DeliveryRow,
  event: Extract<DeliveryRow["payload"], { kind: "operator" }>,
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

interface Said {
  readonly ref: { readonly connection: string; readonly forgeId: string };
  readonly number: number;
  readonly text: Accepted["text"];
  readonly author: Person;
  readonly isEdit: boolean;
}

async function accept(host: Host, delivery: DeliveryRow, said: Said): Promise<void> {
  const { ref, number } = said;
  const repository = await host.ledger.read((sql) =>
    findRepository(sql, ref.connection, ref.forgeId),
  );
  if (repository === undefined) {
    await finish(host, delivery, "unknown-repository");
    return;
  }
  const forge = forgeOf(host, repository.connection);
  const level = await levelOf(forge, repository, said.author.id);
  const parsing = level === "none" ? null : await host.parse(said.text.body);
  const about = await conversationKind(host, ref, number);
  const policy = await currentPolicy(host, repository);
  await commit(host, async (tx) => {
    // Whoever finishes it first writes all it causes; anybody else writes nothing (I4).
    if (!(await finishDelivery(tx, delivery.id, "accepting"))) return;
    const conversation = await ensureConversation(tx, repository, { number, kind: about });
    const identity = `${ref.connection} ${ref.forgeId} ${said.text.kind} ${said.text.id}`;
    const accepted: Accepted = {
      host,
      delivery,
      repository,
      conversation,
      identity,
      text: said.text,
      author: said.author,
      level,
      policy: policy.policy,
      policyState: policy,
    };
    const outcome = await conclude(tx, accepted, { parsing, isEdit: said.isEdit });
    await nameOutcome(tx, delivery.id, outcome);
  });
}

async function conversationKind(
  host: Host,
  ref: { connection: string; forgeId: string },
  number: number,
): Promise<"issue" | "pull"> {
  const found = await forgeOf(host, ref.connection).readConversation({ ...ref, number });
  return found?.kind ?? "issue";
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
  if (level !== "none" && read.parsing === null) {
    await answer(tx, accepted, {
      name: "unreadable",
      body: refusalNotice({ kind: "unreadable" }, host.mention),
    });
    return "unreadable";
  }
  return carryOut(tx, accepted, read.parsing);
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
