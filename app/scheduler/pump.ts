// The pump (spec 3.5): looks at what is due in the ledger, again and again until nothing is, and says when to look
// next. Three lanes run side by side, so that a slow forge call in one never holds up the others.

import type { Host } from "../host.ts";
import { acceptDeliveries } from "../intake/accept.ts";
import { readDeliveries } from "../intake/reading.ts";
import { claimEntries, nextInboxAt } from "../ledger/inbox.ts";
import { nextDeliveryAt } from "../ledger/incoming/deliveries.ts";
import type { Sql } from "../ledger/ledger.ts";
import { nextLookAt } from "../ledger/mandates.ts";
import { nextOutboxAt } from "../ledger/outbox.ts";
import { tendMessages } from "../outbox/tend.ts";
import { recoverExpired } from "../turn/recover.ts";
import { runEntry } from "../turn/turn.ts";
import { nextEndAt, watchRunning } from "../turn/watching.ts";
import type { Driver } from "./driver.ts";
import { lookAtDue } from "./looks.ts";

export interface PumpOptions {
  /** Turns this process runs at the same time. */
  readonly slots: number;
  readonly perRepository: number;
  /** Work on turns and nothing else; everything by default. */
  readonly isWorker?: boolean;
  /** The ledger's time before which no lease counts as lost: after a start its holder may only have been away. */
  readonly quietUntil?: number;
}

interface Duty {
  /** One pass over what is due of this kind; how much was found. */
  readonly pass: () => Promise<number>;
  /** When the next of it is due; null when nothing will be. */
  readonly nextAt: (sql: Sql, now: number) => Promise<number | null>;
  /** How long it is not repeated after it found nothing, whatever others commit meanwhile. */
  readonly restMs?: number;
}

export interface Pump {
  /** Something may be due: every lane looks. Returns at once. */
  wake(): Promise<void>;
  /** Resolves when no lane works any more; to be called when nothing wakes it. */
  idle(): Promise<void>;
}

/** Many rechecks of one instant make thousands of messages that may go out one by one in any case. */
const deliveryRestMs = 100;

/** In order of importance: accept, work, deliver. */
function duties(host: Host, driver: Driver, options: PumpOptions): readonly Duty[] {
  if (options.isWorker === true) return [working(host, driver, options)];
  return [
    {
      pass: async () => (await readDeliveries(host)) + (await acceptDeliveries(host)),
      nextAt: nextDeliveryAt,
    },
    looking(host, driver, options),
    {
      pass: () => tendMessages(host),
      nextAt: nextOutboxAt,
      restMs: deliveryRestMs,
    },
  ];
}

function looking(host: Host, driver: Driver, options: PumpOptions): Duty {
  const { quietUntil = 0 } = options;
  const { pass, nextAt } = working(host, driver, options);
  return {
    pass: async () => {
      // At once, not at the next sweep: nobody else works for a mandate whose worker is dead.
      const isQuiet = host.ledger.now() < quietUntil;
      const recovered = isQuiet ? 0 : await recoverExpired(host);
      return recovered + (await lookAtDue(host)).count + (await pass());
    },
    nextAt: async (sql, now) => earliest([await nextLookAt(sql), await nextAt(sql, now)]),
  };
}

function working(host: Host, driver: Driver, options: PumpOptions): Duty {
  return {
    pass: async () => {
      await watchRunning(host);
      return startTurns(host, driver, options);
    },
    nextAt: async (sql, now) => earliest([await nextInboxAt(sql, now), await nextEndAt(sql, host)]),
  };
}

/** One pass of all lanes, one after the other; true when something was done and another is worth while. */
export async function pumpOnce(host: Host, driver: Driver, options: PumpOptions): Promise<boolean> {
  let count = 0;
  for (const { pass } of duties(host, driver, options)) count += await pass();
  return count > 0;
}

/** The lanes of one process; each pumps until nothing of its kind is due, then the driver is armed for the next. */
export function openPump(host: Host, driver: Driver, options: PumpOptions): Pump {
  const lanes = duties(host, driver, options).map(({ pass, nextAt, restMs }) => ({
    nextAt,
    ...openLane(async () => {
      // What one lane did may be another's work.
      if ((await pass()) > 0) for (const lane of lanes) lane.wake();
      else if (restMs !== undefined) await host.sleep(restMs);
    }, rest),
  }));
  // A lane as well: an answer that was asked for earlier must not set the driver after a later one.
  const arming = openLane(arm, (error) => {
    if (error !== null) driver.arm(retryAt(error));
  });

  function rest(error: unknown): void {
    if (error !== null) failedUntil = retryAt(error);
    arming.wake();
  }

  /** After a failure nothing is due at once: it would only fail again. */
  let failedUntil = 0;

  function retryAt(error: unknown): number {
    host.log.error({ error }, "the pump failed and is tried again");
    return host.ledger.now() + host.timing.retryFirstMs;
  }

  /** What is due of a lane that works is in its hands already; it arms again when it rests. */
  async function arm(): Promise<void> {
    const resting = lanes.filter((lane) => !lane.isWorking());
    const now = host.ledger.now();
    const at = await host.ledger.read(async (sql) => {
      const times: (number | null)[] = [];
      for (const { nextAt } of resting) times.push(await nextAt(sql, now));
      return earliest(times);
    });
    driver.arm(at === null ? null : Math.max(at, failedUntil));
  }

  return {
    wake: async () => {
      for (const lane of lanes) lane.wake();
    },
    idle: async () => {
      const all = [...lanes, arming];
      while (all.some((lane) => lane.isWorking())) for (const lane of all) await lane.idle();
    },
  };
}

interface Lane {
  wake(): void;
  isWorking(): boolean;
  idle(): Promise<void>;
}

/**
 * Work that never overlaps itself: a wake-up while it goes on makes it look once more. `onRest` is told the last
 * error, or null.
 */
function openLane(look: () => Promise<void>, onRest: (error: unknown) => void): Lane {
  let isWoken = false;
  let working: Promise<void> | null = null;

  async function work(): Promise<void> {
    let last: unknown = null;
    while (isWoken) {
      isWoken = false;
      last = await look().then(
        () => null,
        (error: unknown) => error,
      );
    }
    working = null;
    onRest(last);
  }

  return {
    wake: () => {
      isWoken = true;
      working ??= work();
    },
    isWorking: () => working !== null,
    idle: async () => {
      await working;
    },
  };
}

async function startTurns(host: Host, driver: Driver, options: PumpOptions): Promise<number> {
  const slots = options.slots - host.running.count;
  if (slots <= 0) return 0;
  const limits = {
    worker: host.worker,
    leaseMs: host.timing.leaseMs,
    slots,
    perRepository: options.perRepository,
  };
  const claims = await host.ledger.write((tx) => claimEntries(tx, limits));
  for (const claim of claims) {
    host.running.start(claim.mandateId, async (turn) => {
      await runEntry(host, claim, turn);
      driver.ring();
    });
  }
  return claims.length;
}

function earliest(times: readonly (number | null)[]): number | null {
  const due = times.filter((at) => at !== null);
  return due.length === 0 ? null : Math.min(...due);
}
