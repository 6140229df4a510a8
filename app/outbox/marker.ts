// The hidden marker in each comment of ours (spec 6.3): serves only to find out whether an unsure write arrived.
// Its key is an HMAC over forge, repository, issue and message key, so that a copied marker proves nothing.

import { createHmac } from "node:crypto";
import type { ConversationRef } from "../forge/forge.ts";

export function markerOf(markerKey: string, ref: ConversationRef, messageKey: string): string {
  const subject = JSON.stringify([ref.connection, ref.forgeId, ref.number, messageKey]);
  const mac = createHmac("sha256", markerKey).update(subject).digest("hex").slice(0, 32);
  return `<!-- holdfast:${messageKey.replaceAll(" ", "/")}:${mac} -->`;
}
