// The deterministic agent (spec 5.3): does what a script says for each turn. For tests, demonstrations and rehearsals
// of a set-up; it understands nothing and needs no model.

import { readFile, mkdir, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, join, normalize } from "node:path";
import { parseDuration } from "../../policies/durations.ts";
import { Failure } from "../../policies/failure.ts";
import type { Report, TurnEnd } from "../../policies/mandate/mandate.ts";
import { checkoutMarker, taskEnvironment } from "../environment.ts";
import { exec } from "../exec.ts";
import { failureWords } from "../failure-words.ts";
import type { Bench, Worked } from "../run-turn.ts";
import type { CallRecord, Work } from "../runner.ts";

/** One turn of a script; the last one repeats. `for` and `every` of a wait are durations. */
interface ScriptedTurn {
  readonly write?: Readonly<Record<string, string>>;
  readonly run?: readonly string[];
  readonly reply?: string;
  readonly report?:
    | Exclude<Report, { kind: "waiting" }>
    | {
        readonly kind: "waiting";
        readonly reason: string;
        readonly wait?: { readonly nextStep: string; readonly every: string; readonly for: string };
      };
  readonly end?: "died" | "refused" | "limit";
}

const outputLimit = 1024 * 1024;

export async function runScript(
  bench: Bench,
  work: Extract<Work, { kind: "scripted" }>,
): Promise<Worked> {
  const nothing = { report: null, reply: "", calls: [], progress: null };
  let turn: ScriptedTurn;
  const calls: CallRecord[] = [];
  try {
    turn = await turnOf(work.script, bench.request.turnNumber);
    await writeFiles(bench, turn.write ?? {});
    if (turn.run !== undefined) calls.push(await runCommand(bench, turn.run));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { ...nothing, end: { kind: "failed", phase: "running", what: failureWords(error) } };
  }
  return {
    end: endOf(bench, turn),
    report: reportOf(turn, bench.host.now()),
    reply: turn.reply ?? "",
    calls,
    progress: null,
  };
}

async function turnOf(script: string, number: number): Promise<ScriptedTurn> {
  try {
    const { turns } = JSON.parse(await readFile(script, "utf8")) as { turns: ScriptedTurn[] };
    return turns[number - 1] ?? turns[turns.length - 1] ?? {};
  } catch (error) {
    throw new Failure("bad-script", "never", { message: `${script} is no script`, cause: error });
  }
}

async function writeFiles(
  { checkout }: Bench,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    const path = normalize(name);
    if (isAbsolute(path) || path.startsWith("..")) {
      throw new Failure("bad-script", "never", { message: `${name} is outside the checkout` });
    }
    await mkdir(dirname(join(checkout.workTree, path)), { recursive: true });
    await writeFile(join(checkout.workTree, path), text);
  }
}

async function runCommand(bench: Bench, argv: readonly string[]): Promise<CallRecord> {
  const { host, checkout } = bench;
  const begun: CallRecord = {
    sequence: 0,
    name: "run",
    kind: "work",
    step: null,
    startedAt: host.now(),
    finishedAt: null,
    exitCode: null,
    isError: false,
    text: "",
  };
  await host.callStarted(begun, null);
  const given = { HOME: bench.privateHome, [checkoutMarker]: checkout.workTree };
  const result = await exec({
    argv,
    cwd: checkout.workTree,
    env: taskEnvironment(bench.environment, given),
    deadlineMs: Math.max(1, bench.request.endsAt - host.now()),
    outputLimit,
    onExcess: "trim",
    signal: host.signal,
  });
  const finished: CallRecord = {
    ...begun,
    finishedAt: host.now(),
    exitCode: result.exitCode,
    isError: result.exitCode !== 0,
    text: result.output.toString("utf8"),
  };
  await host.callFinished(finished, null);
  return finished;
}

function endOf({ host }: Bench, turn: ScriptedTurn): TurnEnd {
  if (host.signal.aborted) return { kind: "cancelled", by: "stop" };
  if (turn.end === undefined) return { kind: "completed" };
  return { kind: turn.end, what: "the script says so" };
}

function reportOf({ report }: ScriptedTurn, now: number): Report | null {
  if (report === undefined) return null;
  if (report.kind !== "waiting") return report;
  const { reason, wait } = report;
  if (wait === undefined) return { kind: "waiting", reason, wait: null };
  return {
    kind: "waiting",
    reason,
    wait: {
      reason,
      nextStep: wait.nextStep,
      everyMs: parseDuration(wait.every) ?? 0,
      deadlineAt: now + (parseDuration(wait.for) ?? 0),
      signals: [],
      subject: "",
    },
  };
}
