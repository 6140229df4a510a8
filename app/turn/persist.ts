// Patience with the ledger (spec 2.1 step 5): what cannot be written is not done, and is tried again until it is.

import { Failure } from "../../policies/failure.ts";
import type { Host } from "../host.ts";
import type { Tx } from "../ledger/ledger.ts";

const retryMaxMs = 30_000;

/**
 * Writes until the ledger takes it (2.1 step 5): while it cannot be written nothing goes on and nothing runs twice,
 * because the claim's fence still decides.
 */
export async function commit<T>(
  host: Pick<Host, "ledger" | "log" | "sleep" | "timing">,
  change: (tx: Tx) => Promise<T>,
): Promise<T> {
  for (let waitMs = host.timing.retryFirstMs; ; waitMs = Math.min(2 * waitMs, retryMaxMs)) {
    try {
      return await host.ledger.write(change);
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== "persistence-unavailable") throw error;
      host.log.warn({ error }, "the ledger cannot be written, trying again");
      await host.sleep(waitMs);
    }
  }
}
