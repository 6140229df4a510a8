// Tasks: steps declared in the policy file (spec 5.6), their inputs and how far one has come.
// Pure: says which step runs next; running it and keeping its result is the shell's part.

import * as z from "zod";
import { stricter, type Level } from "./authority.ts";
import type { WaitRequest } from "./mandate/mandate.ts";
import { nearest } from "./policy-file/nearest.ts";
import { compilePattern, matches } from "./policy-file/pattern.ts";
import { Secrets, Step } from "./policy-file/step.ts";
import { VariableName } from "./policy-file/values.ts";

const Input = z
  .strictObject({
    required: z.boolean().prefault(false),
    pattern: z.string().max(500).optional(),
    default: z.string().max(1_000).optional(),
  })
  .superRefine((input, context) => {
    const pattern = compilePattern(input.pattern ?? "");
    if (!pattern.ok)
      context.addIssue({ code: "custom", path: ["pattern"], message: pattern.problem });
    if (input.default === undefined || !pattern.ok) return;
    if (input.required) {
      context.addIssue({ code: "custom", path: ["default"], message: "a required input has none" });
    }
    const problem = valueProblem(input, input.default);
    if (problem !== null) context.addIssue({ code: "custom", path: ["default"], message: problem });
  });
type Input = z.infer<typeof Input>;

/** A task as declared. It is copied into the mandate as plain JSON when a person asks for it. */
export const Task = z
  .strictObject({
    steps: z.array(Step).min(1).max(50),
    needs: z
      .enum(["write", "maintain", "admin"], { error: "expected write, maintain or admin" })
      .prefault("write"),
    inputs: z.record(VariableName, Input).prefault({}),
    on: z.enum(["default", "head"]).prefault("default"),
    network: z.boolean().prefault(false),
    secrets: Secrets.prefault([]),
  })
  .superRefine((task, context) => {
    const parts = [task, ...task.steps];
    if (task.on === "head" && parts.some((part) => part.network || part.secrets.length > 0)) {
      const message = "on a pull request's head a task gets no network and no secrets";
      context.addIssue({ code: "custom", path: ["on"], message });
    }
    const clash = parts
      .flatMap((part) => part.secrets)
      .find((name) => Object.hasOwn(task.inputs, name));
    if (clash === undefined) return;
    const message = "an input cannot have the name of a secret";
    context.addIssue({ code: "custom", path: ["inputs", clash], message });
  });
export type Task = z.infer<typeof Task>;

const valueLimit = 1_000;

