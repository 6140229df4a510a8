// What a person reads when a command is refused (spec 1.4, 1.5, 1.6): what happened, why, and what would fit.
// Refusals are values; nothing here decides one, and no exception's text is ever in one.

import type { Level } from "../../policies/authority.ts";
import type { CommandError, Keyword } from "../../policies/commands/commands.ts";
import { bothReadings, commandTable, formsOf } from "../../policies/commands/commands.ts";
import type { PolicyProblem } from "../../policies/policy-file.ts";
import type { MandateFacts } from "./facts.ts";
import { listOf, paragraphs } from "./facts.ts";
import { code, plain } from "./neutralise.ts";
import { sentenceFor } from "./status.ts";

type Candidate = Pick<MandateFacts, "id" | "title">;

export type Refusal =
  | {
      readonly kind: "not-permitted";
      readonly keyword: Keyword;
      readonly needs: Level;
      readonly has: Level;
    }
  | { readonly kind: "unparsable"; readonly errors: readonly CommandError[] }
  | {
      readonly kind: "unknown-task";
      readonly task: string;
      readonly tasks: readonly string[];
      /** The working folder has a policy file that differs from the committed one. */
      readonly isUncommitted?: boolean;
    }
  | { readonly kind: "wrong-inputs"; readonly task: string; readonly problems: readonly string[] }
  /** A command that does not fit the mandate's state; `fitting` are the keywords that do. */
  | {
      readonly kind: "wrong-state";
      readonly facts: MandateFacts;
      readonly keyword: Keyword;
      readonly fitting: readonly Keyword[];
    }
  | { readonly kind: "not-in-version"; readonly keyword: Keyword }
  | { readonly kind: "unreadable" }
  | { readonly kind: "too-many-commands"; readonly limit: number }
  | { readonly kind: "unknown-id"; readonly id: string; readonly candidates: readonly Candidate[] }
  /** `maximum` as a person writes it: `30d`, `200 turns`. */
  | { readonly kind: "beyond-maximum"; readonly what: string; readonly maximum: string }
  | { readonly kind: "policy-invalid"; readonly problems: readonly PolicyProblem[] }
  /** Several mandates ask a person, and the answer names none. */
  | { readonly kind: "which-mandate"; readonly candidates: readonly Candidate[] }
  | { readonly kind: "edited" }
  /** The operator's settings let nothing run here. */
  | { readonly kind: "may-not-run"; readonly isFork: boolean }
  | { readonly kind: "no-agent"; readonly tasks: readonly string[] }
  | { readonly kind: "muted"; readonly limit: number };

export function refusalNotice(refusal: Refusal, mention: string): string {
  switch (refusal.kind) {
    case "not-permitted":
      return notPermitted(refusal, mention);
    case "unparsable":
      return unparsable(refusal.errors);
    case "unknown-task":
      return paragraphs([
        `There is no task ${code(refusal.task)} here, so nothing was started.`,
        `What you wrote can be read in two ways: ${bothReadings("run", mention)}.`,
        taskWords(refusal.tasks, mention),
        refusal.isUncommitted === true
          ? "The `.holdfast.yml` in the working folder is not committed as it is; only what is committed on the default branch counts."
          : null,
      ]);
    case "wrong-inputs":
      return paragraphs([
        `The inputs of the task ${code(refusal.task)} do not fit it, so nothing was started.`,
        listOf(refusal.problems.map((problem) => plain(problem))),
        `What you wrote can be read in two ways: ${bothReadings("run", mention)}.`,
      ]);
    case "wrong-state":
      return wrongState(refusal, mention);
    case "not-in-version":
      return `\`${refusal.keyword}\` is known, but this version of Holdfast cannot do it yet. Nothing was started.`;
    case "unreadable":
      return "This comment could not be read in time, so nothing in it was started. Please write the command in a short comment of its own.";
    case "too-many-commands":
      return `A comment holds at most ${refusal.limit} commands, and this one has more. None of them was started; please use several comments.`;
    case "unknown-id":
      return paragraphs([
        `There is no mandate ${code(refusal.id)} in this conversation, so nothing was changed.`,
        candidateWords("These are here:", refusal.candidates),
      ]);
    case "beyond-maximum":
      return `${sentence(plain(refusal.what))} is beyond the maximum that is allowed here, ${plain(refusal.maximum)}. Nothing was changed; please write a smaller one.`;
    case "policy-invalid":
      return policyInvalid(refusal);
    case "which-mandate":
      return paragraphs([
        candidateWords("Several mandates ask a person here:", refusal.candidates),
        `Which one do you answer? Please write ${formsOf("reply", mention)}.`,
      ]);
    case "edited":
      return "An edited comment starts nothing. To give this command, please write it in a new comment.";
    case "may-not-run":
      return mayNotRun(refusal.isFork);
    case "no-agent":
      return noAgent(refusal.tasks, mention);
    case "muted":
      return `There were more than ${refusal.limit} answers to commands in this conversation within an hour. Hints and refusals are left out here for the rest of the hour; results, questions and blocked notices still come.`;
  }
}

