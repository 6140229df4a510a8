// GitHub's webhooks (spec 6.2): the three headers of a delivery and the signature over its raw body.

import { createHmac, timingSafeEqual } from "node:crypto";
import type { Webhooks } from "../webhooks.ts";

/** Events that mean something to us, by GitHub's names (6.6); all others are answered and forgotten. */
const wanted: ReadonlySet<string> = new Set([
  "check_run",
  "check_suite",
  "create",
  "deployment_status",
  "installation",
  "installation_repositories",
  "issue_comment",
  "issues",
  "package",
  "pull_request",
  "pull_request_review",
  "pull_request_review_comment",
  "push",
  "registry_package",
  "release",
  "repository",
  "repository_dispatch",
  "status",
  "workflow_run",
]);

/** Whose call it is, without asking anybody: it works while GitHub's API cannot be reached. */
export function verifyGitHub(secret: string): Omit<Webhooks, "read"> {
  return {
    connection: "github",
    path: "/api/github/webhooks",
    announced: (header) => {
      const guid = header("x-github-delivery") ?? "";
      const event = header("x-github-event") ?? "";
      const signature = header("x-hub-signature-256") ?? "";
      const isWhole =
        /^[A-Za-z0-9-]{1,100}$/.test(guid) &&
        /^[a-z_]{1,60}$/.test(event) &&
        /^sha256=[0-9a-f]{64}$/.test(signature);
      return isWhole ? { guid, event, signature } : null;
    },
    isSigned: ({ signature }, body) => {
      const given = Buffer.from(signature.slice("sha256=".length), "hex");
      return timingSafeEqual(given, createHmac("sha256", secret).update(body).digest());
    },
    isWanted: (event) => wanted.has(event),
  };
}
