// A mandate's work tree and the shadow git dir that watches it (spec 5.1): made, restored, retired.
// The `.git` inside belongs to the agent: the host makes it and writes refs into it as data, but never runs git on it.

import { strict as assert } from "node:assert";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, lstat, rename } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../../policies/failure.ts";
import { makeFolder, moveToTrash, onDisk, readPlain, removeLocks, writeWhole } from "../disk.ts";
import { git } from "../git.ts";
import { headOf } from "./commit.ts";
import { initBare, listRefs, pin, resolve, type Mirror } from "./mirror.ts";
import { keeper, readState } from "./saved-state.ts";

export interface Checkout {
  home: string;
  mandateId: string;
  /** Where the agent works. */
  workTree: string;
  /** The shadow git dir; HEAD is the base commit. */
  gitDir: string;
  stateRef: string;
}

export interface Origin {
  mirror: Mirror;
  /** A commit of the mirror. */
  base: string;
  /** The agent's branch, without `refs/heads/`. */
  branch?: string | undefined;
}

// One line above all `.gitattributes`: files go in and out as they are, and no filter has a name to run by.
const rawAttributes = "* -text -ident -filter -working-tree-encoding\n";
const packedRefsLimit = 16 * 1024 * 1024;

/** The places of a mandate's checkout, whether or not it exists. */
export function checkoutOf(place: { home: string; mandateId: string }): Checkout {
  const { home, mandateId } = place;
  assert(/^[A-Za-z0-9][\w-]*$/.test(mandateId), "a mandate's id is a plain file name");
  return {
    home,
    mandateId,
    workTree: join(home, "work", mandateId),
    gitDir: join(home, "shadow", `${mandateId}.git`),
    stateRef: `refs/holdfast/${mandateId}`,
  };
}

/** A fresh checkout of the base, in place of any earlier one; the base is pinned in the mirror. */
export async function createCheckout(checkout: Checkout, origin: Origin): Promise<void> {
  const base = await makeShadow(checkout, origin);
  await makeWorkTree(checkout, { ...origin, base });
}

/** A fresh shadow on the base, in place of any earlier checkout; returns the base as a commit. */
export async function makeShadow(checkout: Checkout, origin: Origin): Promise<string> {
  const base = await resolve(origin.mirror, origin.base);
  if (base === null) {
    throw new Failure("no-such-commit", "later", {
      message: `${origin.base} is not in the mirror`,
    });
  }
  await retireCheckout(checkout);
  await pin(origin.mirror, checkout.mandateId, base);
  await makeFolder(join(checkout.home, "shadow"));
  await initBare(checkout.gitDir);
  await writeWhole(join(checkout.gitDir, "objects/info/alternates"), alternates(origin.mirror));
  await writeWhole(join(checkout.gitDir, "info/attributes"), rawAttributes);
  await writeWhole(
    join(checkout.gitDir, "config"),
    gitConfig({ bare: "true", protectNTFS: "false" }),
  );
  await moveHead(checkout, base);
  return base;
}

/** The checkout as it was left; a missing or foreign one comes back from its saved state, else from the base. */
export async function ensureCheckout(
  checkout: Checkout,
  origin: Origin,
): Promise<"kept" | "restored" | "created"> {
  const hasShadow = await openShadow(checkout);
  if (await isInPlace(checkout)) return "kept";
  const state = hasShadow ? await readState(checkout) : null;
  if (state === null) {
    await createCheckout(checkout, origin);
    return "created";
  }
  const { base, commit } = state;
  await moveToTrash(checkout.home, checkout.workTree);
  // A replay that was cut off had moved the state alone; everything else follows from it.
  await moveHead(checkout, base);
  await makeWorkTree(checkout, { ...origin, base, state: commit });
  return "restored";
}

/** Frees the shadow of what a killed git left; false when there is none. Only for the one who works on the mandate. */
export async function openShadow({ gitDir }: Checkout): Promise<boolean> {
  // Written when the rest is there, so that a making cut off by a crash begins again.
  const isThere = existsSync(join(gitDir, "info/attributes"));
  if (isThere) await removeLocks(gitDir);
  return isThere;
}

/** Shows the agent the mirror's branches and pull requests below `origin/`, and tags; a `.git` it broke is replaced. */
export async function refreshAgentRefs(checkout: Checkout, origin: Origin): Promise<void> {
  const gitDir = join(checkout.workTree, ".git");
  const stat = await lstat(gitDir).catch(() => null);
  if (stat?.isDirectory() === true) {
    await writePackedRefs(gitDir, origin.mirror);
    return;
  }
  await moveToTrash(checkout.home, gitDir);
  const fresh = join(checkout.home, "making", randomUUID());
  const base = await headOf(checkout);
  await makeAgentGitDir(checkout, { ...origin, base, place: fresh });
  await git({ gitDir: fresh, args: ["read-tree", base] });
  await onDisk(() => rename(fresh, gitDir));
}

/** Takes the checkout away by rename; the deletion goes on in the background. `keepState` spares the shadow. */
export async function retireCheckout(
  checkout: Checkout,
  options: { keepState?: boolean } = {},
): Promise<{ deleted: Promise<unknown> }> {
  const work = await moveToTrash(checkout.home, checkout.workTree);
  if (options.keepState === true) return work;
  const shadow = await moveToTrash(checkout.home, checkout.gitDir);
  return { deleted: Promise.all([work.deleted, shadow.deleted]) };
}

