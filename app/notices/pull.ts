// Title and body of a mandate's pull request (spec 5.8): what was asked, what was done, how it was verified.

import type { Anchor, MandateRow } from "../ledger/mandates.ts";
import { paragraphs } from "./facts.ts";
import { code, link, quote, titleOf } from "./neutralise.ts";

const titleLimit = 120;

export function pullTitle(mandate: Pick<MandateRow, "id" | "title">): string {
  return titleOf(`${mandate.title} (${mandate.id})`, titleLimit);
}

export interface PullWords {
  readonly mandate: Pick<MandateRow, "id" | "kind">;
  readonly anchor: Anchor;
  /** What the agent or task says was done; quoted. */
  readonly summary: string;
  readonly recordUrl: string | null;
}

export function pullBody({ mandate, anchor, summary, recordUrl }: PullWords): string {
  const asked = link(`what ${anchor.authorName} asked`, anchor.commentUrl);
  return paragraphs([
    `Made for ${asked}:`,
    quote(anchor.text),
    "What was done:",
    quote(summary),
    mandate.kind === "task"
      ? "The exit codes of the task's steps decided."
      : "*Not checked* by anybody yet.",
    `Record: ${recordUrl === null ? code(mandate.id) : link(mandate.id, recordUrl)}`,
  ]);
}
