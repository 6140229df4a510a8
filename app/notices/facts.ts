// The facts of a mandate that notices, page and CLI speak about (spec 1.2, 1.6), and the phrases all of
// them share. Pure: no clock, so a text changes only when what it says has changed.

import type {
  Ceilings,
  ChecklistItem,
  Counters,
  Provenance,
  Status,
} from "../../policies/mandate/mandate.ts";
import type { ReasonCode, WayOut } from "../../policies/reasons.ts";
import { code, link, plain } from "./neutralise.ts";

export interface MandateFacts {
  readonly id: string;
  /** The first words of the request, from outside like `anchor` and everything an agent says. */
  readonly title: string;
  readonly status: Status;
  readonly hold: {
    readonly reason: ReasonCode;
    readonly byName: string;
    readonly at: number;
  } | null;
  readonly reason: ReasonCode | null;
  readonly reasonText: string | null;
  /** Null: the one of the reason's table. */
  readonly wayOut: WayOut | null;
  readonly nextStep: string;
  readonly nextStepBy: Provenance;
  /** Null while `waiting` means a plain wait: nothing wakes it but a person. */
  readonly wait: {
    readonly reason: string;
    readonly dueAt: number;
    readonly deadlineAt: number;
  } | null;
  readonly deadlineAt: number;
  readonly counters: Counters;
  readonly ceilings: Ceilings;
  readonly checklist: readonly ChecklistItem[];
  readonly anchor: {
    readonly text: string;
    readonly url: string;
    readonly authorId: string;
    readonly authorName: string;
  };
  /** The pull request whose head it works on, in short; null in an issue. */
  readonly head: {
    readonly pull: number;
    readonly commit: string;
    readonly branch: string;
    readonly mayPush: boolean;
  } | null;
  readonly branch: string;
  readonly publishedCommit: string | null;
  readonly pull: { readonly number: number; readonly url: string } | null;
  /** The phase of a running turn, such as `fetching`. */
  readonly phase: string | null;
  readonly recordUrl: string | null;
  readonly taskName: string | null;
  readonly steps: readonly { readonly title: string; readonly state: string }[];
  readonly createdAt: number;
  readonly endedAt: number | null;
  /** The installation's time zone (IANA): deadlines are shown in it and in UTC; UTC alone without it. */
  readonly timeZone?: string | undefined;
}

/** What was asked, with the link to it, naming the author so that it rings for them. */
export function askedBy({ title, anchor }: MandateFacts, mention: string): string {
  return `Asked by ${ringFor(anchor.authorName, mention)}: ${link(title, anchor.url)}`;
}

/** The bot's own names never ring: that would be a mention it reads itself. */
function ringFor(name: string, mention: string): string {
  const isLogin = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$/.test(name);
  const isBot = [mention.toLowerCase(), "holdfast"].includes(name.toLowerCase());
  return isLogin && !isBot ? `@${name}` : plain(name);
}

/** Where everything about the mandate is kept. */
export function recordOf({ id, recordUrl }: Pick<MandateFacts, "id" | "recordUrl">): string {
  return `Record: ${recordUrl === null ? code(id) : link(id, recordUrl)}`;
}

/** An instant in UTC to the minute, `2026-12-01 10:00 UTC`. */
export function moment(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** An instant in the given zone and in UTC: `2026-12-01 11:00 Europe/Berlin (2026-12-01 10:00 UTC)`. */
export function momentIn(at: number, timeZone: string | undefined): string {
  if (timeZone === undefined || timeZone === "UTC") return moment(at);
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone,
    dateStyle: "short",
    timeStyle: "short",
  });
  return `${format.format(at)} ${timeZone} (${moment(at)})`;
}

/** What it has used of what it may use; ceilings that do not exist are not shown. */
export function usageOf({ counters, ceilings }: MandateFacts): string {
  const parts = [
    `${used(counters.attempts, ceilings.stallLimit)} attempts without anything new`,
    `${used(counters.turns, ceilings.turns)} ${isOne(counters.turns, ceilings.turns) ? "turn" : "turns"}`,
  ];
  if (counters.tokens > 0 || ceilings.tokens !== null) {
    parts.push(`${used(counters.tokens, ceilings.tokens)} tokens`);
  }
  if (counters.cost > 0 || ceilings.cost !== null) {
    parts.push(`cost ${used(counters.cost, ceilings.cost)}`);
  }
  return parts.join(", ");
}

function isOne(count: number, ceiling: number | null): boolean {
  return (ceiling ?? count) === 1;
}

function used(count: number, ceiling: number | null): string {
  return ceiling === null ? amount(count) : `${amount(count)} of ${amount(ceiling)}`;
}

function amount(count: number): string {
  return count.toLocaleString("en-US", { maximumFractionDigits: 2 });
}

/** Blocks of a comment, the empty ones left out. */
export function paragraphs(blocks: readonly (string | null)[]): string {
  return blocks.filter((block) => block !== null && block !== "").join("\n\n");
}

const listLimit = 20;

/** Lines as a list, the first 20 of them; null for none. */
export function listOf(lines: readonly string[]): string | null {
  if (lines.length === 0) return null;
  const shown = lines.slice(0, listLimit).map((line) => `- ${line}`);
  if (lines.length > listLimit) shown.push(`- and ${lines.length - listLimit} more`);
  return shown.join("\n");
}
