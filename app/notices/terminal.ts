// What the command line says (spec 7.1): how a command ended, complaints, and the state of a mandate in lines.
// Pure. Text from outside loses its control characters first, so that it cannot act on the terminal.

import { formatInstant } from "../../policies/durations.ts";
import { Failure } from "../../policies/failure.ts";
import type { Status } from "../../policies/mandate/mandate.ts";
import type { Holder } from "../home.ts";
import { moment, usageOf, type MandateFacts } from "./facts.ts";
import { sentenceFor } from "./status.ts";

/** How a command ended. Exit codes: 0 good, 1 failed, 2 wrong usage. */
export type Ending =
  | { readonly ok: true; readonly text: string; readonly exitCode: 0 | 1 }
  | Complaint;

/** What happened, why, and what to do about it. */
export interface Complaint {
  readonly ok: false;
  readonly exitCode: 1 | 2;
  readonly what: string;
  readonly why: string;
  readonly help: string;
}

export function said(text: string, exitCode: 0 | 1 = 0): Ending {
  return { ok: true, text, exitCode };
}

/** The person asked for what there is not, or in a form that does not fit. */
export function misused(what: string, why: string, help: string): Complaint {
  return { ok: false, exitCode: 2, what, why, help };
}

export function failed(what: string, why: string, help: string): Complaint {
  return { ok: false, exitCode: 1, what, why, help };
}

export function complaintText({ what, why, help }: Complaint): string {
  return printable(`${what}\n  Why: ${why}\n  What to do: ${help}`);
}

const troubles: Readonly<Record<string, readonly [why: string, help: string]>> = {
  "home-unwritable": [
    "the home folder cannot be written (read-only, full, or not yours)",
    "see to the disk and to who owns it, or choose another home with HOLDFAST_HOME",
  ],
  "secrets-damaged": [
    "a file of secrets in the home folder (secrets.json or github.json) cannot be read as such",
    "remove secrets.json to have new ones made (pages then need the new address); put github.json back from a backup, or run `holdfast setup github --force`",
  ],
  "persistence-unavailable": [
    "the ledger cannot be opened or written (disk full, read-only, not yours, or a database that does not let us in)",
    "see to the disk and to who owns the home folder (HOLDFAST_HOME), or with DATABASE_URL to the database and its address, then try again",
  ],
  "ledger-damaged": [
    "the file ledger.sqlite in the home folder is damaged, or is no ledger at all",
    "put a backup in its place, or move it away to begin with an empty one",
  ],
  "ledger-not-empty": [
    "the PostgreSQL database has a ledger with something in it",
    "name an empty database; nothing of the old or the new one was changed",
  ],
  "redis-evicts": [
    "the Redis of REDIS_URL may throw hints away to make room",
    "set its maxmemory-policy to noeviction: `redis-cli config set maxmemory-policy noeviction`",
  ],
  "redis-unreachable": [
    "the Redis of REDIS_URL does not answer",
    "see that it runs and is reached from here; until then work goes on without its hints",
  ],
  "schema-newer": [
    "a newer version of Holdfast has written this ledger",
    "use that version, or another home folder (HOLDFAST_HOME)",
  ],
  "no-repository": [
    "there is no git repository at this place",
    "name a folder in a repository, or make one with `git init`",
  ],
  "no-commits": ["the default branch has no commit yet", "make a first commit"],
  "no-default-branch": [
    "the repository does not say which branch is its default one",
    "check a branch out, `git switch main` for example",
  ],
  "foreign-owner": [
    "the repository belongs to another account, and git refuses to read it for this one",
    "run Holdfast as its owner, or give the repository to this account with `chown -R`",
  ],
  "git-failed": [
    "git could not read the repository",
    "see whether it is still at its place and whether `git log` works there",
  ],
  "git-too-old": ["the installed git is too old", "install git 2.39.5 or newer"],
  "spawn-failed": ["a program could not be started", "install git, and see that it is on the PATH"],
  "disk-full": ["the disk is full", "make room on it, then try again"],
  "read-only": ["the file system is read-only", "choose another home with HOLDFAST_HOME"],
  "port-in-use": [
    "another program uses this port",
    "choose another one with --port, or 0 for any free one",
  ],
  "cannot-listen": [
    "this address cannot be listened on",
    "choose another port with --port; ports below 1024 are for root",
  ],
};

