// Nudges (spec 3.4): which outside events ring at which wait, and how far forward they bring its one recheck. An event
// proves nothing and grants nothing; no deadline is touched, and no due time is ever moved out (I6, I7).

import { minuteMs } from "../durations.ts";
import type { NudgeEvent } from "../events.ts";
import { matchesGlob } from "../glob.ts";
import type { PolicyFile } from "../policy-file.ts";
import type { Signal } from "./mandate.ts";

/** Nudges this soon after a recheck are one recheck at the end of it. */
export const coalesceMs = minuteMs;
/** A wait that names no signals is woken at most once per this part of its interval. */
const shareOfInterval = 5;

type NudgeKind = PolicyFile["nudges"]["events"][number];

/** What of the outside belongs to a waiting mandate. */
export interface Belongings {
  readonly forgeId: string;
  /** The repository's name as it is now, `owner/name`. */
  readonly repository: string;
  readonly branches: readonly string[];
  readonly commits: readonly string[];
  readonly pulls: readonly number[];
}

export interface Listening {
  readonly signals: readonly Signal[];
  /** The repository's policy: which kinds ring at a wait without signals. */
  readonly kinds: readonly NudgeKind[];
  readonly own: Belongings;
}

/** What GitHub calls by several names is one kind here. */
const kindOf: Readonly<Record<string, NudgeKind>> = {
  release: "release",
  package: "package",
  registry_package: "package",
  check_run: "check",
  check_suite: "check",
  status: "status",
  workflow_run: "workflow",
};

/** A wait with signals hears those only; one without hears what belongs to its mandate; a mandate that is named, all. */
export function hears(listening: Listening, event: NudgeEvent): boolean {
  const { signals, own } = listening;
  if (event.mandateId !== undefined) return true;
  if (signals.length > 0) return signals.some((signal) => fitsSignal(signal, event, own));
  const kind = kindOf[nameOf(event)];
  if (kind === undefined || !listening.kinds.includes(kind) || event.forgeId !== own.forgeId) {
    return false;
  }
  return kind === "release" || kind === "package" || isAbout(event, own);
}

function nameOf({ event }: NudgeEvent): string {
  return event.split(".")[0] ?? event;
}

/** `release.published` means that action, `release` any of them. */
function fitsSignal(signal: Signal, event: NudgeEvent, own: Belongings): boolean {
  if (signal.event !== event.event && signal.event !== nameOf(event)) return false;
  if (event.forgeId !== own.forgeId) return false;
  const { repository, tag } = signal;
  if (repository !== undefined && repository.toLowerCase() !== own.repository.toLowerCase()) {
    return false;
  }
  return tag === undefined || (event.tag !== null && matchesGlob(tag, event.tag));
}

function isAbout({ branch, commit, number }: NudgeEvent, own: Belongings): boolean {
  return (
    (branch !== null && own.branches.includes(branch)) ||
    (commit !== null && own.commits.includes(commit)) ||
    (number !== null && own.pulls.includes(number))
  );
}

/** When the recheck is due after a nudge at `now`: earlier than it was, or as it was. */
export function nudgedDueAt(
  wait: { readonly dueAt: number; readonly everyMs: number; readonly signals: readonly Signal[] },
  times: { readonly now: number; readonly lastRecheckAt: number | null },
): number {
  const { now, lastRecheckAt } = times;
  const rest =
    wait.signals.length > 0 ? coalesceMs : Math.max(coalesceMs, wait.everyMs / shareOfInterval);
  const soonest = lastRecheckAt === null ? now : Math.max(now, lastRecheckAt + rest);
  return Math.min(wait.dueAt, soonest);
}