/** True when something stands at the checkout's place that this host did not put there. */
export async function isForeign(checkout: Checkout): Promise<boolean> {
  if (!(await exists(checkout.workTree))) return false;
  const noted = readPlain(placeFile(checkout), 1_000)?.toString("utf8");
  return noted !== (await placeOf(checkout.workTree));
}

/** True while the folder that this host made stands at the checkout's place. */
export async function isInPlace(checkout: Checkout): Promise<boolean> {
  return (await exists(checkout.workTree)) && !(await isForeign(checkout));
}

async function moveHead({ gitDir }: Checkout, base: string): Promise<void> {
  await git({ gitDir, args: ["update-ref", "--no-deref", "HEAD", base] });
}

interface Making extends Origin {
  /** The saved state to begin with instead of the base. */
  state?: string;
}

/** Builds the whole folder aside and renames it last, so that a checkout is either complete or not there. */
async function makeWorkTree(checkout: Checkout, making: Making): Promise<void> {
  const { base, state } = making;
  const fresh = join(checkout.home, "making", randomUUID());
  const agentGitDir = join(fresh, ".git");
  const places = {
    gitDir: checkout.gitDir,
    workTree: fresh,
    indexFile: join(checkout.gitDir, "index"),
  };
  await makeFolder(fresh);
  await makeFolder(join(checkout.home, "work"));
  await git({ ...places, args: ["read-tree", state ?? base] });
  await git({ ...places, args: ["checkout-index", "--all", "--force", "--index"] });
  await makeAgentGitDir(checkout, { ...making, place: agentGitDir });
  if (state !== undefined) {
    const pack = join(agentGitDir, "objects/pack/pack");
    const input = Buffer.from(`${state}\n^${base}\n`);
    await git({ ...places, args: ["pack-objects", "--quiet", "--revs", pack], input });
    await git({ ...places, args: ["read-tree", `${state}^`] });
    const refresh = ["update-index", "-q", "--ignore-submodules", "--refresh"];
    await git({ ...places, args: refresh });
  }
  await onDisk(async () => {
    await copyFile(places.indexFile, join(agentGitDir, "index"));
    await writeWhole(placeFile(checkout), await placeOf(fresh));
    await rename(fresh, checkout.workTree);
  });
}

/** The agent's own small repository; the mirror's objects are lent to it, the shadow's are not. */
async function makeAgentGitDir(
  checkout: Checkout,
  making: Origin & { place: string },
): Promise<void> {
  const { place, mirror, base, branch = `holdfast/${checkout.mandateId}` } = making;
  await makeFolder(join(checkout.home, "making"));
  await initBare(place);
  await writeWhole(join(place, "config"), gitConfig({ bare: "false", logAllRefUpdates: "true" }));
  await writeWhole(join(place, "info/attributes"), rawAttributes);
  await writeWhole(join(place, "objects/info/alternates"), alternates(mirror));
  await git({ gitDir: place, args: ["update-ref", `refs/heads/${branch}`, base] });
  await git({ gitDir: place, args: ["symbolic-ref", "HEAD", `refs/heads/${branch}`] });
  await writePackedRefs(place, mirror);
}

/** Replaces the one file; refs of the agent's own that were packed there stay. */
async function writePackedRefs(agentGitDir: string, mirror: Mirror): Promise<void> {
  const file = join(agentGitDir, "packed-refs");
  const refs = new Map<string, string>();
  for (const row of readPlain(file, packedRefsLimit)?.toString("utf8").split("\n") ?? []) {
    const [, oid, name] = /^([0-9a-f]{40}) (refs\/\S+)$/.exec(row) ?? [];
    if (oid && name && !name.startsWith("refs/remotes/origin/")) refs.set(name, oid);
  }
  for (const { name, commit } of await listRefs(mirror, "refs/heads/")) {
    refs.set(name.replace("refs/heads/", "refs/remotes/origin/"), commit);
  }
  for (const { name, commit } of await listRefs(mirror, "refs/pull/")) {
    refs.set(name.replace("refs/", "refs/remotes/origin/"), commit);
  }
  for (const { name, commit } of await listRefs(mirror, "refs/tags/")) refs.set(name, commit);
  await writeWhole(file, [...refs].map(([name, oid]) => `${oid} ${name}\n`).join(""));
}

function gitConfig(core: Record<string, string>): string {
  const lines = Object.entries({ repositoryFormatVersion: "0", fileMode: "true", ...core });
  const identity = `[user]\n\tname = ${keeper.name}\n\temail = ${keeper.email}\n`;
  // Collecting would start a process that outlives the agent's turn.
  const collect = "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n";
  return `[core]\n${lines.map(([key, value]) => `\t${key} = ${value}\n`).join("")}${identity}${collect}`;
}

function alternates(mirror: Mirror): string {
  return `${join(mirror.gitDir, "objects")}\n`;
}

function placeFile(checkout: Checkout): string {
  return join(checkout.gitDir, "place");
}

/** What a rename keeps and a copy or another folder does not have; empty for anything but a folder. */
async function placeOf(path: string): Promise<string> {
  const stat = await lstat(path, { bigint: true });
  return stat.isDirectory() ? `${stat.dev}:${stat.ino}` : "";
}

async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => null)) !== null;
}
