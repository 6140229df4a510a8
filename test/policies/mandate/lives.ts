// Random lives of one mandate under the rules alone: turns, people's words, passing time (spec 8.4).
// Does what the shell does with a settlement and nothing more; holds no expectation.
import * as fc from "fast-check";
import { dayMs, hourMs, minuteMs } from "../../../policies/durations.ts";
import type { Evidence } from "../../../policies/evidence/stall.ts";
import type { LookFacts } from "../../../policies/mandate/look.ts";
import {
  isTerminal,
  type MandateState,
  type Report,
  type TurnEnd,
} from "../../../policies/mandate/mandate.ts";
import { settle } from "../../../policies/mandate/settle.ts";
import type { SettleInput, Settlement } from "../../../policies/mandate/settlement.ts";
import type { BindingWait, Wait } from "../../../policies/mandate/waits.ts";
import { inputWith, mandate as example } from "./example.ts";

type Happening =
  | {
      readonly kind: "turn";
      readonly end: TurnEnd;
      readonly report: Asked | null;
      readonly found: readonly Evidence[];
      readonly tookMs: number;
    }
  | { readonly kind: "reply" | "continue" | "nudge" }
  | { readonly kind: "extend" | "pass"; readonly ms: number };

/** A report whose wait says how far ahead its deadline is, since the clock is not known yet. */
type Asked =
  | Exclude<Report, { kind: "waiting" }>
  | { readonly kind: "waiting"; readonly everyMs: number; readonly aheadMs: number };

const minutes = fc.integer({ min: 0, max: 90 }).map((count) => count * minuteMs);
const words = fc.constantFrom("a", "b");
const what = "it did not work";

const end: fc.Arbitrary<TurnEnd> = fc.oneof(
  { weight: 9, arbitrary: fc.constant<TurnEnd>({ kind: "completed" }) },
  { weight: 3, arbitrary: fc.constant<TurnEnd>({ kind: "transient", what, retryAt: null }) },
  fc.constantFrom<TurnEnd>(
    { kind: "limit", what },
    { kind: "refused", what },
    { kind: "died", what },
    { kind: "failed", phase: "running", what },
    { kind: "failed", phase: "preparing", what },
    { kind: "step-failed", what },
    { kind: "uncertain", what },
    { kind: "cancelled", by: "drain" },
    { kind: "cancelled", by: "deadline" },
  ),
  fc.constant<TurnEnd>({ kind: "cancelled", by: "stop" }),
);

const report: fc.Arbitrary<Asked | null> = fc.oneof(
  fc.constant(null),
  { weight: 3, arbitrary: words.map((nextStep) => ({ kind: "continue", nextStep }) as const) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("waiting" as const),
      everyMs: minutes,
      aheadMs: minutes,
    }),
  },
  words.map((reason) => ({ kind: "blocked", reason }) as const),
  words.map((summary) => ({ kind: "completed", summary }) as const),
);

const evidence: fc.Arbitrary<Evidence> = fc.record({
  kind: fc.constantFrom("fingerprint", "receipt", "milestone"),
  hash: fc.constantFrom("1", "2", "3", "4"),
});
/** Mostly nothing: what only happens between two pieces of evidence must come about as well. */
const found: fc.Arbitrary<readonly Evidence[]> = fc.oneof(
  { weight: 4, arbitrary: fc.constant([]) },
  fc.array(evidence, { maxLength: 3 }),
);

const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("turn" as const),
      end,
      report,
      found,
      tookMs: minutes,
    }),
  },
  fc.record({ kind: fc.constantFrom("reply" as const, "continue" as const, "nudge" as const) }),
  fc.record({ kind: fc.constantFrom("extend" as const), ms: fc.constantFrom(hourMs, dayMs) }),
  fc.record({ kind: fc.constantFrom("pass" as const), ms: minutes }),
);

export const happenings = fc.array(happening, { minLength: 1, maxLength: 60 });

/** What the ledger would hold of the mandate. */
export interface Life {
  readonly now: number;
  readonly mandate: MandateState;
  readonly wait: { readonly wait: Wait; readonly isClaimed: boolean } | null;
  readonly binding: BindingWait | null;
  readonly history: readonly Evidence[];
  readonly peoplesEntries: number;
  readonly hasEntry: boolean;
  readonly hasNotice: boolean;
}

/** One settled turn in a life, with what was before and after it. */
export interface Settled {
  readonly kind: "settled";
  readonly before: Life;
  readonly input: SettleInput;
  readonly settlement: Settlement;
  readonly after: Life;
}

/** A person's `continue` lifts what earlier waits bound. */
export type Told = Settled | { readonly kind: "continued"; readonly after: Life };

