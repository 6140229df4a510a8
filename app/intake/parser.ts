// Reads commands out of comments in a worker thread with a time limit (spec 1.4), so that a hostile
// comment costs its author an answer and nobody else anything. Never parses on the caller's thread.

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { ParsedComment } from "../../policies/commands/commands.ts";
import type { MentionOption } from "../../policies/commands/comment.ts";
import type { ParseRequest } from "./parser-thread.ts";

/** From handing over to answer; a comment that takes longer is refused. */
export const parseWallMsLimit = 250;
/** The timer fires early enough for the refusal itself to be on time. */
const timerSlackMs = 10;
const heapMbLimit = 128;

/** No text of so many characters takes more than a few milliseconds, however it is built. */
const shortLimit = 1_024;

export type Parsing =
  | { readonly ok: true; readonly comment: ParsedComment }
  | { readonly ok: false; readonly problem: "unreadable" };

export interface Parser {
  /**
   * The commands of a comment, or `unreadable` when it took too long or too much memory.
   * Comments are parsed one after another; waiting for its turn does not count against the limit.
   * Rejects when closed and when no thread can be started.
   */
  parse(body: string, options: MentionOption): Promise<Parsing>;
  close(): Promise<void>;
}

/** Starts its thread at once and a spare one: neither the first comment nor one after a hostile one waits. */
export function openParser(): Parser {
  let thread = startThread();
  let spare = startThread();
  let last: Promise<unknown> = Promise.resolve();
  let isOpen = true;

  async function parseNext(request: ParseRequest): Promise<Parsing> {
    if (!isOpen) throw new Error("the parser is closed");
    const worker = await thread.catch(replace);
    const comment = await answerOf(worker, request);
    if (comment !== null) return { ok: true, comment };
    worker.terminate().catch(ignore);
    replace().catch(ignore);
    return { ok: false, problem: "unreadable" };
  }

  /** A short text is never what took so long, the machine was: it gets a second chance. */
  async function parseFairly(request: ParseRequest): Promise<Parsing> {
    const parsing = await parseNext(request);
    return parsing.ok || request.body.length > shortLimit ? parsing : parseNext(request);
  }

  function replace(): Promise<Worker> {
    thread = spare;
    spare = startThread();
    return thread;
  }

  return {
    parse(body, options) {
      const parsing = last.then(() => parseFairly({ body, options }));
      last = parsing.catch(() => null);
      return parsing;
    },
    async close() {
      isOpen = false;
      await last;
      const threads = await Promise.allSettled([thread, spare]);
      for (const started of threads) {
        if (started.status === "fulfilled") await started.value.terminate();
      }
    },
  };
}

/** A thread that has said it is ready. An idle one keeps no process alive. */
function startThread(): Promise<Worker> {
  const worker = new Worker(new URL("parser-thread.ts", import.meta.url), {
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: heapMbLimit },
  });
  const ready = once(worker, "message").then(() => {
    worker.on("error", ignore);
    worker.unref();
    return worker;
  });
  ready.catch(ignore);
  return ready;
}

/** A dying thread is seen as its exit; a failed start rejects at its next use. */
function ignore(): void {}

/** What the thread found, or null when it ran out of time or died. */
function answerOf(worker: Worker, request: ParseRequest): Promise<ParsedComment | null> {
  const { promise, resolve } = Promise.withResolvers<ParsedComment | null>();
  function giveUp(): void {
    resolve(null);
  }
  const timer = setTimeout(giveUp, parseWallMsLimit - timerSlackMs);
  worker.once("message", resolve);
  worker.once("exit", giveUp);
  worker.postMessage(request);
  return promise.finally(() => {
    clearTimeout(timer);
    worker.off("message", resolve);
    worker.off("exit", giveUp);
  });
}
