// A host on a ledger in memory, with a clock that the test moves and neither forge nor runner: for the parts of the
// shell that only decide and write. Holds no expectation.
import { setImmediate } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { RunningTurns, type Host } from "../../app/host.ts";
import { openSqlite } from "../../app/ledger/sqlite/sqlite.ts";
import { Timing } from "../../app/settings.ts";
import type { Runner } from "../../runners/runner.ts";
import { startAt } from "./ledger.ts";

export interface BareHost {
  readonly host: Host;
  readonly clock: { at: number };
  /** Mandates in whose checkout somebody else's process works. */
  readonly outside: Set<string>;
  /** What the log was told about bugs of ours. */
  readonly errors: string[];
}

export function openBareHost(): BareHost {
  const clock = { at: startAt };
  const outside = new Set<string>();
  const errors: string[] = [];
  const ledger = openSqlite({ file: ":memory:", now: () => clock.at });
  onTestFinished(() => ledger.close());
  function keep(_fields: unknown, message?: string): void {
    errors.push(message ?? "");
  }
  const runner: Pick<Runner, "managedOutside" | "endLeftovers"> = {
    managedOutside: async () => outside,
    endLeftovers: async () => {},
  };
  const host: Host = {
    ledger,
    forges: new Map(),
    webhooks: new Map(),
    mayRun: () => true,
    runner: runner as Runner,
    leases: { hold: () => ({ release() {} }) },
    running: new RunningTurns(),
    timing: Timing.parse({}),
    log: { debug() {}, info() {}, warn() {}, error: keep },
    redact: (text) => text,
    worker: "w-1",
    homeId: null,
    mention: "holdfast",
    timeZone: "UTC",
    script: null,
    markerKey: "key",
    random: Math.random,
    parse: async () => null,
    recordUrl: () => null,
    sleep: () => setImmediate(),
  };
  return { host, clock, outside, errors };
}
