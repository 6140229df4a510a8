// What we read of GitHub's payloads (spec 6.2): the parts that our events are made of, each as it has to be. A part that
// is not so makes a bad delivery; whatever else a payload holds is not looked at.

import { z } from "zod";
import type { Person } from "../../forge.ts";

export interface ReadingOptions {
  readonly connection: string;
  readonly appId: number;
  readonly self: Person;
}

const Id = z.int().nonnegative();
const Numbered = z.object({ number: z.int().positive() });
const App = z.object({ id: Id }).nullish();

/** Any event may have these. */
export const Payload = z.object({
  action: z.string().nullish(),
  repository: z.object({ id: Id }).nullish(),
  installation: z.object({ id: Id }).nullish(),
  sender: z.object({ id: Id, login: z.string() }).nullish(),
});
export type Payload = z.infer<typeof Payload>;

const Written = z.object({
  body: z.string().nullish(),
  user: z.object({ id: Id }).nullish(),
  performed_via_github_app: App,
});
export type Written = z.infer<typeof Written>;

/** Of events about what people wrote, and where. */
export const Said = Payload.extend({
  issue: Written.extend(Numbered.shape).nullish(),
  pull_request: Numbered.extend({
    merged: z.boolean().nullish(),
    head: z.object({ sha: z.string() }),
  }).nullish(),
  comment: Written.extend({ id: Id }).nullish(),
  review: Written.extend({ id: Id }).nullish(),
  changes: z.object({ body: z.unknown().optional() }).nullish(),
});
export type Said = z.infer<typeof Said>;

const Named = z.array(z.object({ id: Id })).nullish();

/** Of events about what the App may reach. */
export const Reach = Payload.extend({
  repositories: Named,
  repositories_added: Named,
  repositories_removed: Named,
});
export type Reach = z.infer<typeof Reach>;

const Suite = z
  .object({ head_sha: z.string(), head_branch: z.string().nullish(), app: App })
  .nullish();
export type Suite = z.infer<typeof Suite>;

const Package = z
  .object({
    package_version: z
      .object({ version: z.string().nullish(), tag_name: z.string().nullish() })
      .nullish(),
  })
  .nullish();

/** Of events that ring at waits. */
export const Nudging = Payload.extend({
  release: z.object({ tag_name: z.string().nullish() }).nullish(),
  package: Package,
  registry_package: Package,
  check_run: z
    .object({
      head_sha: z.string(),
      app: App,
      check_suite: z.object({ head_branch: z.string().nullish() }).nullish(),
    })
    .nullish(),
  check_suite: Suite,
  workflow_run: Suite,
  sha: z.string().nullish(),
  branches: z.array(z.object({ name: z.string() })).nullish(),
  deployment: z.object({ sha: z.string(), ref: z.string() }).nullish(),
  pull_request: Numbered.extend({
    merged: z.boolean().nullish(),
    head: z.object({ sha: z.string(), ref: z.string() }),
  }).nullish(),
  issue: Numbered.nullish(),
  ref: z.string().nullish(),
  ref_type: z.string().nullish(),
  after: z.string().nullish(),
  branch: z.string().nullish(),
});
export type Nudging = z.infer<typeof Nudging>;

/** Throws where there is none. */
export function idOf(row: { readonly id: number } | null | undefined): string {
  if (row === null || row === undefined) throw new Error("nothing to name");
  return String(row.id);
}

/** Who did it; an event that names nobody was done by nobody we know. */
export function by({ sender }: Payload): { byId: string; byName: string } {
  return { byId: String(sender?.id ?? 0), byName: sender?.login ?? "nobody" };
}
