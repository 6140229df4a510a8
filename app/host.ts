// Everything the parts of the shell share: ports, settings and the turns that run in this process.
// Built once in cli/serve.ts, and by the simulation with fakes behind the same ports.

import { createHash } from "node:crypto";
import type { ParsedComment } from "../policies/commands/commands.ts";
import { Failure } from "../policies/failure.ts";
import type { Runner } from "../runners/runner.ts";
import type { Forge } from "./forge/forge.ts";
import type { Webhooks } from "./forge/webhooks.ts";
import type { Claim } from "./ledger/inbox.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { Log } from "./log.ts";
import type { Timing } from "./settings.ts";

/** Renews the lease of a running claim and reports when it is lost (2.1). */
export interface Leases {
  hold(claim: Claim, onLost: () => void): { release(): void };
}

export interface Host {
  readonly ledger: Ledger;
  readonly forges: ReadonlyMap<string, Forge>;
  /** By connection; a local forge has none. */
  readonly webhooks: ReadonlyMap<string, Webhooks>;
  /** Whether settings let tasks and agents run in a repository, and on a head that lies in a fork (5.7). */
  readonly mayRun: (
    repository: { name: string; forgeId: string },
    on: { isFork: boolean },
  ) => boolean;
  readonly runner: Runner;
  readonly leases: Leases;
  readonly running: RunningTurns;
  readonly timing: Timing;
  readonly log: Log;
  /** Takes secrets out of a text that leaves for a forge (I11). */
  readonly redact: (text: string) => string;
  readonly worker: string;
  /** Which home this is, for the others that work on the same ledger; null where there are no others. */
  readonly homeId: string | null;
  readonly mention: string;
  readonly timeZone: string;
  readonly script: string | null;
  /** Key of the markers in our comments (6.3). */
  readonly markerKey: string;
  readonly random: () => number;
  /** Null when the text could not be read in time (1.4). */
  readonly parse: (body: string) => Promise<ParsedComment | null>;
  readonly recordUrl: (mandateId: string) => string | null;
  /** Resolves after `ms` of the host's clock; simulations drive it. */
  readonly sleep: (ms: number) => Promise<void>;
}

export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export function forgeOf(host: Pick<Host, "forges">, connection: string): Forge {
  const forge = host.forges.get(connection);
  // Not configured, or not open yet: what needs it waits.
  if (forge === undefined) {
    throw new Failure("unavailable", "later", { message: `connection ${connection} is not open` });
  }
  return forge;
}

export type CancelCause = "stop" | "drain" | "deadline" | "lease";

interface Running {
  readonly controller: AbortController;
  done: Promise<void>;
  cause: CancelCause | null;
}

/** The turns that run in this process: to be cancelled by mandate, counted and waited for. */
export class RunningTurns {
  readonly #turns = new Map<string, Running>();

  get count(): number {
    return this.#turns.size;
  }

  ids(): string[] {
    return [...this.#turns.keys()];
  }

  has(mandateId: string): boolean {
    return this.#turns.has(mandateId);
  }

  /** Starts work for a mandate; it must not reject. */
  start(mandateId: string, work: (turn: TurnHandle) => Promise<void>): void {
    const controller = new AbortController();
    const turn: Running = { controller, done: Promise.resolve(), cause: null };
    const handle: TurnHandle = {
      signal: controller.signal,
      cause: () => turn.cause,
      cancel: (cause) => cancelTurn(turn, cause),
    };
    // A turn that lost its lease may end after the next one of its mandate began: it takes only itself away.
    turn.done = Promise.resolve()
      .then(() => work(handle))
      .finally(() => {
        if (this.#turns.get(mandateId) === turn) this.#turns.delete(mandateId);
      });
    this.#turns.set(mandateId, turn);
  }

  /** Ends the running turn of a mandate; the first cause stands. */
  cancel(mandateId: string, cause: CancelCause): void {
    const turn = this.#turns.get(mandateId);
    if (turn !== undefined) cancelTurn(turn, cause);
  }

  cancelAll(cause: CancelCause): void {
    for (const mandateId of this.#turns.keys()) this.cancel(mandateId, cause);
  }

  /** Resolves when no turn runs any more. */
  async idle(): Promise<void> {
    while (this.#turns.size > 0) {
      await Promise.allSettled([...this.#turns.values()].map((turn) => turn.done));
    }
  }
}

export interface TurnHandle {
  readonly signal: AbortSignal;
  cause(): CancelCause | null;
  cancel(cause: CancelCause): void;
}

function cancelTurn(turn: Running, cause: CancelCause): void {
  turn.cause ??= cause;
  turn.controller.abort();
}
