// Which processes still live in a checkout (spec 2.1: no turn enters while one of the last does).
// Reads /proc only; what a mandate did not start is reported and never ended.

import { readdir, readFile, readlink } from "node:fs/promises";
import { mandateMarker } from "./environment.ts";
import { endAll } from "./exec.ts";

export interface Living {
  /** False where the system has no /proc: then nothing is known and both lists are empty. */
  isKnown: boolean;
  /** Carry the mandate's marker in their environment, wherever they work. */
  ours: number[];
  /** Work inside the checkout without the marker, such as a person's shell. */
  foreign: number[];
}

/** Processes of the mandate, and strangers in its checkout, except this one. */
export async function processesOf(checkout: {
  mandateId: string;
  workTree: string;
}): Promise<Living> {
  const marker = `${mandateMarker}=${checkout.mandateId}`;
  const living: Living = { isKnown: true, ours: [], foreign: [] };
  const names = await readdir("/proc").catch(() => null);
  if (names === null || !names.includes("self")) return { ...living, isKnown: false };
  for (const name of names) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    // A process that ends meanwhile, or belongs to somebody else, cannot be read.
    const environment = await readFile(`/proc/${name}/environ`, "latin1").catch(() => "");
    const folder = await readlink(`/proc/${name}/cwd`).catch(() => "");
    if (environment.split("\0").includes(marker)) living.ours.push(pid);
    else if (isInside(folder, checkout.workTree)) living.foreign.push(pid);
  }
  return living;
}

/** Ends processes found above, first politely; resolves when they are gone or after twice the grace. */
export async function endProcesses(pids: readonly number[], graceMs?: number): Promise<void> {
  // 0 and negative numbers would mean whole groups, 1 the system's first process.
  await endAll(
    pids.filter((pid) => pid > 1 && pid !== process.pid),
    graceMs,
  );
}

/** Ends what a mandate's own work left running; resolves when no process of it lives (2.1). */
export async function endLeftovers(checkout: {
  mandateId: string;
  workTree: string;
}): Promise<void> {
  const { ours } = await processesOf(checkout);
  if (ours.length > 0) await endProcesses(ours);
}

function isInside(folder: string, workTree: string): boolean {
  return `${folder}/`.startsWith(`${workTree}/`) || folder === `${workTree} (deleted)`;
}
