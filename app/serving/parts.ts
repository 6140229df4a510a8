// What every serving process stands on (spec 8.2): the home with its ledger, the runner, the parser's thread and the
// leases' thread, opened in order and closed the other way round.

import { randomInt } from "node:crypto";
import { availableParallelism, hostname } from "node:os";
import { openRunner, type Runner } from "../../runners/runner.ts";
import { openHome, type Home } from "../home.ts";
import { RunningTurns, type Host } from "../host.ts";
import { openParser } from "../intake/parser.ts";
import { forgetProcesses } from "../ledger/shared/processes.ts";
import type { Log } from "../log.ts";
import { redact, type Secrets } from "../redact.ts";
import { openLeases } from "../scheduler/leases.ts";
import { isPostgres, type Settings } from "../settings.ts";

/** What every mode is started with. */
export interface ServingOptions {
  readonly settings: Settings;
  readonly port: number;
  readonly log: Log;
  /** What no sink may show; the home's own are added to it. */
  readonly secrets: Secrets;
}

export interface Parts {
  readonly settings: Settings;
  readonly log: Log;
  readonly home: Home;
  readonly runner: Runner;
  /** Closed in reverse when the process ends. */
  readonly opened: { close(): Promise<void> }[];
  /** A host without forges, ears and pages: those differ from mode to mode. */
  readonly host: Omit<Host, "forges" | "webhooks" | "mayRun" | "mention" | "recordUrl" | "parse">;
  parse(body: string, mention: string): ReturnType<Host["parse"]>;
}

const slotsLimit = 4;

/** Turns at a time where nobody said how many. */
export function slotsHere(): number {
  return Math.min(Math.max(availableParallelism(), 1), slotsLimit);
}

/** Takes the home's lock, opens what is needed and lets `use` go on; what fails closes all of it again. Throws Failure. */
export async function withParts<T>(
  { settings, log, secrets }: Omit<ServingOptions, "port">,
  use: (parts: Parts) => Promise<T>,
): Promise<T> {
  const runner = openRunner({ home: settings.home, environment: process.env });
  const home = await openHome({ settings, mode: "serve" });
  const opened: { close(): Promise<void> }[] = [home];
  for (const secret of Object.values(home.secrets)) secrets.keep(secret);
  for (const url of [settings.ledgerUrl, settings.redisUrl ?? ""]) {
    for (const secret of passwordOf(url)) secrets.keep(secret);
  }
  try {
    await runner.clear();
    // The home's lock says that nobody else is there.
    if (!isPostgres(settings.ledgerUrl)) await home.ledger.write(forgetProcesses);
    const parser = openParser();
    const { ledgerUrl, timing } = settings;
    const leases = openLeases({ ledgerUrl, home: home.folder, timing });
    opened.push(parser, leases);
    return await use({
      settings,
      log,
      home,
      runner,
      opened,
      parse: async (body, mention) => {
        const parsing = await parser.parse(body, { mention });
        return parsing.ok ? parsing.comment : null;
      },
      host: {
        ledger: home.ledger,
        runner,
        leases,
        running: new RunningTurns(),
        timing: settings.timing,
        log,
        redact: (text) => redact(text, secrets),
        // Not by its number alone: in a container every process is the first.
        worker: `${hostname()}-${process.pid}-${randomInt(16 ** 4).toString(16)}`,
        homeId: isPostgres(settings.ledgerUrl) ? home.id : null,
        timeZone: settings.timeZone,
        script: settings.script,
        markerKey: home.secrets.markerKey,
        random: () => randomInt(2 ** 32) / 2 ** 32,
        sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      },
    });
  } catch (error) {
    await closeAll(opened);
    throw error;
  }
}

/** As it is written in the address, and as it is meant. */
function passwordOf(url: string): string[] {
  const password = URL.canParse(url) ? new URL(url).password : "";
  return password === "" ? [] : [password, decodeURIComponent(password)];
}

export async function closeAll(opened: readonly { close(): Promise<void> }[]): Promise<void> {
  for (const one of opened.toReversed()) await one.close();
}
