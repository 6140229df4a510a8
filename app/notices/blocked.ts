// The blocked notice (spec 1.6): what was asked, why it stopped, what was seen last, and the exact commands
// that get it going again. Never an exception's text: `what` and `lastSeen` are quoted as from outside.

import { commandTable, keywordOf } from "../../policies/commands/commands.ts";
import { reasons } from "../../policies/reasons.ts";
import type { MandateFacts } from "./facts.ts";
import { askedBy, paragraphs, recordOf, usageOf } from "./facts.ts";
import { fence, quote } from "./neutralise.ts";

const textLimit = 1_000;
const raise = 1.5;

export interface BlockedWords {
  /** What stopped it, beside the reason's own sentence; may be empty. */
  readonly what: string;
  /** The last evidence or check with its result; null before the first one. */
  readonly lastSeen: string | null;
  readonly mention: string;
}

/** A command to copy, without the mention, and what it is for. */
export interface Way {
  readonly aim: string;
  readonly command: string;
}

export function blockedNotice(facts: MandateFacts, words: BlockedWords): string {
  const { mention, what, lastSeen } = words;
  const reason = facts.reason ?? "agent-blocked";
  const seen = quote(lastSeen ?? "", textLimit);
  return paragraphs([
    `**${facts.id} is blocked** and does not go on by itself.`,
    askedBy(facts, mention),
    `Why: ${reasons[reason].sentence} (\`${reason}\`).`,
    quote(what, textLimit),
    seen === "" ? null : `What was seen last:\n\n${seen}`,
    `Used so far: ${usageOf(facts)}.`,
    hintFor(facts),
    "What helps is one of these commands, in a new comment:",
    ...[...waysOut(facts), ...alwaysOpen(facts)].map((way) => shown(way, mention)),
    recordOf(facts),
  ]);
}

function shown({ aim, command }: Way, mention: string): string {
  return `${aim} (${neededFor(command)}):\n\n${fence(`@${mention} ${command}`)}`;
}

function neededFor(command: string): string {
  const [first = "", second] = command.split(" ");
  const rows = commandTable.filter((row) => row.keyword === keywordOf(first));
  const row = rows.find(({ form }) => form.split(" ")[1] === second) ?? rows[0];
  return `permission: ${row?.who ?? row?.needs ?? "admin"}`;
}

/** What helps and is no command. */
function hintFor({ reason, wayOut }: MandateFacts): string | null {
  if (reason === "policy-invalid" || wayOut === "mend-policy") {
    return "Mend `.holdfast.yml` on the default branch; then it goes on.";
  }
  if (reason === "review-required" || reason === "review-escalated") {
    return "A new head of the branch or a rebuttal of the finding helps as well.";
  }
  if (reason === "head-moved") return "Look at the new commits first: going on accepts them.";
  if (reason === "authority-revoked") return "Who lets it go on becomes the author of the request.";
  return null;
}

/** The commands of its own way out, or of its reason's; `reply` for a plain wait. Without the mention. */
export function waysOut(facts: MandateFacts): Way[] {
  const { id } = facts;
  switch (facts.wayOut ?? reasons[facts.reason ?? "agent-blocked"].wayOut) {
    case "reply":
      return [{ aim: "Answer it", command: `reply ${id} <your answer>` }];
    case "extend":
      return [extension(facts)];
    case "recover":
      return [{ aim: "Let it go on once, after you have looked", command: `recover ${id}` }];
    case "rebut":
      return [
        { aim: "Ask for a review of a new head", command: "review" },
        { aim: "Grant more review rounds", command: "review extend 2 <reason>" },
      ];
    case "continue":
      return [{ aim: "Let it go on with fresh attempts", command: `continue ${id}` }];
    case "wait":
      return facts.reason === "paused" ? [{ aim: "End the pause", command: `resume ${id}` }] : [];
    case "mend-policy":
      return [];
  }
}

function extension({ id, reason, counters, ceilings }: MandateFacts): Way {
  if (reason !== "budget-exhausted")
    return { aim: "Give it more time", command: `extend ${id} 1d` };
  const kinds = ["turns", "tokens", "cost"] as const;
  const reached = kinds.flatMap((kind) => {
    const ceiling = ceilings[kind];
    if (ceiling === null || counters[kind] < ceiling) return [];
    return [`${kind}=${Math.max(1, Math.ceil(ceiling * raise))}`];
  });
  const higher = reached.length > 0 ? reached : [`turns=${counters.turns + ceilings.stallLimit}`];
  return { aim: "Raise the ceiling", command: `extend ${id} ${higher.join(" ")}` };
}

function alwaysOpen({ id }: MandateFacts): Way[] {
  return [
    { aim: "Start again from the same request", command: `retry ${id}` },
    { aim: "Give it up", command: `stop ${id}` },
  ];
}