export type InputsDecision =
  | { readonly ok: true; readonly values: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Checks what a person gave against the declaration; all problems together. Values become variables, never text. */
export function checkInputs(task: Task, given: Readonly<Record<string, string>>): InputsDecision {
  const names = Object.keys(task.inputs);
  const problems = Object.keys(given)
    .filter((name) => !Object.hasOwn(task.inputs, name))
    .map((name) => unknownInput(name, names));
  const values: Record<string, string> = {};
  for (const [name, input] of Object.entries(task.inputs)) {
    const value = Object.hasOwn(given, name) ? given[name] : input.default;
    if (value === undefined) {
      if (input.required) problems.push(`${name} is missing: ${name}=…`);
      continue;
    }
    const problem = valueProblem(input, value);
    if (problem === null) values[name] = value;
    else problems.push(`${name} ${problem}`);
  }
  return problems.length === 0 ? { ok: true, values } : { ok: false, problems };
}

function unknownInput(name: string, names: readonly string[]): string {
  const near = nearest(name, names);
  if (near !== null) return `${name} is no input of this task, did you mean ${near}?`;
  const known = names.length === 0 ? "it has none" : `it has ${names.join(", ")}`;
  return `${name} is no input of this task, ${known}`;
}

function valueProblem(input: Input, value: string): string | null {
  if (value.length > valueLimit) return `has more than ${valueLimit} characters`;
  // eslint-disable-next-line no-control-regex -- a line end would forge a second variable in logs
  if (/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(value)) {
    return "holds a line end or another control character";
  }
  if (input.pattern === undefined) return null;
  const compiled = compilePattern(input.pattern);
  const fits = compiled.ok && matches(compiled.pattern, value);
  return fits ? null : `does not fit the pattern ${input.pattern}`;
}

/** The program and arguments of a step. */
export function stepArgv(step: Step): readonly string[] {
  return typeof step.run === "string" ? ["/bin/sh", "-c", step.run] : step.run;
}

/** What the step asks settings for: its own and what the task asks for every step. */
export function stepNeeds(
  task: Task,
  step: Step,
): { readonly network: boolean; readonly secrets: readonly string[] } {
  return {
    network: task.network || step.network,
    secrets: [...new Set([...task.secrets, ...step.secrets])],
  };
}

/** What is known of one step; `started` found in a later turn means that it was cut off. */
export interface StepProgress {
  readonly state: "open" | "started" | "waiting" | "succeeded" | "failed";
  readonly exitCode?: number | null;
  readonly startedAt?: number;
}

/** Plain JSON, one entry per step, kept in the ledger. */
export type TaskProgress = readonly StepProgress[];

export function beginTask(task: Task): TaskProgress {
  return task.steps.map(() => ({ state: "open" }));
}

export type NextStep =
  | { readonly kind: "run"; readonly index: number }
  | { readonly kind: "done" }
  | { readonly kind: "uncertain"; readonly index: number };

/**
 * The first step that has not succeeded. One that was cut off runs again only when it looks before it acts or a
 * person granted it: `recovering` is the index that a recovery grant (2.6) names.
 */
export function nextStep(
  task: Task,
  progress: TaskProgress,
  recovering: number | null = null,
): NextStep {
  const index = task.steps.findIndex((_, at) => progress[at]?.state !== "succeeded");
  const step = task.steps[index];
  if (step === undefined) return { kind: "done" };
  const mayRepeat = step.wait !== undefined || step.repeat === "safe" || recovering === index;
  const wasCutOff = progress[index]?.state === "started";
  return { kind: wasCutOff && !mayRepeat ? "uncertain" : "run", index };
}

/** To be committed before the step's process starts. */
export function startStep(progress: TaskProgress, index: number, now: number): TaskProgress {
  return progress.with(index, { state: "started", startedAt: now });
}

/** Exit code of a step that waits for something (spec 5.6). */
export const notYetExitCode = 75;

/** Exit 0 goes on, 75 waits where the step declares a wait, all else failed; null = it was killed. */
export function afterStep(
  task: Task,
  progress: TaskProgress,
  ended: { readonly index: number; readonly exitCode: number | null },
): TaskProgress {
  const { index, exitCode } = ended;
  const isWaiting = exitCode === notYetExitCode && task.steps[index]?.wait !== undefined;
  const state = exitCode === 0 ? "succeeded" : isWaiting ? "waiting" : "failed";
  return progress.with(index, { ...progress[index], state, exitCode });
}

/**
 * The wait of a step that is not ready yet. Its subject names the step, by which a registration at the recheck
 * keeps the first deadline (waits.ts, I6). Null when the step declares none.
 */
export function stepWait(
  task: Task,
  step: { readonly name: string; readonly index: number },
  now: number,
): WaitRequest | null {
  const declared = task.steps[step.index];
  if (declared?.wait === undefined) return null;
  const title = `step ${step.index + 1} of ${step.name}`;
  return {
    reason: `${title} is not ready yet: ${stepLabel(declared)}`,
    nextStep: `run ${title} again`,
    everyMs: declared.wait.everyMs,
    deadlineAt: now + declared.wait.forMs,
    signals: declared.wait.signals,
    subject: `step-${step.index + 1}`,
  };
}

/**
 * Steps whose wait cannot run out: a look that shows nothing new is an attempt (2.4), and the stall limit ends the
 * mandate first.
 */
export function stallingSteps(
  task: Task,
  stallLimit: number,
): { readonly index: number; readonly looks: number }[] {
  return task.steps.flatMap(({ wait }, index) => {
    const looks = wait === undefined ? 0 : Math.floor(wait.forMs / wait.everyMs);
    return looks > stallLimit ? [{ index, looks }] : [];
  });
}

export function doneSteps(progress: TaskProgress): number {
  return progress.filter(({ state }) => state === "succeeded").length;
}

/** How a task is asked for, with what it cannot do without: `rollout TAG=…`. */
export function taskExample(name: string, task: Task): string {
  const needed = Object.entries(task.inputs).filter(([, input]) => input.required);
  return [name, ...needed.map(([key]) => `${key}=…`)].join(" ");
}

/** The command on one line, cut to 120 characters, for people. */
export function stepLabel(step: Step): string {
  const text = (typeof step.run === "string" ? step.run : step.run.join(" ")).trim();
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}

/** The level for `run` of this task: its `needs` and what the policy file asks, the stricter wins. */
export function taskNeeds(task: Task, level: Level): Level {
  return stricter(task.needs, level);
}
