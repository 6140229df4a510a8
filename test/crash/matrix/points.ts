// The places where a process dies in the matrix (spec 8.4): before and after each kind of commit, and at each write to
// GitHub when it was applied and when it was not.

import type { SeenRequest } from "../../fakes/github/faults.ts";
import { writeKinds } from "../../simulation/write-kinds.ts";

/** At a commit the process ends itself; at a request it is ended from outside. */
export type Point =
  | { readonly at: "commit"; readonly kind: string; readonly when: "before" | "after" }
  | { readonly at: "request"; readonly kind: string; readonly isApplied: boolean };

const createComment = "POST /repos/{owner}/{repo}/issues/{issue_number}/comments";

/** What each write of a mandate's life is as a request. */
export const requests: Readonly<Record<string, (request: SeenRequest) => boolean>> = {
  reaction: ({ route }) => route.endsWith("/comments/{comment_id}/reactions"),
  status: ({ route, body }) => route === createComment && body.includes(":status/"),
  token: ({ route }) => route.endsWith("/access_tokens"),
  push: ({ method, path }) => method === "POST" && path.includes("git-receive-pack"),
  pull: ({ route }) => route === "POST /repos/{owner}/{repo}/pulls",
  result: ({ route, body }) => route === createComment && body.includes(":result/"),
  edit: ({ method, route }) => method === "PATCH" && route.includes("/issues/comments/"),
};

/** Commits of servers that take webhooks; the first that fits names the commit. */
export const commitKinds: typeof writeKinds = [...writeKinds, ["receive", /INSERT INTO delivery/]];

export const points: readonly Point[] = [
  ...commitKinds.flatMap(([kind]) =>
    (["before", "after"] as const).map((when) => ({ at: "commit" as const, kind, when })),
  ),
  ...Object.keys(requests).flatMap((kind) =>
    [true, false].map((isApplied) => ({ at: "request" as const, kind, isApplied })),
  ),
];

/** What has to happen first, so that a later process comes by a point that only trouble leads to. */
export const preludes: Readonly<Record<string, Point>> = {
  recover: { at: "commit", kind: "work", when: "after" },
  "mark-unsure": { at: "commit", kind: "send", when: "after" },
};

export function nameOf(point: Point): string {
  if (point.at === "commit") return `${point.kind} ${point.when}`;
  return `${point.kind} ${point.isApplied ? "applied" : "not applied"}`;
}
