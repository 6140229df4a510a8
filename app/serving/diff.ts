// What a mandate changed, for its page (spec 7.4).

import type { Host } from "../host.ts";
import { findMandate } from "../ledger/mandates.ts";

/** Null when nothing is changed, or nothing of it is left on this machine. */
export async function diffOf(host: Host, mandateId: string): Promise<string | null> {
  const mandate = await host.ledger.read((sql) => findMandate(sql, mandateId));
  const base = mandate?.baseCommit ?? null;
  return base === null ? null : host.runner.diff({ mandateId, base });
}
