// The final result of a mandate (spec 1.6, 2.3, 5.8): what was done, whether it was checked, what was published.
// Never claims a check that did not run, and an empty change is said to be empty.

import type { MandateFacts } from "./facts.ts";
import { askedBy, listOf, paragraphs, recordOf, usageOf } from "./facts.ts";
import { code, link, quote } from "./neutralise.ts";

export type PublishWords =
  | {
      readonly kind: "published";
      readonly branch: string;
      readonly commit: string;
      /** Paths of the files that were changed. */
      readonly files: readonly string[];
      readonly pullNumber: number | null;
      readonly pullUrl: string | null;
    }
  | { readonly kind: "empty" | "none" };

export interface ResultWords {
  /** What the agent or task says was done; quoted. */
  readonly summary: string;
  readonly checked: "rules" | "not-checked";
  readonly publish: PublishWords;
  readonly mention: string;
}

export function resultNotice(facts: MandateFacts, words: ResultWords): string {
  return paragraphs([
    `**${facts.id} is done**, ${checkedWords(words.checked)}.`,
    askedBy(facts, words.mention),
    quote(words.summary),
    publishedWords(words.publish),
    `Used: ${usageOf(facts)}.`,
    recordOf(facts),
  ]);
}

function checkedWords(checked: ResultWords["checked"]): string {
  switch (checked) {
    case "rules":
      return "checked by rules";
    case "not-checked":
      return "*not checked*: no independent check ran, so please look at it yourself";
  }
}

function publishedWords(publish: PublishWords): string {
  switch (publish.kind) {
    case "published": {
      const { branch, commit, files } = publish;
      const count = files.length === 1 ? "1 file" : `${files.length} files`;
      const place = `commit ${code(commit.slice(0, 12))} on branch ${code(branch)}`;
      return paragraphs([
        `Published: ${count} in ${place}${pullWords(publish)}.`,
        listOf(files.map((file) => code(file))),
      ]);
    }
    case "empty":
      return "No file was changed, so there was nothing to publish.";
    case "none":
      return "Nothing was to be published.";
  }
}

function pullWords({ pullNumber, pullUrl }: PublishWords & { kind: "published" }): string {
  if (pullNumber === null) return "";
  return `, pull request ${pullUrl === null ? `#${pullNumber}` : link(`#${pullNumber}`, pullUrl)}`;
}
