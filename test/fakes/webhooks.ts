// A forge's webhooks as most forges have them, for tests and benches of the intake: GUID, event and HMAC-SHA256 in
// headers. Holds no expectation.
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
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

export const webhooks: Webhooks = {
  connection: "github",
  path: "/api/github/webhooks",
  announced: (header) => {
    const guid = header("x-github-delivery") ?? "";
    const event = header("x-github-event") ?? "";
    const signature = header("x-hub-signature-256") ?? "";
    const isFormal = /^sha256=[0-9a-f]{64}$/.test(signature) && guid !== "" && event !== "";
    return isFormal ? { guid, event, signature } : null;
  },
  isSigned: ({ signature }, body) => {
    const [given, wanted] = [Buffer.from(signature), Buffer.from(sign(body))];
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  },
  isWanted: (event) => event !== "star",
  read: () => Promise.resolve([]),
};
