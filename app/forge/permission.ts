// Whose level counts as what (spec 1.5): the forge's answer for everybody, all of it for the operator at the machine,
// and `write` for a bot that the policy file names: forges give Apps no level of their own.

import { isAtLeast, type Level } from "../../policies/authority.ts";
import type { PolicyFile } from "../../policies/policy-file.ts";
import type { Forge, RepositoryRef } from "./forge.ts";

/** The author of commands that were given at the machine itself (7.1); no forge has an account of this id. */
export const operatorId = "operator";

export async function levelOf(
  forge: Forge,
  ref: RepositoryRef,
  { personId, policy }: { personId: string; policy: Pick<PolicyFile, "allowBots"> },
): Promise<Level> {
  if (personId === operatorId) return "admin";
  const level = await forge.permissionOf(ref, personId);
  const isNamedBot = policy.allowBots.includes(Number(personId));
  return isNamedBot && !isAtLeast(level, "write") ? "write" : level;
}
