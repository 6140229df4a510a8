// What the pump does for the outbox (spec 6.3, 3.5): each account is served by itself, its look-ups before its writes.

import type { Host } from "../host.ts";
import { dueProbes } from "../ledger/outbox.ts";
import { sideBySide } from "./accounts.ts";
import { deliverInTurn, takeDue } from "./deliver.ts";
import { probeInTurn } from "./probe.ts";

/** Probes and sends all that is due; returns how many rows that were. */
export function tendMessages(host: Host): Promise<number> {
  return sideBySide(host, {
    take: async (busy) => {
      const unsure = await host.ledger.read((sql) => dueProbes(sql, host.ledger.now(), busy));
      // A lease begins when a message is taken: it is not taken before its account is free.
      const taken = new Set([...busy, ...unsure.map(({ account }) => account)]);
      return [...unsure, ...(await takeDue(host, taken))];
    },
    work: async (rows) => {
      const [first] = rows;
      if (first?.state !== "unsure") return deliverInTurn(host, rows);
      await probeInTurn(host, rows);
    },
  });
}
