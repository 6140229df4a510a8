// The repository's policy file `.holdfast.yml` (spec 7.3): text to checked settings, or all of its problems.
// It can only narrow what the installation allows; nothing here reads a file or keeps an earlier version.

import * as z from "zod";
import { stricter, type Level } from "./authority.ts";
import type { Command } from "./commands/commands.ts";
import * as sections from "./policy-file/sections.ts";
import { AccountId, Name } from "./policy-file/values.ts";
import { Task } from "./tasks.ts";
import { parseYamlFile, yamlFileLimit, type FileProblem } from "./yaml-file.ts";

export const policyFileName = ".holdfast.yml";

export const policyFileLimit = yamlFileLimit;

/** The whole file as read: every section is there, with its defaults. Unknown keys are problems. */
export const PolicyFile = z.strictObject({
  permissions: sections.Permissions.prefault({}),
  allowBots: z.array(AccountId).max(100).prefault([]),
  limits: sections.Limits.prefault({}),
  stall: sections.Stall.prefault({}),
  children: sections.Children.prefault({}),
  grants: z.record(Name, z.string().trim().min(1).max(10_000)).prefault({}),
  agents: z.strictObject({}).prefault({}),
  tasks: z.record(Name, Task).prefault({}),
  waits: sections.Waits.prefault({}),
  nudges: sections.Nudges.prefault({}),
  untracked: z.enum(["ignore", "count", "commit"]).prefault("commit"),
  review: sections.Review.prefault({}),
  publish: sections.Publish.prefault({}),
  notices: z.strictObject({ activity: z.boolean().prefault(false) }).prefault({}),
  record: z.strictObject({ push: z.boolean().prefault(false) }).prefault({}),
  report: z.strictObject({ issue: z.int().positive().optional() }).prefault({}),
});
export type PolicyFile = z.infer<typeof PolicyFile>;

export type PolicyProblem = FileProblem;

export type PolicyResult =
  | { readonly ok: true; readonly policy: PolicyFile }
  | { readonly ok: false; readonly problems: readonly PolicyProblem[] };

/** The settings of a repository without a policy file. */
export const defaultPolicy: PolicyFile = PolicyFile.parse({});

/** Reads the text of a policy file; at most 50 problems, in the order of the file. Never throws. */
export function parsePolicyFile(text: string): PolicyResult {
  const read = parseYamlFile(text, { name: policyFileName, schema: PolicyFile });
  return read.ok ? { ok: true, policy: read.value } : read;
}

/** JSON Schema of the file as people write it, for editors. */
export function policySchema(): z.core.JSONSchema.JSONSchema {
  const schema = z.toJSONSchema(PolicyFile, { io: "input" });
  return { ...schema, title: "The Holdfast policy file, .holdfast.yml" };
}

/** The level and, where the file names them, the only people for this command. The file can only ask for more. */
export function permissionFor(
  command: Pick<Command, "name" | "needs">,
  policy: PolicyFile,
): { readonly level: Level; readonly users: readonly number[] | null } {
  const asked = policy.permissions[command.name];
  return { level: stricter(command.needs, asked?.level ?? "none"), users: asked?.users ?? null };
}

/** The task of this name; names from a comment never reach what JavaScript itself puts on an object. */
export function taskNamed(policy: PolicyFile, name: string): Task | null {
  return Object.hasOwn(policy.tasks, name) ? (policy.tasks[name] ?? null) : null;
}

/** The narrower text of a task grant (spec 1.2) by its exact name; null when none is declared. */
export function grantNamed(policy: PolicyFile, name: string): string | null {
  return Object.hasOwn(policy.grants, name) ? (policy.grants[name] ?? null) : null;
}
