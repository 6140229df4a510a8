// What package.json says of this program (spec 7.1, 8.6): its version, and the oldest Node that runs it.

import { readFileSync } from "node:fs";

export interface Manifest {
  readonly version: string;
  readonly engines: { readonly node: string };
}

export function readManifest(): Manifest {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return JSON.parse(text) as Manifest;
}
