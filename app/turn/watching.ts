// Watching over the turns of this process (spec 1.3, 3.3): whoever stops a mandate, or sees its deadline pass, may be
// another process, which cannot reach the turn. So each process looks after its own.

import { look } from "../../policies/mandate/look.ts";
import type { Host } from "../host.ts";
import type { Sql } from "../ledger/ledger.ts";
import { lookFacts } from "../ledger/mandates.ts";

/** Cancels what was stopped and what is over. */
export async function watchRunning(host: Host): Promise<void> {
  for (const mandateId of host.running.ids()) {
    const facts = await host.ledger.read((sql) => lookFacts(sql, mandateId));
    if (facts === undefined) continue;
    if (facts.status === "stopped") host.running.cancel(mandateId, "stop");
    const isOver = look(facts, host.ledger.now()).found === "expired";
    if (isOver) host.running.cancel(mandateId, "deadline");
  }
}

/** When the next of them is over; null where none is. */
export async function nextEndAt(sql: Sql, host: Host): Promise<number | null> {
  let next: number | null = null;
  const now = host.ledger.now();
  for (const mandateId of host.running.ids()) {
    const facts = await lookFacts(sql, mandateId);
    if (facts === undefined) continue;
    const endsAt = Math.min(facts.deadlineAt, facts.wait?.deadlineAt ?? Infinity);
    if (endsAt > now) next = Math.min(endsAt, next ?? Infinity);
  }
  return next;
}
