// The bare copy of a repository on this worker (spec 5.1): fetched natively, one writer at a time, never collected.
// Every agent of the repository can read its objects, so nothing of a mandate's own work belongs in it.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../../policies/failure.ts";
import { makeFolder, removeLocks } from "../disk.ts";
import { git, gitText } from "../git.ts";
import { reach, type Remote } from "./remote.ts";

export interface Mirror {
  gitDir: string;
}

/** Anything with objects to read: a mirror, or the shadow git dir of a checkout. */
export interface ObjectStore {
  gitDir: string;
}

export interface Tag {
  name: string;
  commit: string;
}

const fetchDeadlineMs = 10 * 60_000;
export const allBranches = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
// Blemishes of old but honest histories; git refuses them once objects are checked on arrival.
const toleratedFlaws = ["zeroPaddedFilemode", "missingSpaceBeforeDate", "badTimezone"];
const lastWrite = new Map<string, Promise<unknown>>();

/** The mirror of a repository, made when it is not there yet. */
export async function openMirror(place: { home: string; repositoryId: string }): Promise<Mirror> {
  const folder = join(place.home, "mirror");
  const mirror = { gitDir: join(folder, `${encodeURIComponent(place.repositoryId)}.git`) };
  await makeFolder(folder);
  const isFirstTime = !lastWrite.has(mirror.gitDir);
  await oneByOne(mirror, async () => {
    if (!existsSync(join(mirror.gitDir, "HEAD"))) await initBare(mirror.gitDir);
    else if (isFirstTime) await removeLocks(mirror.gitDir);
  });
  return mirror;
}

/** An empty bare repository without templates, hooks or anything from the system's configuration. */
export async function initBare(gitDir: string): Promise<void> {
  await git({ gitDir, args: ["init", "--quiet", "--bare", "--template=", gitDir] });
}

export interface FetchOptions extends Remote {
  /** All branches and tags by default. */
  refspecs?: readonly string[] | undefined;
  signal?: AbortSignal | undefined;
}

/** Brings the mirror up to date; a branch that vanished at the source vanishes here, its pinned commits stay. */
export async function fetchMirror(mirror: Mirror, options: FetchOptions): Promise<void> {
  const fetch = ["fetch", "--quiet", "--prune", "--no-tags", "--no-recurse-submodules"];
  // Not atomic: git then prunes last, and a vanished `a` would be in the way of a new `a/b`.
  const quiet = ["--no-write-fetch-head", "--no-auto-maintenance"];
  const refspecs = options.refspecs ?? allBranches;
  await oneByOne(mirror, async () =>
    git({
      ...(await reach(options, "read")),
      gitDir: mirror.gitDir,
      args: [...fetch, ...quiet, "--", options.source, ...refspecs],
      settings: toleratedFlaws.map((flaw) => `fetch.fsck.${flaw}=ignore`),
      deadlineMs: fetchDeadlineMs,
      signal: options.signal,
    }),
  );
}

/** The branch HEAD names at the source, as a full ref. Throws Failure `no-commits` or `no-default-branch`. */
export async function defaultBranch(source: string, signal?: AbortSignal): Promise<string> {
  const listing = await gitText({
    gitDir: "/nonexistent",
    args: ["ls-remote", "--quiet", "--symref", "--", source, "HEAD", "refs/heads/*"],
    ...(await reach({ source }, "read")),
    signal,
  });
  if (listing === "")
    throw new Failure("no-commits", "never", { message: "no branch has commits" });
  const named = /^ref: (\S+)\tHEAD$/m.exec(listing)?.[1];
  const branches = new Set(listing.split("\n").map((row) => row.split("\t")[1]));
  // A detached or unborn HEAD names no branch with commits: then the customary names decide.
  const found = [named, "refs/heads/main", "refs/heads/master"].find((ref) => branches.has(ref));
  if (found === undefined) {
    throw new Failure("no-default-branch", "never", {
      message: "HEAD names no branch with commits",
    });
  }
  return found;
}

