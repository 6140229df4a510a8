// The one thread in which scans run (spec 5.2), so that no big checkout stops the server from answering.
// It only scans: started with the first request, kept for the next, and no reason to stay alive.

import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { scan, type Scan, type ScanRequest } from "./files.ts";

const threadName = "holdfast-scan";

interface Waiting {
  resolve(scan: Scan): void;
  reject(error: Error): void;
}

interface Thread {
  worker: Worker;
  /** In the order of asking, which is the order of the answers. */
  waiting: Waiting[];
}

let thread: Thread | null = null;

/** Scans in a worker thread that is kept for the next call; rejects when the thread dies. */
export function scanInThread(request: ScanRequest): Promise<Scan> {
  return new Promise((resolve, reject) => {
    thread ??= startThread();
    thread.worker.ref();
    thread.waiting.push({ resolve, reject });
    thread.worker.postMessage(request, []);
  });
}

function startThread(): Thread {
  const worker = new Worker(new URL(import.meta.url), { workerData: threadName, env: {} });
  const started: Thread = { worker, waiting: [] };
  worker.on("message", (answer: Answer) => {
    const asked = started.waiting.shift();
    // An idle thread keeps nobody from leaving.
    if (started.waiting.length === 0) worker.unref();
    if ("error" in answer) asked?.reject(new Error(answer.error));
    else asked?.resolve({ ...answer, indexInfo: Buffer.from(answer.indexInfo) });
  });
  function end(error: Error): void {
    if (thread === started) thread = null;
    for (const asked of started.waiting.splice(0)) asked.reject(error);
  }
  worker.on("error", (error) => end(error instanceof Error ? error : new Error(String(error))));
  worker.on("exit", (code) => end(new Error(`the scan ended with ${code}`)));
  return started;
}

type Answer = Scan | { error: string };

function answer(request: ScanRequest): Answer {
  try {
    return scan(request);
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

if (!isMainThread && workerData === threadName) {
  parentPort?.on("message", (request: ScanRequest) => parentPort?.postMessage(answer(request), []));
}
