// The commit a submodule stands on (spec 5.2), read as data from its HEAD, loose and packed refs.
// Starts nothing in it and follows no pointer that leads out of the checkout.

import { posix } from "node:path";
import { readPlain } from "../disk.ts";
import { isSafePath } from "./agent-index.ts";
import { bytesOf, lstat } from "./place.ts";

const smallFileLimit = 64 * 1024;
const packedRefsLimit = 64 * 1024 * 1024;

/** A commit; `none` for a folder without a repository, `unknown` where its HEAD cannot be followed. Paths in latin1. */
export function readHead(root: string, folder: string): string {
  let gitDir = `${folder}/.git`;
  const stat = lstat(bytesOf(gitDir));
  if (stat === undefined) return "none";
  if (stat.isFile()) {
    const target = /^gitdir: (.+?)\n?$/.exec(readSmall(gitDir) ?? "")?.[1];
    if (target === undefined) return "unknown";
    gitDir = posix.resolve(folder, target);
    if (!gitDir.startsWith(`${root}/`)) return "unknown";
  }
  const head = readSmall(`${gitDir}/HEAD`)?.trim() ?? "";
  if (isOid(head)) return head;
  const ref = /^ref: (refs\/.+)$/.exec(head)?.[1];
  if (ref === undefined || !isSafePath(ref)) return "unknown";
  const loose = readSmall(`${gitDir}/${ref}`)?.trim() ?? "";
  if (isOid(loose)) return loose;
  const packed = readPlain(bytesOf(`${gitDir}/packed-refs`), packedRefsLimit)?.toString("latin1");
  const row = packed?.split("\n").find((line) => line.endsWith(` ${ref}`));
  const oid = row?.slice(0, 40) ?? "";
  return isOid(oid) ? oid : "unknown";
}

function isOid(text: string): boolean {
  return /^[0-9a-f]{40}$/.test(text);
}

function readSmall(path: string): string | null {
  return readPlain(bytesOf(path), smallFileLimit)?.toString("latin1") ?? null;
}
