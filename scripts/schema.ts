// Writes docs/policy-file.schema.json from the policy file's schema (spec 7.3): `node scripts/schema.ts`.
// A test compares both, so that the published schema is never stale.
import { writeFileSync } from "node:fs";
import { policySchema } from "../policies/policy-file.ts";

export const schemaFile = new URL("../docs/policy-file.schema.json", import.meta.url);

export function schemaText(): string {
  return `${JSON.stringify(policySchema(), null, 2)}\n`;
}

if (import.meta.main) writeFileSync(schemaFile, schemaText());
