// The notice of a plain wait (spec 1.1, 2.2): a person is asked, and nothing else will wake the mandate.
// Never promises a wake-up.

import type { MandateFacts } from "./facts.ts";
import { askedBy, momentIn, paragraphs, recordOf } from "./facts.ts";
import { fence, quote } from "./neutralise.ts";

export interface QuestionWords {
  /** What the agent or task asks; quoted. */
  readonly reason: string;
  readonly mention: string;
}

export function questionNotice(facts: MandateFacts, { reason, mention }: QuestionWords): string {
  const { id, deadlineAt, timeZone } = facts;
  return paragraphs([
    `**${id} asks a person** and waits for the answer.`,
    askedBy(facts, mention),
    quote(reason, 2_000),
    "No wake-up is registered: it goes on only when somebody answers. " +
      `Without an answer it ends as blocked at its deadline, ${momentIn(deadlineAt, timeZone)}.`,
    `To answer, write this in a new comment:\n\n${fence(`@${mention} reply ${id} <your answer>`)}`,
    recordOf(facts),
  ]);
}
