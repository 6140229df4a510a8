// Looks at the files of a checkout (spec 5.2): kind, mode and blob of each path, from raw bytes.
// Starts no process, writes nothing, follows no link and opens nothing but regular files.

import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readlinkSync, readSync } from "node:fs";
import { errorCode, plainFlags, readPlain } from "../disk.ts";
import { isSafePath, parseIndex } from "./agent-index.ts";
import { bytesOf, lstat } from "./place.ts";
import { readHead } from "./submodule.ts";

export interface ScanRequest {
  workTree: string;
  /** `ls-tree -r -z` of the base, or an empty buffer. */
  base: Buffer;
  /** Paths to look at beside the base's, each ended by a NUL. */
  paths: Buffer;
  /** The agent's index, of which the paths are added; null to leave it out. */
  indexFile: string | null;
  countLimit: number;
  bytesLimit: number;
}

/** A file whose blob the base does not have at this path; `path` in latin1. */
export interface ChangedFile {
  path: string;
  mode: string;
  oid: string;
  size: number;
}

export interface Scan {
  /** What exists, as `update-index -z --index-info` reads it. */
  indexInfo: Buffer;
  files: number;
  changed: ChangedFile[];
  /** What could not be taken as it is, each `code` or `code: path`. */
  events: string[];
}

interface Known {
  mode: string;
  oid: string;
}

interface Seen extends Known {
  size: number;
}

const gitlinkMode = "160000";
const indexBytesLimit = 256 * 1024 * 1024;
const eventsOfCodeLimit = 20;

/** What exists at the known paths; blocks for as long as it takes. Throws when a file changes meanwhile. */
export function scan(request: ScanRequest): Scan {
  const events: string[] = [];
  const root = Buffer.from(request.workTree).toString("latin1");
  const base = readBase(Buffer.from(request.base));
  const known = new Map(base);
  for (const path of Buffer.from(request.paths).toString("latin1").split("\0")) {
    if (path.endsWith("/")) events.push(`embedded-repository: ${shown(path)}`);
    else if (isSafePath(path) && !known.has(path)) known.set(path, { mode: "", oid: "" });
  }
  for (const entry of readAgentIndex(request.indexFile, events)) {
    const mode = entry.mode === 0o160000 ? gitlinkMode : "";
    if (!known.has(entry.path)) known.set(entry.path, { mode, oid: entry.oid });
  }
  const look = lookIn(root, { known, parents: parentsOf(known.keys()), events });
  const rows: string[] = [];
  const changed: ChangedFile[] = [];
  let bytesLeft = request.bytesLimit;
  for (const path of [...known.keys()].sort()) {
    const seen = look(path);
    if (seen === null) continue;
    bytesLeft -= seen.size;
    if (rows.length >= request.countLimit || bytesLeft < 0) {
      events.push("untracked-over-limit");
      break;
    }
    rows.push(`${seen.mode} ${seen.oid}\t${path}\0`);
    if (seen.mode !== gitlinkMode && base.get(path)?.oid !== seen.oid)
      changed.push({ path, ...seen });
  }
  const indexInfo = Buffer.from(rows.join(""), "latin1");
  return { indexInfo, files: rows.length, changed, events: firstOfEach(events) };
}

function readBase(listing: Buffer): Map<string, Known> {
  const known = new Map<string, Known>();
  for (const row of listing.toString("latin1").split("\0")) {
    const tab = row.indexOf("\t");
    const [mode, , oid] = row.slice(0, tab).split(" ");
    if (mode !== undefined && oid !== undefined) known.set(row.slice(tab + 1), { mode, oid });
  }
  return known;
}

function readAgentIndex(file: string | null, events: string[]) {
  if (file === null) return [];
  const bytes = readPlain(file, indexBytesLimit);
  const parsed = bytes === null ? { ok: false as const, why: "missing" } : parseIndex(bytes);
  if (parsed.ok) return parsed.entries;
  events.push(`agent-index-unreadable: ${parsed.why}`);
  return [];
}

