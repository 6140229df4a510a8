// Whose level counts as what (spec 1.5): the forge's answer for everybody, all of it for the operator at the machine.

import type { Level } from "../../policies/authority.ts";
import type { Forge, RepositoryRef } from "./forge.ts";

/** The author of commands that were given at the machine itself (7.1); no forge has an account of this id. */
export const operatorId = "operator";

export async function levelOf(forge: Forge, ref: RepositoryRef, personId: string): Promise<Level> {
  return personId === operatorId ? "admin" : forge.permissionOf(ref, personId);
}
