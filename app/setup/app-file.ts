// The keys of the GitHub App in the home (spec 7.2, 6.5): `github.json`, readable by its owner alone, written whole or
// not at all. What the environment says wins over it; nothing here is ever printed.

import { existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { Failure } from "../../policies/failure.ts";

const AppKeys = z.object({
  appId: z.string().regex(/^\d+$/),
  /** PEM. */
  privateKey: z.string().min(1),
  webhookSecret: z.string(),
  /** Of the API on an Enterprise Server, such as `https://git.example/api/v3`; absent on github.com. */
  baseUrl: z.url().exactOptional(),
});
export type AppKeys = z.infer<typeof AppKeys>;

export function appFileOf(home: string): string {
  return join(home, "github.json");
}

/** Null where no App was set up. Throws Failure `secrets-damaged`. */
export function readAppFile(home: string): AppKeys | null {
  const file = appFileOf(home);
  if (!existsSync(file)) return null;
  try {
    return AppKeys.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    // Its cause could quote what is in the file.
    throw new Failure("secrets-damaged", "never", { message: `${file} is damaged` });
  }
}

/** False where there was one already and it may not be replaced. Throws Failure `home-unwritable`. */
export function writeAppFile(
  home: string,
  keys: AppKeys,
  { mayReplace }: { mayReplace: boolean },
): boolean {
  const file = appFileOf(home);
  const fresh = `${file}.${process.pid}`;
  try {
    writeFileSync(fresh, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600, flush: true });
    if (mayReplace) renameSync(fresh, file);
    else linkSync(fresh, file);
    return true;
  } catch (cause) {
    if (!mayReplace && existsSync(file)) return false;
    throw new Failure("home-unwritable", "later", { message: `${file} cannot be made`, cause });
  } finally {
    rmSync(fresh, { force: true });
  }
}
