// Revokes a mandate (spec 1.3): its wait, its entries and its running turn, whose late result will be refused (I8).

import type { Host } from "../host.ts";
import { record } from "../ledger/history.ts";
import { dropEntries } from "../ledger/inbox.ts";
import type { Tx } from "../ledger/ledger.ts";
import { changeMandate, type MandateRow } from "../ledger/mandates.ts";
import { touchStatus } from "../ledger/outbox.ts";
import { endWait } from "../ledger/waits.ts";

export async function stopMandate(
  tx: Tx,
  host: Pick<Host, "running">,
  { mandate, byName }: { mandate: MandateRow; byName: string },
): Promise<void> {
  await endWait(tx, mandate.id);
  await dropEntries(tx, mandate.id);
  await changeMandate(tx, mandate.id, { status: "stopped", noticeKey: null });
  await record(tx, "stopped", { mandateId: mandate.id, facts: { by: byName } });
  await touchStatus(tx, mandate, 0);
  // Cancelling is only a hint to the turn: were this transaction lost, the turn would be queued once more.
  host.running.cancel(mandate.id, "stop");
}
