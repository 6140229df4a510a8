// Everything about one mandate as text for a terminal (spec 7.1, `log`): what was asked, then what happened, in order.
// Pure; repeats what the ledger holds and judges nothing.

import { formatDuration, formatInstant } from "../../policies/durations.ts";
import type { TurnEnd } from "../../policies/mandate/mandate.ts";
import type { EventRow, EvidenceRow } from "../ledger/history.ts";
import type { Anchor } from "../ledger/mandates.ts";
import type { MessageRow } from "../ledger/outbox.ts";
import type { ToolCallRow, TurnRow } from "../ledger/turns.ts";
import type { WaitRow } from "../ledger/waits.ts";
import type { MandateFacts } from "./facts.ts";
import { indent, lineOf, mandateText, printable } from "./terminal.ts";

export interface Past {
  readonly facts: MandateFacts;
  /** The name of its conversation. */
  readonly conversation: string;
  readonly anchor: Anchor | null;
  readonly turns: readonly (TurnRow & { readonly calls: readonly ToolCallRow[] })[];
  readonly evidence: readonly EvidenceRow[];
  readonly waits: readonly WaitRow[];
  readonly notices: readonly MessageRow[];
  readonly events: readonly EventRow[];
}

export function pastText(past: Past): string {
  const { facts, conversation, anchor } = past;
  const who = anchor === null ? "" : ` by ${lineOf(anchor.authorName)} (${anchor.permission})`;
  const moments = [
    ...past.turns.map((turn) => ({ at: turn.startedAt, text: turnText(turn, past.evidence) })),
    ...past.waits.map((wait) => ({ at: wait.createdAt, text: waitText(wait) })),
    ...past.notices.map((notice) => ({ at: notice.createdAt, text: noticeText(notice) })),
    ...past.events
      .filter(({ kind }) => !shownElsewhere.has(kind))
      .map((event) => ({ at: event.at, text: eventText(event) })),
  ].toSorted((one, other) => one.at - other.at);
  return [
    mandateText(facts, conversation),
    `\nAsked${who} at ${formatInstant(facts.createdAt)}:`,
    indent(printable(facts.anchor.text.trim())),
    "\nWhat happened:",
    ...moments.map(({ at, text }) => `${formatInstant(at)}  ${text}`),
  ].join("\n");
}

/** Events whose facts a turn or a wait shows in full. */
const shownElsewhere: ReadonlySet<string> = new Set([
  "turn-started",
  "turn-settled",
  "wait-registered",
]);

function turnText(turn: Past["turns"][number], evidence: readonly EvidenceRow[]): string {
  const end = turn.endedAt === null ? `running (${turn.phase})` : endWords(turn.end);
  const found = evidence.filter(({ turnId }) => turnId === turn.id);
  const lines = [
    ...turn.calls.map(callText),
    ...found.map(
      ({ kind, hash, credited }) =>
        `evidence: ${kind} ${hash.slice(0, 12)}${credited === 1 ? ", new" : ", not credited"}`,
    ),
    ...receiptLines(turn),
    ...(turn.report === null ? [] : [`reported: ${turn.report.kind}`]),
    ...(turn.settlement === null ? [] : [settled(turn.settlement)]),
    ...(turn.endedAt === null ? [] : [`ended: ${formatInstant(turn.endedAt)}`]),
  ];
  const reply = (turn.reply ?? "").trim();
  const words = reply === "" ? [] : [`said:\n${indent(printable(reply))}`];
  return [
    `Turn ${turn.number} (${turn.cause}): ${lineOf(end)}`,
    ...[...lines, ...words].map((one) => indent(one)),
  ].join("\n");
}

function settled({ status, reason, nextStep }: NonNullable<TurnRow["settlement"]>): string {
  const why = reason === null ? "" : ` (${reason})`;
  return lineOf(`then: ${status}${why}${nextStep === "" ? "" : `, ${nextStep}`}`);
}

function receiptLines({ receipt, receiptReasons }: TurnRow): string[] {
  if (receipt !== null) return [`receipt: ${receipt.slice(0, 12)}`];
  return receiptReasons === null ? [] : [lineOf(`no receipt: ${receiptReasons.join(", ")}`)];
}

const outputLimit = 2_000;

/** A call with the end of its output, where it has any. */
function callText(call: ToolCallRow): string {
  const step = call.step === null ? "" : `step ${call.step + 1}, `;
  const took =
    call.finishedAt === null ? "" : ` after ${formatDuration(call.finishedAt - call.startedAt)}`;
  const head = `call: ${step}${lineOf(call.name)}, ${outcomeOf(call)}${took}`;
  const output = printable(call.textTail === "" ? call.textHead : call.textTail).trim();
  if (output === "") return head;
  const shown = output.length > outputLimit ? `…${output.slice(1 - outputLimit)}` : output;
  return `${head}\n${indent(shown, "  | ")}`;
}

function outcomeOf({ finishedAt, exitCode, failed }: ToolCallRow): string {
  if (finishedAt === null) return "not finished";
  if (exitCode !== null) return `exit ${exitCode}`;
  return failed === 1 ? "failed" : "done";
}

function endWords(end: TurnEnd | null): string {
  if (end === null) return "cut off";
  switch (end.kind) {
    case "completed":
      return "ended normally";
    case "cancelled":
      return `cancelled by ${end.by}`;
    case "limit":
    case "refused":
    case "died":
    case "step-failed":
    case "uncertain":
    case "transient":
      return `${end.kind}: ${end.what}`;
    case "failed":
      return `failed while ${end.phase}: ${end.what}`;
  }
}

function waitText(wait: WaitRow): string {
  const { reason, everyMs, dueAt, deadlineAt, endedAt } = wait;
  const end = endedAt === null ? "" : `, ended ${formatInstant(endedAt)}`;
  const times = `every ${formatDuration(everyMs)}, next look ${formatInstant(dueAt)}, gives up ${formatInstant(deadlineAt)}`;
  return `Wait (${wait.state}): ${lineOf(reason)}\n  ${times}${end}`;
}

function noticeText({ kind, state, key, payload }: MessageRow): string {
  const { body } = (payload ?? {}) as { body?: unknown };
  const head = `Notice (${kind}, ${state}): ${lineOf(key)}`;
  return typeof body === "string" ? `${head}\n${indent(printable(body.trim()))}` : head;
}

function eventText({ kind, facts }: EventRow): string {
  const entries = Object.entries(facts).filter(([, value]) => value !== null && value !== "");
  const words = entries.map(([name, value]) => `${name} ${valueText(name, value)}`);
  return lineOf([kind, ...words].join(", "), 500);
}

function valueText(name: string, value: unknown): string {
  if (typeof value === "number" && name.endsWith("At")) return formatInstant(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}
