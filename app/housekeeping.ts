// Takes away what is no longer needed (spec 5.1, 6.2): of ended mandates the checkout at once and the saved state after 14
// days; of deliveries that were handled the body after 7 days.

import { dayMs } from "../policies/durations.ts";
import type { Host } from "./host.ts";
import { dropBodies } from "./ledger/incoming/deliveries.ts";
import { findMandate } from "./ledger/mandates.ts";
import { dropStates } from "./ledger/shared/saved-states.ts";

const keptMs = 14 * dayMs;
const bodiesKeptMs = 7 * dayMs;

export async function keepHouse(host: Pick<Host, "ledger" | "running" | "runner">): Promise<void> {
  const { runner } = host;
  const now = host.ledger.now();
  await host.ledger.write(async (tx) => {
    await dropBodies(tx, now - bodiesKeptMs);
    await dropStates(tx, now - keptMs);
  });
  for (const id of await runner.kept()) {
    const mandate = await host.ledger.read((sql) => findMandate(sql, id));
    const endedAt = mandate?.endedAt ?? null;
    // A stopped turn may still be saving its state: its checkout goes when it is done.
    if (endedAt === null || host.running.has(id)) continue;
    await runner.drop(id, now - endedAt > keptMs ? "all" : "checkout");
  }
}
