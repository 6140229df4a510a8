// Runs the declared steps of a task (spec 5.6): each step is one call with exit code and output, recorded before it
// starts and after it ended. A step that succeeded never runs again; one that was cut off only where that is safe.

import { formatDuration } from "../../policies/durations.ts";
import { Failure } from "../../policies/failure.ts";
import type { TurnEnd } from "../../policies/mandate/mandate.ts";
import type { Step } from "../../policies/policy-file/step.ts";
import {
  afterStep,
  doneSteps,
  nextStep,
  startStep,
  stepArgv,
  stepLabel,
  stepWait,
  type TaskProgress,
} from "../../policies/tasks.ts";
import { checkoutMarker, taskEnvironment } from "../environment.ts";
import { exec, type ExecResult } from "../exec.ts";
import { failureWords } from "../failure-words.ts";
import { processesOf } from "../processes.ts";
import { isInPlace } from "../repository/checkout.ts";
import { saveState } from "../repository/saved-state.ts";
import type { Bench, Worked } from "../run-turn.ts";
import type { CallRecord, Work } from "../runner.ts";

type TaskWork = Extract<Work, { kind: "task" }>;

/** Bytes of a step's output that are kept, head and tail. */
const outputLimit = 1024 * 1024;

/** Goes on from the recorded progress until the task is done, waits, fails or is cut short. */
export async function runTask(bench: Bench, work: TaskWork): Promise<Worked> {
  const { task, name } = work.state;
  const calls: CallRecord[] = [];
  let { progress } = work.state;
  let granted = work.grantedStep;
  for (;;) {
    const next = nextStep(task, progress, granted);
    if (next.kind === "done") return done(name, { calls, progress });
    if (next.kind === "uncertain") return uncertain(name, { calls, progress, index: next.index });
    granted = null;
    const ran = await runStep(bench, work, { index: next.index, progress, sequence: calls.length });
    calls.push(ran.call);
    progress = ran.progress;
    const stop = await afterwards(bench, work, { ...ran, index: next.index });
    if (stop !== null) return { ...stop, reply: "", calls, progress };
  }
}

interface Ran {
  readonly call: CallRecord;
  readonly progress: TaskProgress;
  /** Null where the program could not even be started. */
  readonly result: ExecResult | null;
  readonly trouble: string | null;
}

async function runStep(
  bench: Bench,
  { state }: TaskWork,
  at: { index: number; progress: TaskProgress; sequence: number },
): Promise<Ran> {
  const { host } = bench;
  const step = stepAt(state.task.steps, at.index);
  const begun: CallRecord = {
    sequence: at.sequence,
    name: `${state.name} step ${at.index + 1}`,
    kind: "work",
    step: at.index,
    startedAt: host.now(),
    finishedAt: null,
    exitCode: null,
    isError: false,
    text: "",
  };
  const started = startStep(at.progress, at.index, begun.startedAt);
  await host.callStarted(begun, started);
  const { result, trouble } = await execute(bench, step, state.inputs);
  const exitCode = result?.exitCode ?? null;
  // What was cut off stays `started`: whether it may run again is decided by the next turn (2.5).
  const progress =
    result?.ended === "cancelled"
      ? started
      : afterStep(state.task, started, { index: at.index, exitCode });
  const call: CallRecord = {
    ...begun,
    finishedAt: host.now(),
    exitCode,
    isError: progress[at.index]?.state === "failed" || result?.ended === "cancelled",
    text: result === null ? "" : result.output.toString("utf8"),
  };
  if (progress[at.index]?.state === "succeeded") await saveStep(bench, progress);
  await host.callFinished(call, progress);
  return { call, progress, result, trouble };
}

/**
 * Before the step counts as done, so that whoever goes on elsewhere finds its files or knows that they are missing. While
 * something of it still runs nothing can be saved; the end of the turn ends that and saves.
 */