/** Words for whatever was thrown; its own text is for the log alone (I12). */
export function troubleOf(what: string, error: unknown): Complaint {
  if (error instanceof Failure && error.code === "home-held") return homeHeld(what, error.cause);
  const [why, help] = (error instanceof Failure ? troubles[error.code] : undefined) ?? [
    error instanceof Failure
      ? `a failure outside of Holdfast (${error.code})`
      : "a bug in Holdfast",
    "set LOG_LEVEL=debug and try again to see all of it",
  ];
  return failed(what, why, help);
}

/** A second serving process is told who holds the home (8.2). */
function homeHeld(what: string, cause: unknown): Complaint {
  const holder = cause as Holder | null;
  const who =
    holder === null || holder.pid === 0
      ? "another process, just starting or stopping,"
      : `process ${holder.pid}, started at ${formatInstant(holder.since)},`;
  const where = holder?.url ?? "";
  const help = "use that one, end it first, or choose another home with HOLDFAST_HOME";
  return failed(what, `${who} serves this home${where === "" ? "" : ` at ${where}`}`, help);
}

/** Outside text as a terminal may show it: line ends and tabs stay, escapes and other control characters go. */
export function printable(text: string): string {
  // eslint-disable-next-line no-control-regex -- these are the characters a terminal obeys
  return text.replace(/\r\n?/g, "\n").replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "�");
}

/** One line of outside text, cut to `limit` characters. */
export function lineOf(text: string, limit = 200): string {
  const line = printable(text).replace(/\s+/g, " ").trim();
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
}

export function indent(text: string, by = "  "): string {
  return text.replace(/^(?=.)/gm, by);
}

/** JSON for scripts: every instant is ISO 8601 in UTC. */
export function jsonOf(value: unknown): string {
  return JSON.stringify(
    value,
    (key, inner: unknown) =>
      typeof inner === "number" && /^at$|(?:At|Until)$/.test(key) ? formatInstant(inner) : inner,
    2,
  );
}

/** `held` is how an unfinished mandate shows while a hold lies on it (1.1). */
function shownStatus({ status, hold }: MandateFacts): Status | "held" {
  return hold === null ? status : "held";
}

/** A mandate as `status --json` lists it; `conversation` is its name. */
export function summaryOf(facts: MandateFacts, conversation: string): object {
  return {
    id: facts.id,
    conversation,
    status: shownStatus(facts),
    reason: facts.hold?.reason ?? facts.reason,
    nextStep: facts.nextStep,
    deadlineAt: facts.deadlineAt,
    attempts: facts.counters.attempts,
    wait: facts.wait,
    turns: facts.counters.turns,
  };
}

/** A mandate in lines; the first one names it. */
export function mandateText(facts: MandateFacts, conversation: string): string {
  const { status, wait, endedAt } = facts;
  const lines = [sentenceFor(facts)];
  if (status === "blocked" && facts.reasonText !== null) lines.push(`Why: ${facts.reasonText}`);
  if (endedAt === null) {
    if (wait !== null) lines.push(`Waits for: ${wait.reason}`);
    if (facts.nextStep !== "")
      lines.push(`Next step (from the ${facts.nextStepBy}): ${facts.nextStep}`);
    lines.push(`Deadline: ${moment(facts.deadlineAt)}`);
  }
  lines.push(`Used: ${usageOf(facts)}`);
  if (facts.publishedCommit !== null) lines.push(`Branch: ${facts.branch}`);
  if (facts.pull !== null) lines.push(`Pull request: #${facts.pull.number}`);
  const head = `${facts.id}  ${lineOf(conversation)}  ${shownStatus(facts)}  ${lineOf(facts.title, 100)}`;
  return [head, ...lines.map((line) => `  ${lineOf(line, 500)}`)].join("\n");
}
