// Takes away what ended mandates left on this worker (spec 5.1): the checkout at once, the saved state after 14 days.

import { dayMs } from "../policies/durations.ts";
import type { Runner } from "../runners/runner.ts";
import type { Host } from "./host.ts";
import { findMandate } from "./ledger/mandates.ts";

const keptMs = 14 * dayMs;

export async function keepHouse(
  host: Pick<Host, "ledger" | "running">,
  runner: Runner,
): Promise<void> {
  const now = host.ledger.now();
  for (const id of await runner.kept()) {
    const mandate = await host.ledger.read((sql) => findMandate(sql, id));
    const endedAt = mandate?.endedAt ?? null;
    // A stopped turn may still be saving its state: its checkout goes when it is done.
    if (endedAt === null || host.running.has(id)) continue;
    await runner.drop(id, now - endedAt > keptMs ? "all" : "checkout");
  }
}