/** Lives through what happens; where nothing of it can happen to the mandate as it is, it does not. */
export function live(all: readonly Happening[], publishes: boolean): Told[] {
  const told: Told[] = [];
  let life = born();
  for (const one of all) {
    if (isTerminal(life.mandate.status)) break;
    if (one.kind === "turn") {
      const settled = liveTurn(life, one, publishes);
      if (settled === null) continue;
      told.push(settled);
      life = settled.after;
    } else {
      life = hear(life, one);
      if (one.kind === "continue") told.push({ kind: "continued", after: life });
    }
  }
  return told;
}

function born(): Life {
  const mandate = { ...example, status: "queued", deadlineAt: example.deadlineAt } as const;
  return {
    now: example.deadlineAt - dayMs,
    mandate,
    wait: null,
    binding: null,
    history: [],
    peoplesEntries: 1,
    hasEntry: false,
    hasNotice: false,
  };
}

function hear(life: Life, told: Exclude<Happening, { kind: "turn" }>): Life {
  const { mandate, now } = life;
  const queued = { ...mandate, status: "queued", reason: null } as const;
  switch (told.kind) {
    case "pass":
      return { ...life, now: now + told.ms };
    case "nudge": {
      if (life.wait === null || life.wait.isClaimed) return life;
      const wait = { ...life.wait.wait, dueAt: Math.min(life.wait.wait.dueAt, now) };
      return { ...life, wait: { wait, isClaimed: false } };
    }
    case "extend": {
      const deadlineAt = Math.max(mandate.deadlineAt, now + told.ms);
      return { ...life, mandate: { ...mandate, deadlineAt } };
    }
    case "reply":
      return { ...life, mandate: queued, peoplesEntries: life.peoplesEntries + 1 };
    case "continue": {
      const counters = { ...mandate.counters, attempts: 0, neutralTurns: 0, failures: 0 };
      const peoplesEntries = life.peoplesEntries + 1;
      return { ...life, mandate: { ...queued, counters }, peoplesEntries, binding: null };
    }
  }
}

function liveTurn(
  life: Life,
  turn: Extract<Happening, { kind: "turn" }>,
  publishes: boolean,
): Settled | null {
  const before = claim(life);
  if (before === null) return null;
  const now = before.now + turn.tookMs;
  const input = inputWith({
    now,
    mandate: { ...before.mandate, status: "running" },
    turn: { end: turn.end, report: turn.report === null ? null : given(turn.report, now) },
    wait: before.wait,
    binding: before.binding,
    history: before.history,
    hasPersonInput: before.peoplesEntries > 0,
    publishes,
  });
  const withFound = { ...input, turn: { ...input.turn, found: turn.found } };
  const settlement = settle(withFound);
  const after = follow({ ...before, now }, settlement);
  return { kind: "settled", before, input: withFound, settlement, after };
}

/** The next entry is taken: a person's, a planned one, or the recheck of a wait that has come due. */
function claim(life: Life): Life | null {
  if (life.mandate.status === "queued" && life.peoplesEntries > 0) {
    return { ...life, peoplesEntries: life.peoplesEntries - 1 };
  }
  if (life.mandate.status === "queued") return { ...life, hasEntry: false };
  if (life.wait === null || life.mandate.status !== "waiting") return null;
  const now = Math.max(life.now, life.wait.wait.dueAt);
  return { ...life, now, wait: { ...life.wait, isClaimed: true } };
}

function given(asked: Asked, now: number): Report {
  if (asked.kind !== "waiting") return asked;
  const { everyMs, aheadMs } = asked;
  const wait = {
    reason: "a",
    nextStep: "look",
    everyMs,
    deadlineAt: now + aheadMs,
    signals: [],
    subject: "",
  };
  return { kind: "waiting", reason: "a", wait };
}

function follow(life: Life, settlement: Settlement): Life {
  const { status, reason, nextStep, nextStepBy, counters, wait } = settlement;
  const isWoken = status === "waiting" && life.peoplesEntries > 0;
  const waits = {
    keep: life.wait,
    end: null,
    register: wait.change === "register" ? { wait: wait.wait, isClaimed: false } : null,
  };
  return {
    ...life,
    mandate: {
      ...life.mandate,
      status: isWoken ? "queued" : status,
      reason,
      nextStep,
      nextStepBy,
      counters,
    },
    wait: waits[wait.change],
    binding: settlement.binding,
    history: [...life.history, ...settlement.entered],
    hasEntry: settlement.entry !== null,
    hasNotice: settlement.notice !== null,
  };
}

/** What a look would find. */
export function factsOf(life: Life): LookFacts {
  const { status, deadlineAt } = life.mandate;
  return {
    status,
    deadlineAt,
    wait:
      life.wait === null
        ? null
        : { ...life.wait.wait, state: life.wait.isClaimed ? "claimed" : "armed" },
    entryAt: life.hasEntry || life.peoplesEntries > 0 ? life.now : null,
    hasClaim: false,
    notice: life.hasNotice ? "open" : "none",
    isHeld: false,
    isPublishing: false,
  };
}
