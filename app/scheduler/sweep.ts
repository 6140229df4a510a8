// The sweep (spec 3.6): at start and every tick it finds what has no living owner any more and puts it right.
// Through indexes only; its cost does not grow with the number of parked waits.

import type { Host } from "../host.ts";
import { markUnsure } from "../ledger/outbox.ts";
import { takeDuty } from "../ledger/shared/processes.ts";
import { recoverExpired } from "../turn/recover.ts";
import { lookAtDue } from "./looks.ts";

export interface Swept {
  readonly at: number;
  readonly leases: number;
  readonly unsure: number;
  readonly repairs: number;
}

/** Null while another process has the sweep (3.6). */
export async function sweep(host: Host): Promise<Swept | null> {
  const duty = { name: "sweep", holder: host.worker, forMs: host.timing.sweepMs };
  if (!(await host.ledger.write((tx) => takeDuty(tx, duty)))) return null;
  const leases = await recoverExpired(host);
  const unsure = await host.ledger.write((tx) => markUnsure(tx, host.timing.probeAfterMs));
  const { repairs } = await lookAtDue(host);
  const swept = { at: host.ledger.now(), leases, unsure, repairs };
  if (leases + unsure + repairs > 0) host.log.warn(swept, "the sweep had to repair something");
  return swept;
}
