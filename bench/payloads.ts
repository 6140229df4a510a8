// Real payloads of GitHub's (spec 8.5), signed and ready to be sent, of the kinds that a busy repository sends most.
import examples from "@octokit/webhooks-examples" with { type: "json" };
import { deliveryHeaders, webhooks } from "../test/fakes/webhooks.ts";
import type { Prepared } from "./load.ts";

export const eventKinds = [
  "check_run",
  "issue_comment",
  "issues",
  "pull_request",
  "pull_request_review",
  "push",
] as const;

const definitions = examples as unknown as readonly { name: string; examples: object[] }[];

/** The kinds in turn, so that every stretch of them is alike. */
export function signedDeliveries(): Prepared[] {
  const ofKinds = eventKinds.map((event) => {
    const found = definitions.find(({ name }) => name === event)?.examples ?? [];
    return found.map((payload) => prepare(event, Buffer.from(JSON.stringify(payload))));
  });
  const most = Math.max(...ofKinds.map(({ length }) => length));
  return Array.from({ length: most }, (_, index) =>
    ofKinds.flatMap((deliveries) => deliveries[index % deliveries.length] ?? []),
  ).flat();
}

function prepare(event: string, body: Buffer): Prepared {
  const headers = {
    ...deliveryHeaders(body, { guid: "", event }),
    "user-agent": "GitHub-Hookshot",
  };
  const lines = Object.entries(headers)
    .filter(([name]) => name !== "x-github-delivery")
    .map(([name, value]) => `${name}: ${value}\r\n`);
  const head =
    `POST ${webhooks.path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join("")}` +
    `content-length: ${body.length}\r\nx-github-delivery: `;
  return { headFor: (guid) => `${head}${guid}\r\n\r\n`, body };
}