/** Keeps a commit, beside those before it, from being collected while its mandate lives (and 14 days after). */
export async function pin(mirror: Mirror, mandateId: string, commit: string): Promise<void> {
  const args = ["update-ref", `${keepRef(mandateId)}.${commit}`, commit];
  await oneByOne(mirror, () => git({ gitDir: mirror.gitDir, args }));
}

export async function unpin(mirror: Mirror, mandateId: string): Promise<void> {
  const { gitDir } = mirror;
  const ref = keepRef(mandateId);
  const list = ["for-each-ref", "--format=delete %(refname)", ref, `${ref}.*`];
  await oneByOne(mirror, async () => {
    const input = await git({ gitDir, args: list });
    await git({ gitDir, args: ["update-ref", "--stdin"], input });
  });
}

function keepRef(mandateId: string): string {
  return `refs/keep/${mandateId}`;
}

/** The commit behind a ref or object name, or null when there is none. */
export async function resolve(store: ObjectStore, ref: string): Promise<string | null> {
  if (/[\n\0]/.test(ref)) return null;
  const args = ["cat-file", "--batch-check=%(objectname)"];
  const input = Buffer.from(`${ref}^{commit}\n`);
  const answer = await gitText({ gitDir: store.gitDir, args, input });
  return /^[0-9a-f]{40}$/.test(answer) ? answer : null;
}

export interface FileAt {
  commit: string;
  path: string;
  limitBytes: number;
}

/** A regular file of a commit, or null when there is none. Throws Failure `file-too-large`. */
export async function readFileAt(store: ObjectStore, file: FileAt): Promise<Buffer | null> {
  const { gitDir } = store;
  const list = ["--literal-pathspecs", "ls-tree", "-z", "-l", "--full-tree", file.commit, "--"];
  const row = await gitText({ gitDir, args: [...list, file.path] });
  const [, oid, size] = /^100(?:644|755) blob ([0-9a-f]{40}) +(\d+)\t/.exec(row) ?? [];
  if (oid === undefined) return null;
  if (Number(size) > file.limitBytes) {
    const message = `${file.path} has ${size} bytes, the limit is ${file.limitBytes}`;
    throw new Failure("file-too-large", "never", { message });
  }
  return git({ gitDir, args: ["cat-file", "blob", oid] });
}

export interface Comparison {
  base: string;
  head: string;
  limitBytes: number;
}

/** The patch from base to head for people to read, cut at the limit. */
export async function diffAt(store: ObjectStore, compared: Comparison): Promise<string> {
  const plain = ["--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"];
  const patch = await git({
    gitDir: store.gitDir,
    args: ["diff-tree", "-p", "-r", "-M", "--no-commit-id", ...plain, compared.base, compared.head],
    outputLimit: compared.limitBytes,
    onExcess: "cut",
  });
  return patch.toString("utf8");
}

/** All tags with the commits they lead to, in order of name; a tag of something else is left out. */
export async function listTags(mirror: Mirror): Promise<Tag[]> {
  const refs = await listRefs(mirror, "refs/tags/");
  return refs.map(({ name, commit }) => ({ name: name.slice("refs/tags/".length), commit }));
}

/** Full names below `prefix` and the commits they lead to. */
export async function listRefs(store: ObjectStore, prefix: string): Promise<Tag[]> {
  const format = "%(objecttype)%(*objecttype) %(objectname) %(*objectname) %(refname)";
  const args = ["for-each-ref", `--format=${format}`, prefix];
  const rows = (await gitText({ gitDir: store.gitDir, args })).split("\n");
  return rows.flatMap((row) => {
    const [, direct, peeled, name] = /^(?:tag)?commit (\S+) (\S*) (.+)$/.exec(row) ?? [];
    return direct === undefined || name === undefined ? [] : [{ name, commit: peeled || direct }];
  });
}

/** Fetches and pins of one mirror never overlap; a failed one does not stop the next. */
async function oneByOne<Result>(mirror: Mirror, act: () => Promise<Result>): Promise<Result> {
  const before = lastWrite.get(mirror.gitDir) ?? Promise.resolve();
  const now = before.then(act, act);
  lastWrite.set(mirror.gitDir, now);
  return now;
}
