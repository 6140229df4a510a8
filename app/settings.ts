// The operator's settings, read once from the environment (spec 7.2). All problems are reported together.

import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { z } from "zod";
import { minuteMs, secondMs } from "../policies/durations.ts";

/** Every interval the host lives by, in ms. `HOLDFAST_TIMING` (JSON) overrides single ones; tests shorten them. */
export const Timing = z.strictObject({
  /** Lease of a claim, and how often its own thread renews it (2.1). */
  leaseMs: z
    .int()
    .positive()
    .default(10 * secondMs),
  renewMs: z
    .int()
    .positive()
    .default(3 * secondMs),
  /** Who has not renewed for this long ends its process group first. */
  loseMs: z
    .int()
    .positive()
    .default(8 * secondMs),
  /** After a start no lease expires for this long. */
  quietMs: z
    .int()
    .nonnegative()
    .default(10 * secondMs),
  sweepMs: z
    .int()
    .positive()
    .default(15 * secondMs),
  pollMs: z.int().positive().default(200),
  statusThrottleMs: z
    .int()
    .nonnegative()
    .default(20 * secondMs),
  sendLeaseMs: z
    .int()
    .positive()
    .default(30 * secondMs),
  probeAfterMs: z
    .int()
    .nonnegative()
    .default(10 * secondMs),
  retryFirstMs: z.int().positive().default(secondMs),
  retryMaxMs: z
    .int()
    .positive()
    .default(30 * minuteMs),
  /** The pause after the first failed turn or publish in a row; the second takes five times as long (2.1). */
  failureFirstMs: z.int().positive().default(minuteMs),
  /** When a forge that did not answer is asked again before a turn or a publish. */
  unreachableRetryMs: z
    .int()
    .positive()
    .default(30 * secondMs),
  acceptRetryMaxMs: z
    .int()
    .positive()
    .default(5 * minuteMs),
  acceptForMs: z
    .int()
    .positive()
    .default(3 * 24 * 60 * minuteMs),
  /** How far this process's clock runs ahead of the machine's: to rehearse what a deadline will do. */
  clockAheadMs: z.int().default(0),
  /** How long running turns may finish when the process is asked to stop. */
  drainMs: z
    .int()
    .nonnegative()
    .default(25 * secondMs),
});
export type Timing = z.infer<typeof Timing>;

export interface Settings {
  readonly home: string;
  /** `file:…`, the one in the home, or `postgres://…`, which may hold a password and is never shown. */
  readonly ledgerUrl: string;
  /** Where processes hint each other at work (3.5); null where they only look by themselves. */
  readonly redisUrl: string | null;
  /** Where to listen; null where nobody said, and each mode has its own default. */
  readonly port: number | null;
  readonly host: string;
  /** The address under which others reach the server, without closing slash; null where it has none. */
  readonly publicUrl: string | null;
  /** The name that commands begin with. */
  readonly mention: string;
  /** Somebody chose it: otherwise an App is called by its own name. */
  readonly isMentionChosen: boolean;
  readonly logLevel: string;
  readonly timeZone: string;
  /** A script for the deterministic agent of demonstrations and tests; null = no agent. */
  readonly script: string | null;
  readonly timing: Timing;
}

const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"];

export type SettingsDecision =
  | { readonly ok: true; readonly settings: Settings }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads the environment, where an empty variable is an unset one. Problems name the variable, never a value. */
