// Which processes still live in a checkout (spec 2.1: no turn enters while one of the last does).
// Reads /proc only; what a mandate did not start is reported and never ended.

import { readdir, readFile, readlink } from "node:fs/promises";
import { checkoutMarker } from "./environment.ts";
import { endAll } from "./exec.ts";

export interface Living {
  /** False where the system has no /proc: then nothing is known and both lists are empty. */
  isKnown: boolean;
  /** Carry the checkout's mark in their environment, wherever they work. */
  ours: number[];
  /** Work inside the checkout without its mark, such as a person's shell. */
  foreign: number[];
}

/** Processes of a turn in this checkout, and strangers in it, except this one. */
export async function processesOf({ workTree }: { workTree: string }): Promise<Living> {
  const living: Living = { isKnown: true, ours: [], foreign: [] };
  const pids = await otherProcesses();
  if (pids === null) return { ...living, isKnown: false };
  for (const pid of pids) {
    const folder = await folderOf(pid);
    if ((await markOf(pid)) === workTree) living.ours.push(pid);
    else if (isInside(folder, workTree)) living.foreign.push(pid);
  }
  return living;
}

/** Mandates in whose checkout somebody works whom the host did not start; `work` is the folder of all checkouts. */
export async function managedOutside(work: string): Promise<Set<string>> {
  const found = new Set<string>();
  for (const pid of (await otherProcesses()) ?? []) {
    const folder = await folderOf(pid);
    if (!isInside(folder, work) || (await markOf(pid)) !== null) continue;
    const [mandateId] = folder.slice(work.length + 1).split("/");
    if (mandateId !== undefined && mandateId !== "") found.add(mandateId);
  }
  return found;
}

/** Null where the system has no /proc. */
async function otherProcesses(): Promise<number[] | null> {
  const names = await readdir("/proc").catch(() => null);
  if (names === null || !names.includes("self")) return null;
  const pids = names.map(Number);
  return pids.filter((pid) => Number.isInteger(pid) && pid !== process.pid);
}

// A process that ends meanwhile, or belongs to somebody else, cannot be read and counts for nothing.
function folderOf(pid: number): Promise<string> {
  return readlink(`/proc/${pid}/cwd`).catch(() => "");
}

/** The checkout that a process carries in its environment; null for all others. */
async function markOf(pid: number): Promise<string | null> {
  const environment = await readFile(`/proc/${pid}/environ`, "latin1").catch(() => "");
  const prefix = `${checkoutMarker}=`;
  const mark = environment.split("\0").find((entry) => entry.startsWith(prefix));
  return mark?.slice(prefix.length) ?? null;
}

/** Ends processes found above, first politely; resolves when they are gone or after twice the grace. */
export async function endProcesses(pids: readonly number[], graceMs?: number): Promise<void> {
  // 0 and negative numbers would mean whole groups, 1 the system's first process.
  await endAll(
    pids.filter((pid) => pid > 1 && pid !== process.pid),
    graceMs,
  );
}

/** Ends what a mandate's own work left running here; resolves when no process of it lives (2.1). */
export async function endLeftovers(checkout: { workTree: string }): Promise<void> {
  const { ours } = await processesOf(checkout);
  if (ours.length > 0) await endProcesses(ours);
}

/** As above, for all checkouts below `work`: whoever starts here finds nobody else at work. */
export async function endAllLeftovers(work: string): Promise<void> {
  const ours: number[] = [];
  for (const pid of (await otherProcesses()) ?? []) {
    if (((await markOf(pid)) ?? "").startsWith(`${work}/`)) ours.push(pid);
  }
  if (ours.length > 0) await endProcesses(ours);
}

function isInside(folder: string, workTree: string): boolean {
  return `${folder}/`.startsWith(`${workTree}/`) || folder === `${workTree} (deleted)`;
}
