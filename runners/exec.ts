// The only place that spawns a process (spec 5.7): argv, no shell, a group of its own, a deadline, an output cap.
// Nothing of the group survives the call; a process that left the group by setsid is found by processes.ts.

import { strict as assert } from "node:assert";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { Failure } from "../policies/failure.ts";
import { errorCode } from "./disk.ts";

export type Input = Buffer | AsyncIterable<Buffer>;
export type Ended = "exited" | "timeout" | "cancelled" | "output-limit";

export interface ExecOptions {
  argv: readonly string[];
  cwd: string;
  /** The whole environment; nothing is inherited. */
  env: Readonly<Record<string, string>>;
  input?: Input | undefined;
  /** One line for the program and its children on descriptor 3: a secret that no argument or environment shows. */
  secret?: string | undefined;
  deadlineMs: number;
  /** From SIGTERM to SIGKILL; 5 s by default. */
  graceMs?: number | undefined;
  /** Bytes kept of each of stdout, stderr and output. */
  outputLimit: number;
  /** Beyond the limit: `trim` keeps head and tail and lets it run, `end` keeps the head and kills. */
  onExcess?: "trim" | "end" | undefined;
  signal?: AbortSignal | undefined;
  onStart?: ((pid: number) => void) | undefined;
  onOutput?: ((chunk: Buffer) => void) | undefined;
}

export interface ExecResult {
  /** Null when a signal ended it or it was cancelled before it began. */
  exitCode: number | null;
  signalName: string | null;
  stdout: Buffer;
  stderr: Buffer;
  /** Both streams in the order they arrived. */
  output: Buffer;
  /** Bytes written by the process, kept or not. */
  outputLength: number;
  ended: Ended;
}

const timerMsLimit = 2_147_483_647;
// A grandchild that left the group may hold the pipes open for ever: what it says later is not ours.
const drainMs = 500;
const deafCodes = new Set(["EPIPE", "ECONNRESET", "ERR_STREAM_PREMATURE_CLOSE"]);

/** Runs one program to its end. Throws Failure `spawn-failed`; every other ending is a result. */
export async function exec(options: ExecOptions): Promise<ExecResult> {
  const output = keepOutput(options);
  if (isAborted(options.signal)) return output.result([null, null], "cancelled");
  const { child, pid } = await start(options);
  let ended: Ended = "exited";
  let killer: NodeJS.Timeout | undefined;
  function stop(why: Ended): void {
    if (ended !== "exited") return;
    ended = why;
    signalGroup(pid, "SIGTERM");
    killer = setTimeout(signalGroup, options.graceMs ?? 5_000, pid, "SIGKILL");
  }
  function cancel(): void {
    stop("cancelled");
  }
  const deadline = setTimeout(stop, Math.min(options.deadlineMs, timerMsLimit), "timeout");
  options.signal?.addEventListener("abort", cancel, { once: true });
  if (isAborted(options.signal)) cancel();

  const closed = once(child, "close");
  const fed = feed(child.stdin, options.input);
  handOver(child, options.secret);
  output.listen(child, () => stop("output-limit"));
  const how: unknown[] = await once(child, "exit");
  clearTimeout(deadline);
  clearTimeout(killer);
  options.signal?.removeEventListener("abort", cancel);
  signalGroup(pid, "SIGKILL");
  child.stdin?.destroy();
  await Promise.race([closed, pause(drainMs, undefined, { ref: false })]);
  child.stdout?.destroy();
  child.stderr?.destroy();
  const inputError = await fed;
  if (inputError !== undefined) throw inputError;
  return output.result(how, ended);
}

/** Ends these processes, first politely; resolves when they are gone or after twice the grace. */
export async function endAll(pids: readonly number[], graceMs = 5_000): Promise<void> {
  for (const name of ["SIGTERM", "SIGKILL"] as const) {
    for (const pid of pids) sendSignal(pid, name);
    for (let waited = 0; waited < graceMs && pids.some(isAlive); waited += 20) await pause(20);
  }
}

