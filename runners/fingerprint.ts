// The content state of a checkout as tree hashes (spec 5.2), always the strict way: every file rehashed from raw bytes.
// Uses the shadow git dir and a fresh index of its own; no filter, attribute or stat time has a say.

import { randomUUID } from "node:crypto";
import { open, readlink, rm } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../policies/failure.ts";
import { plainFlags } from "./disk.ts";
import { git, gitText } from "./git.ts";
import type { ChangedFile, Scan } from "./scan/files.ts";
import { scanInThread } from "./scan/thread.ts";

export type Untracked = "ignore" | "count" | "commit";

/** A shadow git dir and the files it watches over. */
export interface Watched {
  gitDir: string;
  workTree: string;
}

export interface Fingerprint {
  /** Tree of the files that earn credit; with `commit` the new ones are among them. */
  tracked: string;
  /** Tree of these and, unless ignored by policy, of the untracked files git does not ignore. */
  all: string;
  files: number;
  /** Oddities such as `agent-index-unreadable: version 9`, at most 20 of each kind and pass. */
  events: string[];
}

// Beyond these, untracked files are left out in order of path and the event `untracked-over-limit` says so.
const untrackedCountLimit = 5_000;
const untrackedBytesLimit = 100 * 1024 * 1024;
const listDeadlineMs = 60_000;

/** Hashes the checkout as it is now. No process of the agent may be alive. Throws Failure `checkout-changed`. */
export async function fingerprint(
  watched: Watched,
  options: { untracked: Untracked; listDeadlineMs?: number },
): Promise<Fingerprint> {
  const { tree } = await takeTree(watched, { ...options, isStored: false });
  return options.untracked === "commit" ? { ...tree, tracked: tree.all } : tree;
}

/** The same trees with every blob in the shadow's objects, ready to be committed. */
export async function storeTree(
  watched: Watched,
  options: { untracked: Untracked },
): Promise<Fingerprint> {
  const { tree, changed } = await takeTree(watched, { ...options, isStored: true });
  await requireBlobs(watched, changed);
  return tree;
}

interface TakeOptions {
  untracked: Untracked;
  isStored: boolean;
  listDeadlineMs?: number;
}

async function takeTree(watched: Watched, options: TakeOptions) {
  const indexFile = join(watched.gitDir, `index-${randomUUID()}`);
  const places = { gitDir: watched.gitDir, indexFile };
  const base = await git({ ...places, args: ["ls-tree", "-r", "-z", "--full-tree", "HEAD"] });
  try {
    const kept = await look(watched, { base, indexFile: join(watched.workTree, ".git/index") });
    await addToIndex(places, kept);
    const listed = await listUntracked(watched, { ...options, indexFile });
    const fresh = await look(watched, { paths: listed.paths });
    const changed = [...kept.changed, ...fresh.changed];
    if (options.isStored) await storeBlobs(watched, changed);
    const tracked = await writeTree(places);
    if (fresh.files > 0) await addToIndex(places, fresh);
    const all = fresh.files > 0 ? await writeTree(places) : tracked;
    const events = [...kept.events, ...listed.events, ...fresh.events];
    return { tree: { tracked, all, files: kept.files + fresh.files, events }, changed };
  } finally {
    await rm(indexFile, { force: true });
  }
}

type Where = { base: Buffer; indexFile: string } | { paths: Buffer };

async function look(watched: Watched, where: Where): Promise<Scan> {
  const { workTree } = watched;
  const nothing = Buffer.alloc(0);
  if ("paths" in where && where.paths.length === 0) {
    return { indexInfo: nothing, files: 0, changed: [], events: [] };
  }
  const known =
    "base" in where
      ? { ...where, paths: nothing, countLimit: Infinity, bytesLimit: Infinity }
      : {
          ...where,
          base: nothing,
          indexFile: null,
          countLimit: untrackedCountLimit,
          bytesLimit: untrackedBytesLimit,
        };
  try {
    return await scanInThread({ workTree, ...known });
  } catch (cause) {
    throw changedFailure(cause instanceof Error ? cause.message : "the scan failed", cause);
  }
}