/** Every folder that holds a known path. */
function parentsOf(paths: Iterable<string>): Set<string> {
  const parents = new Set<string>();
  for (const path of paths) {
    let slash = path.lastIndexOf("/");
    while (slash > 0 && !parents.has(path.slice(0, slash))) {
      parents.add(path.slice(0, slash));
      slash = path.lastIndexOf("/", slash - 1);
    }
  }
  return parents;
}

interface Surroundings {
  known: ReadonlyMap<string, Known>;
  parents: ReadonlySet<string>;
  events: string[];
}

function lookIn(root: string, { known, parents, events }: Surroundings) {
  const folders = new Map<string, boolean>();

  /** lstat follows links in the folders above, so each of them is looked at first. */
  function isFolder(path: string): boolean {
    const cached = folders.get(path);
    if (cached !== undefined) return cached;
    const slash = path.lastIndexOf("/");
    const isInside = slash < 0 || isFolder(path.slice(0, slash));
    const found = isInside && lstat(bytesOf(`${root}/${path}`))?.isDirectory() === true;
    folders.set(path, found);
    return found;
  }

  return function look(path: string): Seen | null {
    const slash = path.lastIndexOf("/");
    const place = bytesOf(`${root}/${path}`);
    try {
      if (slash > 0 && !isFolder(path.slice(0, slash))) return null;
      const stat = lstat(place);
      if (stat?.isSymbolicLink() === true) return linkAt(path, place, events);
      if (stat?.isFile() === true) return fileAt(place);
      const before = known.get(path);
      // Files that are tracked below a folder win over the claim that it is a submodule.
      const isLink = before?.mode === gitlinkMode && stat?.isDirectory() === true;
      return isLink && !parents.has(path)
        ? gitlinkAt(root, { path, oid: before.oid, events })
        : null;
    } catch (error) {
      if (!["EACCES", "EPERM"].includes(errorCode(error))) throw error;
      events.push(`unreadable: ${shown(path)}`);
      return null;
    }
  };
}

function linkAt(path: string, place: Buffer, events: string[]): Seen | null {
  if (/(?:^|\/)\.gitmodules$/i.test(path)) {
    // Git takes no such link into an index, because it would configure submodules from elsewhere.
    events.push(`link-refused: ${shown(path)}`);
    return null;
  }
  const target = readlinkSync(place, { encoding: "buffer" });
  return { mode: "120000", oid: blobOf(target), size: target.length };
}

function fileAt(place: Buffer): Seen | null {
  const file = openSync(place, plainFlags);
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) return null;
    const mode = (stat.mode & 0o100) === 0 ? "100644" : "100755";
    return { mode, oid: hashFile(file, stat.size), size: stat.size };
  } finally {
    closeSync(file);
  }
}

function hashFile(file: number, size: number): string {
  const hash = createHash("sha1").update(`blob ${size}\0`);
  const chunk = Buffer.allocUnsafe(Math.min(Math.max(size, 1), 1024 * 1024));
  let left = size;
  while (left > 0) {
    const length = readSync(file, chunk, 0, Math.min(chunk.length, left), null);
    if (length === 0) throw new Error("a file became shorter while it was read");
    hash.update(chunk.subarray(0, length));
    left -= length;
  }
  return hash.digest("hex");
}

function blobOf(content: Buffer): string {
  return createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");
}

/** Without a repository in it a submodule stands where it is known to stand; nowhere, it is absent. */
function gitlinkAt(root: string, link: { path: string; oid: string; events: string[] }) {
  const head = readHead(root, `${root}/${link.path}`);
  if (head === "unknown") link.events.push(`submodule-unknown: ${shown(link.path)}`);
  const oid = head === "none" || head === "unknown" ? link.oid : head;
  return /^0+$/.test(oid) ? null : { mode: gitlinkMode, oid, size: 0 };
}

/** Bounded by kind, so that many of one kind cannot hide another. */
function firstOfEach(events: readonly string[]): string[] {
  const byCode = Map.groupBy(events, (event) => event.split(":", 1)[0]);
  return [...byCode.values()].flatMap((same) => same.slice(0, eventsOfCodeLimit));
}

function shown(path: string): string {
  return bytesOf(path).toString("utf8").slice(0, 200);
}
