// Which commands fit a mandate as it is (spec 1.4, 1.6): what does not fit changes nothing and is answered with this.

import type { Keyword } from "../commands/commands.ts";
import { reasons, type WayOut } from "../reasons.ts";
import { isTerminal, type MandateState } from "./mandate.ts";

export interface FitFacts extends Pick<MandateState, "status" | "reason"> {
  /** The way out of this very block, where it is not the one of the reason's table. */
  readonly wayOut: WayOut | null;
  readonly isTask: boolean;
  readonly hasArmedWait: boolean;
  /** A deadline that has passed leaves only `extend`. */
  readonly isExpired: boolean;
}

/** The keywords that do something for this mandate now, the most helpful first. */
export function fittingCommands(facts: FitFacts): Keyword[] {
  if (isTerminal(facts.status)) return ["retry"];
  const always: Keyword[] = ["extend", "pause", "resume", "stop"];
  const answers: Keyword[] = facts.isTask ? [] : ["reply"];
  switch (facts.status) {
    case "blocked":
      return [...outOf(facts), "retry", "stop", ...extendUnless(facts)];
    case "waiting":
      return facts.hasArmedWait ? ["check", ...answers, ...always] : [...answers, ...always];
    case "queued":
    case "running":
    case "assessing":
      return [...answers, ...always];
    case "completed":
    case "stopped":
      return ["retry"];
  }
}

export function fits(keyword: Keyword, facts: FitFacts): boolean {
  return fittingCommands(facts).includes(keyword);
}

/** What gets a blocked mandate going: the command its notice names. */
function outOf(facts: FitFacts): Keyword[] {
  if (facts.isExpired) return ["extend"];
  switch (facts.wayOut ?? (facts.reason === null ? "continue" : reasons[facts.reason].wayOut)) {
    case "reply":
      return facts.isTask ? ["continue"] : ["reply"];
    case "extend":
      return ["extend"];
    case "recover":
      return ["recover"];
    case "rebut":
      return ["rebut"];
    case "continue":
    case "mend-policy":
      return ["continue"];
    case "wait":
      return [];
  }
}

/** A later deadline is always possible, also where it alone does not unblock. */
function extendUnless(facts: FitFacts): Keyword[] {
  return outOf(facts).includes("extend") ? [] : ["extend"];
}
