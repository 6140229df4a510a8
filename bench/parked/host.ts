// A host for benches of the scheduler (spec 8.5): the given ledger, a forge behind a network that answers at once, and no
// turn that could run.
import { RunningTurns, type Host } from "../../app/host.ts";
import type { Ledger } from "../../app/ledger/ledger.ts";
import { Timing } from "../../app/settings.ts";
import type { Runner } from "../../runners/runner.ts";
import { connection, openNetworkForge } from "../../test/fakes/network-forge.ts";

/** What GitHub lets an App write. */
const writeLimits = { perSecond: 1, perMinute: 80, perHour: 500 };

export function openParkedHost(ledger: Ledger, timing: Partial<Timing> = {}): Host {
  const network = openNetworkForge();
  network.writeLimits = writeLimits;
  const runner: Pick<Runner, "managedOutside" | "endLeftovers" | "kept"> = {
    managedOutside: async () => new Set(),
    endLeftovers: async () => {},
    kept: async () => [],
  };
  return {
    ledger,
    forges: new Map([[connection, network.forge]]),
    webhooks: new Map(),
    mayRun: () => true,
    runner: runner as Runner,
    leases: { hold: () => ({ release() {} }) },
    running: new RunningTurns(),
    timing: Timing.parse(timing),
    log: { debug() {}, info() {}, warn() {}, error: console.error },
    redact: (text) => text,
    worker: "bench",
    homeId: null,
    mention: "holdfast",
    timeZone: "UTC",
    script: null,
    markerKey: "key",
    random: Math.random,
    parse: async () => null,
    recordUrl: () => null,
    sleep: async () => {},
  };
}
