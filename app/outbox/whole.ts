// Texts that must be read whole (spec 1.6): what one comment does not hold follows in numbered ones, each a message of
// its own in the same lane, so that nothing of it is lost or doubled.

import type { Host } from "../host.ts";
import type { Tx } from "../ledger/ledger.ts";
import { post, type NewMessage } from "../ledger/outbox.ts";
import { split } from "../notices/neutralise.ts";

/** Characters of one part; every forge takes as much, with a number before and a marker after it. */
const partLimit = 60_000;

/** Puts results, questions, blocked notices and reviews into the outbox, once per key; the first part has the key itself. */
export async function postWhole(
  tx: Tx,
  { redact }: Pick<Host, "redact">,
  { body, ...message }: Omit<NewMessage, "payload"> & { readonly body: string },
): Promise<void> {
  // Before it is cut: no half of a secret looks like one (I11).
  const parts = split(redact(body), partLimit);
  for (const [index, part] of parts.entries()) {
    const number = index + 1;
    await post(tx, {
      ...message,
      key: number === 1 ? message.key : `${message.key} part ${number}`,
      payload: { body: parts.length === 1 ? part : `*(${number} of ${parts.length})*\n\n${part}` },
    });
  }
}