async function saveStep({ checkout, request }: Bench, progress: TaskProgress): Promise<void> {
  if (request.savesSteps !== true || !(await isInPlace(checkout))) return;
  if ((await processesOf(checkout)).ours.length > 0) return;
  try {
    await saveState(checkout, { doneSteps: doneSteps(progress) });
  } catch (error) {
    // A full disk, for instance: the end of the turn meets it again and tells it.
    if (!(error instanceof Failure)) throw error;
  }
}

function stepAt(steps: readonly Step[], index: number): Step {
  const step = steps[index];
  if (step === undefined) throw new RangeError(`there is no step ${index}`);
  return step;
}

async function execute(
  bench: Bench,
  step: Step,
  inputs: Readonly<Record<string, string>>,
): Promise<{ result: ExecResult | null; trouble: string | null }> {
  const { checkout, host, request } = bench;
  const leftMs = request.endsAt - host.now();
  try {
    const result = await exec({
      argv: stepArgv(step),
      cwd: checkout.workTree,
      env: taskEnvironment(bench.environment, {
        ...inputs,
        HOME: bench.privateHome,
        [checkoutMarker]: checkout.workTree,
      }),
      deadlineMs: Math.max(1, Math.min(step.timeoutMs ?? leftMs, leftMs)),
      outputLimit,
      onExcess: "trim",
      signal: host.signal,
    });
    return { result, trouble: null };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { result: null, trouble: failureWords(error) };
  }
}

/** Null: the step succeeded and the next one follows. */
async function afterwards(
  bench: Bench,
  { state }: TaskWork,
  ran: Ran & { index: number },
): Promise<Pick<Worked, "end" | "report"> | null> {
  const { index, progress, result } = ran;
  if (result?.ended === "cancelled")
    return { end: { kind: "cancelled", by: "stop" }, report: null };
  const outcome = progress[index]?.state;
  if (outcome === "succeeded") return null;
  if (outcome === "waiting") {
    const wait = stepWait(state.task, { name: state.name, index }, bench.host.now());
    if (wait !== null) {
      return { end: { kind: "completed" }, report: { kind: "waiting", reason: wait.reason, wait } };
    }
  }
  return { end: failedEnd(stepAt(state.task.steps, index), state.name, ran), report: null };
}

/** A step that looks before it acts is tried again by the host; any other failure needs a person's decision. */
function failedEnd(step: Step, name: string, ran: Ran & { index: number }): TurnEnd {
  const what = `step ${ran.index + 1} of ${name} (${stepLabel(step)}) ${endWords(step, ran)}`;
  const mayRepeat = step.wait !== undefined || step.repeat === "safe";
  return mayRepeat ? { kind: "failed", phase: "running", what } : { kind: "step-failed", what };
}

function endWords(step: Step, { result, trouble }: Ran): string {
  if (result === null) return `could not be run: ${trouble ?? "it could not be started"}`;
  if (result.ended === "timeout") {
    const limit =
      step.timeoutMs === null
        ? "its turn may take"
        : `its limit of ${formatDuration(step.timeoutMs)}`;
    return `ran longer than ${limit} and was ended`;
  }
  if (result.exitCode === null) return `was ended by ${result.signalName ?? "a signal"}`;
  return `ended with exit code ${result.exitCode}`;
}

function done(name: string, at: { calls: readonly CallRecord[]; progress: TaskProgress }): Worked {
  const count = at.progress.length;
  const steps = count === 1 ? "its one step" : `all ${count} steps`;
  const summary = `The task ${name} is done: ${steps} ended with exit code 0.`;
  const report = { kind: "completed", summary } as const;
  return { end: { kind: "completed" }, report, reply: summary, ...at };
}

function uncertain(
  name: string,
  at: { calls: readonly CallRecord[]; progress: TaskProgress; index: number },
): Worked {
  const what = `step ${at.index + 1} of ${name} was cut off while it ran, and it does not say that it may be repeated`;
  const { calls, progress } = at;
  return { end: { kind: "uncertain", what }, report: null, reply: "", calls, progress };
}
