// What becomes of work that was cut off (spec 2.5): nothing that may have acted is ever replayed.

import { nextStep } from "../tasks.ts";
import type { TaskState } from "./mandate.ts";

export interface CutOff {
  /** True once the work had been handed over: the prompt was given, or a step may have started. */
  readonly hasBegun: boolean;
  readonly task: TaskState | null;
  /** Leases of this very entry lost so far, this one included. */
  readonly leasesLost: number;
  /** Several workers share the ledger: the next turn may be on another machine. */
  readonly isShared: boolean;
}

export type Recovery =
  /** It never began: the same entry once more. */
  | { readonly do: "queue-again"; readonly note: string }
  /** It began: a new turn that first looks at what is, after a pause. */
  | { readonly do: "recovery-turn"; readonly what: string }
  /** A step was cut off that must not run twice by itself. */
  | { readonly do: "ask-person"; readonly what: string }
  /** It takes its worker down again and again. */
  | { readonly do: "give-up"; readonly what: string };

const leasesLostLimit = 3;

export function recover(cut: CutOff): Recovery {
  if (cut.hasBegun) return afterBegin(cut);
  if (cut.leasesLost >= leasesLostLimit) {
    return {
      do: "give-up",
      what: `its worker was lost ${cut.leasesLost} times in a row before it began`,
    };
  }
  return { do: "queue-again", note: "the turn before was cut off before it began" };
}

function afterBegin({ task, isShared }: CutOff): Recovery {
  if (task !== null) {
    const next = nextStep(task.task, task.progress);
    if (next.kind === "uncertain") {
      const what = `step ${next.index + 1} of ${task.name} was cut off while it ran, and it does not say that it may be repeated`;
      return { do: "ask-person", what };
    }
  }
  const lost = "its worker was lost while it ran";
  if (!isShared) return { do: "recovery-turn", what: lost };
  const what = `${lost}, and what it had changed since its files were last saved may be lost with it`;
  return { do: "recovery-turn", what };
}
