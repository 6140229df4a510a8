// GitHub's deliveries as it signs them, for tests and benches of the intake. Holds no expectation.
import { createHmac, randomUUID } from "node:crypto";
import { verifyGitHub } from "../../app/forge/github/webhooks.ts";
import type { Webhooks } from "../../app/forge/webhooks.ts";

export const webhookSecret = "It's a Secret to Everybody";

/** What that secret makes of these bytes, as it stands in the header. */
export function sign(body: string | Buffer): string {
  return `sha256=${createHmac("sha256", webhookSecret).update(body).digest("hex")}`;
}

/** The headers of an honest delivery. */
export function deliveryHeaders(
  body: string | Buffer,
  delivery: { guid?: string; event?: string; signature?: string } = {},
): Record<string, string> {
  const { guid = randomUUID(), event = "issues", signature = sign(body) } = delivery;
  return {
    "content-type": "application/json",
    "x-github-delivery": guid,
    "x-github-event": event,
    "x-hub-signature-256": signature,
  };
}

/** GitHub's own verification, of deliveries that speak of nothing. */
export const webhooks: Webhooks = {
  ...verifyGitHub(webhookSecret),
  read: () => Promise.resolve([]),
};
