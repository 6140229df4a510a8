// Short answers to commands that were carried out (spec 1.3, 1.4): what is so now, and what was not undone.
// Said only after the ledger holds it; nothing here decides anything.

import { formatDuration } from "../../policies/durations.ts";
import type { MandateFacts } from "./facts.ts";
import { listOf, momentIn, paragraphs, usageOf } from "./facts.ts";
import { code, plain } from "./neutralise.ts";
import { outsideOf } from "./status.ts";

export type Answer =
  /** `alsoExists`: what a probe of unsure effects found, in words of ours. */
  | {
      readonly kind: "stopped";
      readonly mandates: readonly MandateFacts[];
      readonly alsoExists: readonly string[];
    }
  /** `id` null: the whole conversation. */
  | { readonly kind: "paused" | "resumed"; readonly id: string | null }
  | { readonly kind: "extended"; readonly facts: MandateFacts; readonly byMs: number | null }
  | { readonly kind: "continued" | "recover-granted" | "recheck-asked"; readonly id: string }
  | { readonly kind: "reply-delivered"; readonly id: string }
  | {
      readonly kind: "retried";
      readonly id: string;
      readonly newId: string;
      readonly stopsOld: boolean;
    }
  /** What the parser left out or did not reach. */
  | { readonly kind: "noted"; readonly notes: readonly string[] };

export function answerNotice(answer: Answer, mention: string): string {
  switch (answer.kind) {
    case "stopped":
      return stopped(answer);
    case "paused": {
      const resume = answer.id === null ? "resume" : `resume ${answer.id}`;
      return `${what(answer.id)} is paused: nothing starts and nothing is discarded. Deadlines go on. \`@${mention} ${resume}\` ends the pause.`;
    }
    case "resumed":
      return `The pause of ${answer.id === null ? "this conversation" : code(answer.id)} has ended. What became due in the meantime runs once now.`;
    case "extended":
      return extended(answer);
    case "continued":
      return `${code(answer.id)} goes on with fresh attempts. What it has already shown is kept and earns nothing twice.`;
    case "recover-granted":
      return `One recovery is granted to ${code(answer.id)}: what was cut off runs once more.`;
    case "recheck-asked":
      return `${code(answer.id)} looks again now. This uses up its planned look; its deadline stays.`;
    case "reply-delivered":
      return `Your answer was delivered to ${code(answer.id)}. \`@${mention} do …\` makes a new mandate instead.`;
    case "retried":
      return `${code(answer.newId)} starts from the same request as ${code(answer.id)}${answer.stopsOld ? ", which is stopped" : ""}.`;
    case "noted":
      return answer.notes.map((note) => `- ${plain(note, 500)}`).join("\n");
  }
}

function what(id: string | null): string {
  return id === null ? "This conversation" : code(id);
}

function stopped({ mandates, alsoExists }: Answer & { kind: "stopped" }): string {
  if (mandates.length === 0) return "There was nothing to stop: no mandate here is unfinished.";
  const exists = [
    ...mandates.flatMap((facts) => outsideOf(facts).map((line) => `${line} (${facts.id})`)),
    ...alsoExists.map((line) => plain(line)),
  ];
  return paragraphs([
    "Stopped, with everything that was planned for it:",
    listOf(mandates.map(({ id, title }) => `${code(id)}: ${plain(title)}`)),
    exists.length === 0
      ? "Nothing of it had been published."
      : `This exists already and was not undone:\n\n${listOf(exists)}`,
  ]);
}

function extended({ facts, byMs }: Answer & { kind: "extended" }): string {
  if (byMs === null) return `${code(facts.id)} has a higher ceiling now: ${usageOf(facts)}.`;
  const by = `${formatDuration(byMs)} from the command on`;
  return `${code(facts.id)} has a new deadline: ${momentIn(facts.deadlineAt, facts.timeZone)}, ${by}.`;
}
