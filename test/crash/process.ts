// The product as a real process that can be killed (spec 8.4, Crash): started on a home and a repository of its own,
// spoken to over its page, judged by what its ledger holds. Reads the ledger read-only, so that looking heals nothing.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { latestComments } from "../../app/ledger/issues.ts";
import type { Sql, SqlValue } from "../../app/ledger/ledger.ts";
import { listMandates, type MandateRow } from "../../app/ledger/mandates.ts";
import { rowFrom } from "../../app/ledger/rows.ts";
import { endAllLeftovers } from "../../runners/processes.ts";
import { makeRepository, temporaryFolder, type TestRepository } from "../fakes/repository.ts";

const program = fileURLToPath(new URL("../../app/main.ts", import.meta.url));
const patienceMs = 90_000;
const lookMs = 25;
/** For tests that start several processes, on a machine that has other work. */
export const longTestMs = 150_000;
/** The issue that a first start opens. */
export const welcomeIssue = 1;
/** The account that Holdfast writes as on the local forge. */
const selfId = "2";

/** Leases, ticks and backoffs as short as a busy machine allows. */
export const quickTiming = {
  leaseMs: 2_000,
  renewMs: 300,
  loseMs: 1_600,
  quietMs: 300,
  sweepMs: 500,
  pollMs: 50,
  statusThrottleMs: 100,
  sendLeaseMs: 1_000,
  probeAfterMs: 300,
  retryFirstMs: 100,
  drainMs: 5_000,
};

export interface BenchOptions {
  /** The policy file as JSON, which is YAML. */
  readonly policy?: object;
  /** By default a fresh one with the policy file. */
  readonly repository?: TestRepository;
  readonly home?: string;
  readonly timing?: Partial<typeof quickTiming>;
}

export interface StartOptions {
  /** How far the process's clock runs ahead of the machine's. */
  readonly aheadMs?: number;
  readonly nodeOptions?: readonly string[];
  readonly home?: string;
}

/** A serving process. */
export interface Product {
  readonly pid: number;
  /** Resolves when it has printed its address; rejects when it ended before. */
  readonly ready: Promise<void>;
  /** Standard output and error so far. */
  readonly said: () => string;
  readonly hasEnded: () => boolean;
  get(path: string): Promise<{ status: number; text: string }>;
  /** Sends a form as a person's browser does; the status code, or null when nobody answered. */
  post(path: string, form: Readonly<Record<string, string>>): Promise<number | null>;
  /** Says something in a conversation and expects it to be taken. */
  say(number: number, body: string): Promise<void>;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM; its exit code. */
  end(): Promise<number | null>;
}

export type Bench = ReturnType<typeof openBench>;

/** A home, a repository with this policy file, and the processes that were started on them. */
export function openBench(options: BenchOptions) {
  const { policy = {}, timing, home = join(temporaryFolder(), "home") } = options;
  const files = { ".holdfast.yml": JSON.stringify(policy), "README.md": "hello\n" };
  const repository = options.repository ?? makeRepository(files);
  const products: Product[] = [];
  onTestFinished(async () => {
    for (const product of products) await product.kill();
    // Steps of a killed process live on: after a test nobody else would end them.
    await endAllLeftovers(join(home, "work"));
  });

  /** Starts the product and does not wait for it. */
  function launch(options: StartOptions = {}): Product {
    const clockAheadMs = options.aheadMs ?? 0;
    const child = startProcess(repository, {
      ...options,
      home: options.home ?? home,
      timing: { ...quickTiming, ...timing, clockAheadMs },
    });
    const product = productOf(child);
    products.push(product);
    return product;
  }

  return {
    home,
    repository,
    launch,
    async start(options: StartOptions = {}): Promise<Product> {
      const product = launch(options);
      await product.ready;
      return product;
    },
    read: <T>(question: (sql: Sql) => Promise<T>): Promise<T> => readLedger(home, question),
    mandates: (): Promise<MandateRow[]> =>
      readLedger(home, (sql) => listMandates(sql, { limit: 1_000 })),
    /** What Holdfast wrote in the first issue, oldest first, with its hidden markers. */
    async told(pattern = /(?:)/): Promise<string[]> {
      const texts = await readLedger(home, (sql) => toldIn(sql, welcomeIssue));
      return texts.filter((text) => pattern.test(text));
    },
    branches: () => repository.git(["branch", "--list", "--format=%(refname:short)", "holdfast/*"]),
    pulls: () =>
      readLedger(home, (sql) =>
        sql.all<{ number: number; head: string }>(
          "SELECT number, head FROM local_issue WHERE kind = 'pull' ORDER BY number",
        ),
      ),
  };
}

function startProcess(
  repository: TestRepository,
  options: StartOptions & { home: string; timing: object },
): ChildProcess {
  const { nodeOptions = [], home, timing } = options;
  const args = [...nodeOptions, program, "local", repository.path, "--port", "0"];
  const env = {
    PATH: process.env["PATH"],
    TZ: "UTC",
    HOLDFAST_HOME: home,
    HOLDFAST_TIMING: JSON.stringify(timing),
    // Processes that end in order leave their compiled sources to those after them.
    NODE_COMPILE_CACHE: join(tmpdir(), "node-compile-cache"),
  };
  return spawn(process.execPath, args, { cwd: "/", env, stdio: ["ignore", "pipe", "pipe"] });
}