function mayNotRun(isFork: boolean): string {
  const why = isFork
    ? "The head of this pull request lies in a fork, and without a sandbox nothing of a fork is run here"
    : "The operator of this installation has not named this repository under `repositories` in settings.yaml";
  return `${why} (\`not-permitted\`). Nothing was started.`;
}

function notPermitted(refusal: Refusal & { kind: "not-permitted" }, mention: string): string {
  const { keyword, needs, has } = refusal;
  return paragraphs([
    `\`${keyword}\` needs the permission ${needs} in this repository, and you have ${has} (\`not-permitted\`). Nothing was started.`,
    `\`@${mention} help\` shows what you may use here.`,
  ]);
}

function unparsable(errors: readonly CommandError[]): string {
  const lines = errors.map(
    ({ line, problem, suggestion }) => `Line ${line}: ${problem}. What fits: ${suggestion}.`,
  );
  return paragraphs([
    "I could not read this as a command, so nothing in the comment was started.",
    listOf(lines),
    "Please write it again in a new comment; an edit starts nothing.",
  ]);
}

function wrongState(refusal: Refusal & { kind: "wrong-state" }, mention: string): string {
  const { facts, keyword, fitting } = refusal;
  return paragraphs([
    `\`${keyword}\` does not fit ${code(facts.id)} as it is, so nothing was changed. ${plain(sentenceFor(facts), 500)}`,
    fitting.length === 0
      ? `\`@${mention} do …\` starts something new.`
      : `What fits it: ${fitting.map((one) => filledForms(one, { id: facts.id, mention })).join(", ")}.`,
  ]);
}

function filledForms(keyword: Keyword, { id, mention }: { id: string; mention: string }): string {
  const rows = commandTable.filter((row) => row.keyword === keyword);
  return rows.map(({ form }) => `\`@${mention} ${form.replace(/<id>|\[id\]/, id)}\``).join(" or ");
}

function policyInvalid({ problems }: Refusal & { kind: "policy-invalid" }): string {
  const lines = problems.map(({ file, line, column, path, problem, suggestion }) => {
    const near = suggestion === null ? "" : ` Did you mean ${code(suggestion)}?`;
    const key = path === "" ? "" : `${code(path)}: `;
    return `${code(file)}, line ${line}, column ${column}: ${key}${plain(problem)}.${near}`;
  });
  return paragraphs([
    "The policy file on the default branch has errors (`policy-invalid`), so nothing was started.",
    listOf(lines),
    "Please mend it and write the command again.",
  ]);
}

function noAgent(tasks: readonly string[], mention: string): string {
  const start =
    "No agent is set up here, so a request in words cannot be worked on. Nothing was started.";
  if (tasks.length > 0) return paragraphs([start, taskWords(tasks, mention)]);
  return `${start} This repository declares no tasks either; they go into its \`.holdfast.yml\`.`;
}

function taskWords(tasks: readonly string[], mention: string): string | null {
  if (tasks.length === 0) return "This repository declares no tasks.";
  const lines = tasks.map((task) => code(`@${mention} run ${task}`));
  return `The tasks of this repository:\n\n${listOf(lines)}`;
}

function candidateWords(start: string, candidates: readonly Candidate[]): string | null {
  if (candidates.length === 0) return null;
  const lines = candidates.map(({ id, title }) => `${code(id)}: ${plain(title)}`);
  return `${start}\n\n${listOf(lines)}`;
}

function sentence(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