async function start(options: ExecOptions): Promise<{ child: ChildProcess; pid: number }> {
  const [file, ...args] = options.argv;
  assert(file !== undefined, "argv names a program");
  try {
    const child = spawn(file, args, {
      cwd: options.cwd,
      env: { ...options.env },
      stdio: [
        options.input === undefined ? "ignore" : "pipe",
        "pipe",
        "pipe",
        ...(options.secret === undefined ? [] : ["pipe" as const]),
      ],
      detached: true,
    });
    await once(child, "spawn");
    assert(child.pid !== undefined, "a spawned process has a pid");
    options.onStart?.(child.pid);
    return { child, pid: child.pid };
  } catch (cause) {
    throw new Failure("spawn-failed", "later", { message: `cannot start ${file}`, cause });
  }
}

async function feed(stdin: Writable | null, input: Input | undefined): Promise<Error | undefined> {
  if (stdin === null || input === undefined) return undefined;
  try {
    await pipeline(Buffer.isBuffer(input) ? [input] : input, stdin);
    return undefined;
  } catch (error) {
    const reason = error instanceof Error ? error : new Error("the input failed", { cause: error });
    // A program may end without reading its input; that is its business.
    return deafCodes.has(errorCode(reason)) ? undefined : reason;
  }
}

/** Nobody may ask for it, and then it is gone with the process. */
function handOver(child: ChildProcess, secret: string | undefined): void {
  const pipe = child.stdio[3];
  if (secret === undefined || !(pipe instanceof Writable)) return;
  pipe.on("error", () => undefined);
  pipe.end(`${secret}\n`);
}

function keepOutput(options: ExecOptions) {
  const { outputLimit, onExcess = "trim", onOutput } = options;
  const tailLimit = onExcess === "trim" ? Math.floor(outputLimit / 2) : 0;
  const headLimit = outputLimit - tailLimit;
  const stdout = keepEnds(headLimit, tailLimit);
  const stderr = keepEnds(headLimit, tailLimit);
  const both = keepEnds(headLimit, tailLimit);
  let outputLength = 0;
  return {
    listen(child: ChildProcess, exceed: () => void): void {
      function take(kept: Ends, chunk: Buffer): void {
        outputLength += chunk.length;
        kept.add(chunk);
        both.add(chunk);
        onOutput?.(chunk);
        if (onExcess === "end" && outputLength > outputLimit) exceed();
      }
      child.stdout?.on("data", (chunk: Buffer) => take(stdout, chunk));
      child.stderr?.on("data", (chunk: Buffer) => take(stderr, chunk));
    },
    result([code, name]: unknown[], ended: Ended): ExecResult {
      return {
        exitCode: typeof code === "number" ? code : null,
        signalName: typeof name === "string" ? name : null,
        stdout: stdout.value(),
        stderr: stderr.value(),
        output: both.value(),
        outputLength,
        ended,
      };
    },
  };
}

interface Ends {
  add(chunk: Buffer): void;
  value(): Buffer;
}

function keepEnds(headLimit: number, tailLimit: number): Ends {
  const head: Buffer[] = [];
  const tail: Buffer[] = [];
  let headRoom = headLimit;
  let tailLength = 0;
  let droppedLength = 0;
  return {
    add(chunk) {
      const first = chunk.subarray(0, headRoom);
      headRoom -= first.length;
      head.push(first);
      tail.push(chunk.subarray(first.length));
      tailLength += chunk.length - first.length;
      while (tailLength > tailLimit) {
        const oldest = tail.shift() ?? Buffer.alloc(0);
        const dropped = Math.min(oldest.length, tailLength - tailLimit);
        if (dropped < oldest.length) tail.unshift(oldest.subarray(dropped));
        tailLength -= dropped;
        droppedLength += dropped;
      }
    },
    value() {
      const gap = droppedLength > 0 && tailLimit > 0 ? `\n[${droppedLength} bytes left out]\n` : "";
      return Buffer.concat([...head, Buffer.from(gap), ...tail]);
    },
  };
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

function signalGroup(pid: number, name: NodeJS.Signals): void {
  sendSignal(-pid, name);
}

function sendSignal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false; // Gone, or not ours: both mean there is nothing to end.
  }
}

/** A zombie counts as ended: its parent, which is not us, only has not looked yet. */
function isAlive(pid: number): boolean {
  return sendSignal(pid, 0) && !/\) [ZX] /.test(statOf(pid));
}

function statOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return "";
  }
}