function productOf(child: ChildProcess): Product {
  let said = "";
  let url = "";
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
  ready.catch(() => undefined);
  const gone = once(child, "close").then(() => reject(new Error(`it ended at once: ${said}`)));
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      said += chunk.toString("utf8");
      url = /http:\S+token=\w+/.exec(said)?.[0] ?? "";
      if (url !== "") resolve();
    });
  }

  async function request(path: string, init: RequestInit = {}): Promise<Response> {
    const { origin, port, searchParams } = new URL(url);
    const cookie = `holdfast-${port}=${searchParams.get("token") ?? ""}`;
    const headers = { origin, cookie };
    return fetch(`${origin}${path}`, { redirect: "manual", headers, ...init });
  }

  async function endBy(name: NodeJS.Signals): Promise<number | null> {
    child.kill(name);
    await gone;
    return child.exitCode;
  }

  async function post(path: string, form: Readonly<Record<string, string>>) {
    const body = new URLSearchParams(form);
    const answer = await request(path, { method: "POST", body }).catch(() => null);
    await answer?.arrayBuffer().catch(() => undefined);
    return answer?.status ?? null;
  }

  return {
    pid: child.pid ?? 0,
    ready,
    said: () => said,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    get: async (path) => {
      const answer = await request(path);
      return { status: answer.status, text: await answer.text() };
    },
    post,
    say: async (number, body) => {
      const status = await post(`/c/${number}`, { body });
      if (status !== 303) throw new Error(`the comment was answered ${status}: ${said}`);
    },
    kill: async () => void (await endBy("SIGKILL")),
    end: () => endBy("SIGTERM"),
  };
}

/** Asks the ledger file itself, whether or not a process has it open; nothing is opened before or kept after. */
async function readLedger<T>(home: string, question: (sql: Sql) => Promise<T>): Promise<T> {
  const file = join(home, "ledger.sqlite");
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  try {
    return await question({
      async all<Row>(text: string, ...values: SqlValue[]) {
        return database
          .prepare(text)
          .all(...values)
          .map((raw) => rowFrom(raw) as Row);
      },
      async first<Row>(text: string, ...values: SqlValue[]) {
        const raw = database.prepare(text).get(...values);
        return raw === undefined ? undefined : (rowFrom(raw) as Row);
      },
    });
  } finally {
    database.close();
  }
}

export async function toldIn(sql: Sql, number: number): Promise<string[]> {
  const repository = await sql.first<{ id: string }>("SELECT id FROM repository");
  const place = { repositoryId: repository?.id ?? "", number };
  const comments = await latestComments(sql, place, 1_000);
  return comments.filter(({ authorId }) => authorId === selfId).map(({ body }) => body);
}

/** Looks again and again until there is an answer; fails with `what` was waited for, and what the product said. */
export async function until<T>(
  what: string,
  look: () => Promise<T | false | null | undefined>,
  said: () => string = () => "",
): Promise<T> {
  const giveUpAt = Date.now() + patienceMs;
  for (;;) {
    const found = await look();
    if (found !== false && found !== null && found !== undefined) return found;
    if (Date.now() > giveUpAt) throw new Error(`in vain: ${what}\n${said().slice(-4_000)}`);
    await pause(lookMs);
  }
}

/** Makes all waits due at one instant, as if they had been registered earlier; rings whoever serves the ledger. */
export function makeDue(bench: Bench, dueAt: number): void {
  const database = new DatabaseSync(join(bench.home, "ledger.sqlite"), { timeout: 5_000 });
  database.exec("BEGIN IMMEDIATE");
  database.prepare("UPDATE wait SET due_at = ? WHERE state = 'armed'").run(dueAt);
  database.prepare("UPDATE mandate SET look_at = ? WHERE status = 'waiting'").run(dueAt);
  database.exec("COMMIT");
  database.close();
}

/** Resolves when every message has reached the forge. */
export async function untilAllIsTold(bench: Bench): Promise<void> {
  await until("the outbox is empty", async () => {
    const open = await bench.read((sql) =>
      sql.first("SELECT 1 AS one FROM outbox WHERE state IN ('pending', 'sending', 'unsure')"),
    );
    return open === undefined;
  });
}

/** A process whose clock is just past an instant of the ledger. */
export function startPast(bench: Bench, at: number): Promise<Product> {
  return bench.start({ aheadMs: at - Date.now() + 1_000 });
}

/** The one mandate whose title begins like this, once it is in this state. */
export function mandateIn(bench: Bench, title: string, status: string): Promise<MandateRow> {
  return until(`${title} becomes ${status}`, async () => {
    const found = (await bench.mandates()).filter((mandate) => mandate.title.startsWith(title));
    return found.length === 1 && found[0]?.status === status ? found[0] : null;
  });
}

/** The lines of a file that steps write to; none while it is not there. */
export function linesOf(file: string): string[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "");
}

/** A folder outside of every checkout, in which steps leave traces that no crash takes back. */
export function traceFolder(): string {
  const folder = join(temporaryFolder(), "traces");
  mkdirSync(folder);
  return folder;
}