export function readSettings(environment: NodeJS.ProcessEnv): SettingsDecision {
  const given = givenIn(environment);
  const problems: string[] = [];
  const port = readPort(given("PORT"), problems);
  const publicUrl = readPublicUrl(given("HOLDFAST_URL"), problems);
  for (const [name, instead] of later) {
    if (given(name) !== undefined) problems.push(`${name} is for a later version: ${instead}`);
  }
  const logLevel = given("LOG_LEVEL") ?? "info";
  if (!logLevels.includes(logLevel))
    problems.push(`LOG_LEVEL must be one of ${logLevels.join(", ")}`);
  const timing = readTiming(given("HOLDFAST_TIMING"), problems);
  const mention = given("HOLDFAST_MENTION");
  if (mention !== undefined && !/^[a-z0-9][a-z0-9-]{0,38}$/i.test(mention)) {
    problems.push("HOLDFAST_MENTION must be a name of letters, digits and dashes, without @");
  }
  const home = homeOf(environment);
  const ledgerUrl = readLedgerUrl(given("DATABASE_URL"), { home, problems });
  const redisUrl = readRedisUrl(given("REDIS_URL"), problems);
  if (problems.length > 0 || timing === null) return { ok: false, problems };
  const script = given("HOLDFAST_SCRIPT");
  return {
    ok: true,
    settings: {
      home,
      ledgerUrl,
      redisUrl,
      port,
      host: given("HOST") ?? "127.0.0.1",
      publicUrl,
      mention: mention ?? "holdfast",
      isMentionChosen: mention !== undefined,
      logLevel,
      timeZone: zoneOf(given("TZ")),
      script: script === undefined ? null : resolve(script),
      timing,
    },
  };
}

/** The data folder of the installation, whatever else is wrong with the environment. */
export function homeOf(environment: NodeJS.ProcessEnv): string {
  const given = givenIn(environment);
  const data = given("XDG_DATA_HOME") ?? join(homedir(), ".local", "share");
  return resolve(given("HOLDFAST_HOME") ?? join(data, "holdfast"));
}

/** True where processes on other machines can work on the same ledger. */
export function isPostgres(ledgerUrl: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(ledgerUrl);
}

/** A variable that is set and empty says nothing: that is how compose files leave them out. */
function givenIn(environment: NodeJS.ProcessEnv): (name: string) => string | undefined {
  return (name) => (environment[name] === "" ? undefined : environment[name]);
}

/** Named so that nobody believes them in force. */
const later = [
  ["WEBHOOK_PROXY_URL", "unset it and let a proxy of your own pass webhooks on to this server"],
] as const;

/** A file lies in the home, so that whoever has the home's lock has the ledger's. */
function readLedgerUrl(
  text: string | undefined,
  { home, problems }: { home: string; problems: string[] },
): string {
  const own = `file:${join(home, "ledger.sqlite")}`;
  if (text === undefined || text === own) return own;
  if (isPostgres(text) && URL.canParse(text)) return text;
  problems.push(
    "DATABASE_URL must be a postgres:// address, or unset: then the ledger is the file ledger.sqlite in HOLDFAST_HOME",
  );
  return own;
}

function readRedisUrl(text: string | undefined, problems: string[]): string | null {
  if (text === undefined) return null;
  if (/^rediss?:\/\/[^/]/.test(text) && URL.canParse(text)) return text;
  problems.push("REDIS_URL must be a redis:// or rediss:// address");
  return null;
}

function readPort(text: string | undefined, problems: string[]): number | null {
  if (text === undefined) return null;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  problems.push("PORT must be a number from 0 to 65535");
  return null;
}

/** Tokens travel to it in cookies: only over TLS, or within this machine. */
function readPublicUrl(text: string | undefined, problems: string[]): string | null {
  if (text === undefined) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  const isLoopback = url !== null && /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback);
  if (url !== null && isSafe && url.href === `${url.origin}/`) return url.origin;
  problems.push("HOLDFAST_URL must be an https address without path, query and name");
  return null;
}

/** A zone in another form, such as `:/etc/localtime`, is the system's to understand. */
function zoneOf(text: string | undefined): string {
  if (text !== undefined && isTimeZone(text)) return text;
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Whether it is a name of the time zone database. */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

function readTiming(text: string | undefined, problems: string[]): Timing | null {
  let given: unknown;
  try {
    given = JSON.parse(text ?? "{}");
  } catch {
    problems.push("HOLDFAST_TIMING must be a JSON object of milliseconds");
    return null;
  }
  const parsed = Timing.safeParse(given);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues) {
    problems.push(`HOLDFAST_TIMING ${issue.path.join(".")}: ${issue.message}`);
  }
  return null;
}