async function listUntracked(
  watched: Watched,
  options: { untracked: Untracked; indexFile: string; listDeadlineMs?: number },
): Promise<{ paths: Buffer; events: string[] }> {
  if (options.untracked === "ignore") return { paths: Buffer.alloc(0), events: [] };
  try {
    const paths = await git({
      gitDir: watched.gitDir,
      workTree: watched.workTree,
      indexFile: options.indexFile,
      args: ["ls-files", "--others", "--exclude-standard", "-z"],
      deadlineMs: options.listDeadlineMs ?? listDeadlineMs,
    });
    return { paths, events: [] };
  } catch (error) {
    // Git waits for ever on a FIFO named `.gitignore`, and a huge listing is cut: what is tracked counts all the same.
    if (!(error instanceof Failure) || !/^(?:git-timeout|output-limit)$/.test(error.code))
      throw error;
    return { paths: Buffer.alloc(0), events: [`untracked-unlisted: ${error.code}`] };
  }
}

interface IndexPlaces {
  gitDir: string;
  indexFile: string;
}

async function addToIndex(places: IndexPlaces, found: Scan): Promise<void> {
  await git({ ...places, args: ["update-index", "-z", "--index-info"], input: found.indexInfo });
}

/** Objects may be missing here: a fingerprint stores none, and a stored tree is checked blob by blob. */
async function writeTree(places: IndexPlaces): Promise<string> {
  return gitText({ ...places, args: ["write-tree", "--missing-ok"] });
}

/** Git reads no file of the checkout itself: it gets the bytes, so that neither links nor filters can step in. */
async function storeBlobs(watched: Watched, changed: readonly ChangedFile[]): Promise<void> {
  if (changed.length === 0) return;
  const args = ["fast-import", "--quiet", "--done"];
  await git({ gitDir: watched.gitDir, args, input: blobStream(watched.workTree, changed) });
}

async function* blobStream(workTree: string, changed: readonly ChangedFile[]) {
  const root = Buffer.from(`${workTree}/`);
  for (const { path, mode, size } of changed) {
    const place = Buffer.concat([root, Buffer.from(path, "latin1")]);
    yield Buffer.from(`blob\ndata ${size}\n`);
    if (mode === "120000") yield await linkTarget(place, size);
    else yield* fileStream(place, size);
    yield Buffer.from("\n");
  }
  yield Buffer.from("done\n");
}

async function* fileStream(place: Buffer, size: number) {
  const file = await openAgain(place);
  try {
    for (let left = size; left > 0;) {
      const chunk = Buffer.allocUnsafe(Math.min(left, 256 * 1024));
      const { bytesRead } = await file.read(chunk, 0, chunk.length);
      if (bytesRead === 0) throw changedFailure("a file became shorter");
      yield chunk.subarray(0, bytesRead);
      left -= bytesRead;
    }
  } finally {
    await file.close();
  }
}

async function openAgain(place: Buffer) {
  try {
    return await open(place, plainFlags);
  } catch (cause) {
    throw changedFailure("a file is gone", cause);
  }
}

async function linkTarget(place: Buffer, size: number): Promise<Buffer> {
  const target = await readlink(place, { encoding: "buffer" }).catch(() => null);
  if (target?.length !== size) throw changedFailure("a link is another");
  return target;
}

/** A file that changed between hash and copy left another blob than the tree names. */
async function requireBlobs(watched: Watched, changed: readonly ChangedFile[]): Promise<void> {
  const input = Buffer.from(changed.map(({ oid }) => `${oid}\n`).join(""));
  const args = ["cat-file", "--batch-check=%(objecttype)"];
  const answer = await gitText({ gitDir: watched.gitDir, args, input });
  if (answer.includes("missing")) throw changedFailure("a blob is missing");
}

function changedFailure(message: string, cause?: unknown): Failure {
  return new Failure("checkout-changed", "later", { message, cause });
}
