// A nudge from outside any forge (spec 3.4): what a registry, a CI system or a cron job may say, and the event that it is.

import { z } from "zod";
import type { NudgeEvent } from "./events.ts";

const textLimit = 200;

export const NudgeRequest = z.strictObject({
  /** `owner/name`. */
  repository: z.string().regex(/^[\w.-]+\/[\w.-]+$/, { error: "expected owner/name" }),
  /** As signals name it, such as `release.published`. */
  event: z
    .string()
    .max(textLimit)
    .regex(/^[a-z]\w*(?:\.[a-z]\w*)?$/i, { error: "expected a word, or two with a dot between" }),
  /** What it is about: a tag, a branch or a whole commit hash; `refs/tags/` and `refs/heads/` say which. */
  ref: z
    .string()
    .min(1)
    .max(textLimit)
    .regex(/^[^\p{Cc}\s]+$/u, { error: "expected a name without spaces" })
    .optional(),
  /** Rings at this mandate alone, whatever its wait listens for. */
  mandate: z
    .string()
    .regex(/^m-\w{4,}$/, { error: "expected an id such as m-7k3f" })
    .optional(),
});
export type NudgeRequest = z.infer<typeof NudgeRequest>;

/** A bare name may be either a tag or a branch, and so it counts as both. */
export function nudgeEventOf(
  { event, ref, mandate }: NudgeRequest,
  repository: { readonly connection: string; readonly forgeId: string },
): NudgeEvent {
  const { connection, forgeId } = repository;
  const [, kind, name = null] = /^(?:refs\/(tags|heads)\/)?(.+)$/.exec(ref ?? "") ?? [];
  const isCommit = kind === undefined && name !== null && /^[0-9a-f]{40}$/.test(name);
  return {
    kind: "nudge",
    connection,
    forgeId,
    event,
    tag: kind === "heads" || isCommit ? null : name,
    branch: kind === "tags" || isCommit ? null : name,
    commit: isCommit ? name : null,
    number: null,
    ...(mandate !== undefined && { mandateId: mandate }),
  };
}
