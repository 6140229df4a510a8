// What a worker keeps of mandates (spec 5.1): checkouts while they live, saved states for a while after, and what
// pages show of both.

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { WorkPlace } from "../runner.ts";
import { checkoutOf, retireCheckout } from "./checkout.ts";
import { diffAt, resolve, unpin } from "./mirror.ts";

const diffBytesLimit = 512 * 1024;

/** Mandates that have a checkout or a saved state here. */
export async function keptMandates({ home }: WorkPlace): Promise<string[]> {
  const work = await readdir(join(home, "work")).catch(() => []);
  const shadows = await readdir(join(home, "shadow")).catch(() => []);
  return [...new Set([...work, ...shadows.map((name) => name.replace(/\.git$/, ""))])];
}

export async function drop(
  place: WorkPlace,
  dropped: { mandateId: string; what: "checkout" | "all" },
): Promise<void> {
  const { mandateId, what } = dropped;
  const checkout = checkoutOf({ home: place.home, mandateId });
  if (what === "all") await releasePins(place, mandateId);
  await retireCheckout(checkout, { keepState: what === "checkout" });
  await rm(join(place.home, "private", mandateId), { recursive: true, force: true });
}

/** The mandate's commits may be collected from now on, in whichever mirror they are. */
async function releasePins({ home }: WorkPlace, mandateId: string): Promise<void> {
  const mirrors = await readdir(join(home, "mirror")).catch(() => []);
  for (const name of mirrors) {
    await unpin({ gitDir: join(home, "mirror", name) }, mandateId);
  }
}

export async function diffOf(
  { home }: WorkPlace,
  { mandateId, base }: { mandateId: string; base: string },
): Promise<string | null> {
  const checkout = checkoutOf({ home, mandateId });
  const head = await resolve(checkout, checkout.stateRef).catch(() => null);
  if (head === null) return null;
  return diffAt(checkout, { base, head, limitBytes: diffBytesLimit });
}
