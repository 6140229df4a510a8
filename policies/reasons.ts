// The closed list of reason codes (spec 1.6): every refusal, block, hold and denial carries one of them.
// docs/commands.md documents each; `tidy` compares both.

/** What gets a mandate going again after a block with this reason. */
export type WayOut = "reply" | "extend" | "recover" | "rebut" | "mend-policy" | "continue" | "wait";

export interface Reason {
  readonly sentence: string;
  readonly wayOut: WayOut;
}

export const reasons = {
  "not-permitted": {
    sentence: "the person who asked does not have the needed permission",
    wayOut: "continue",
  },
  "authority-revoked": {
    sentence: "the author of this request no longer has the needed permission",
    wayOut: "continue",
  },
  "deadline-passed": { sentence: "its deadline passed before it was done", wayOut: "extend" },
  stalled: { sentence: "its attempts brought nothing new any more", wayOut: "continue" },
  "depth-exhausted": { sentence: "work was handed on more often than allowed", wayOut: "continue" },
  "budget-exhausted": { sentence: "it used up a ceiling that was set for it", wayOut: "extend" },
  "agent-blocked": { sentence: "the agent says it cannot go on without a person", wayOut: "reply" },
  "agent-failed": {
    sentence: "the agent or task failed and is not tried again by itself",
    wayOut: "continue",
  },
  "checkout-failed": {
    sentence: "no working copy of the repository could be made",
    wayOut: "continue",
  },
  "recovery-uncertain": {
    sentence: "it was cut off, and what it had already done outside is not known",
    wayOut: "recover",
  },
  "review-required": { sentence: "this exact state has not passed its review", wayOut: "rebut" },
  "review-escalated": {
    sentence: "its review rounds are used up and a blocking finding is still there",
    wayOut: "rebut",
  },
  "head-moved": {
    sentence: "the pull request was moved by someone without write permission",
    wayOut: "continue",
  },
  "policy-invalid": {
    sentence: "the repository's .holdfast.yml has errors and no earlier version was good",
    wayOut: "mend-policy",
  },
  "publish-refused": {
    sentence: "its result could not be published",
    wayOut: "continue",
  },
  "hook-denied": { sentence: "a policy hook of the operator denied it", wayOut: "continue" },
  "conversation-gone": {
    sentence: "its issue or pull request takes no new comments",
    wayOut: "continue",
  },
  paused: { sentence: "a person paused it", wayOut: "wait" },
  maintenance: { sentence: "the installation is under maintenance", wayOut: "wait" },
  "persistence-unavailable": { sentence: "the ledger cannot be written", wayOut: "wait" },
  "forge-unreachable": { sentence: "the forge does not answer", wayOut: "wait" },
} as const satisfies Record<string, Reason>;

export type ReasonCode = keyof typeof reasons;
export const reasonCodes = Object.keys(reasons) as ReasonCode[];
