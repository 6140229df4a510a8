// Files the host owns (spec 5.1): written whole or not at all, removed by a rename first.
// Never writes through a link and never reports a full or read-only disk as anything else.

import { randomUUID } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Failure } from "../policies/failure.ts";

/** Opens a file inside a checkout: through no link, without waiting for the other end of a FIFO. */
export const plainFlags =
  constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/** The bytes of a regular file of at most `limitBytes`, else null. */
export function readPlain(path: string | Buffer, limitBytes: number): Buffer | null {
  let file: number;
  try {
    file = openSync(path, plainFlags);
  } catch {
    return null;
  }
  try {
    const stat = fstatSync(file);
    if (!stat.isFile() || stat.size > limitBytes) return null;
    const bytes = Buffer.alloc(stat.size);
    return bytes.subarray(0, readSync(file, bytes, 0, stat.size, 0));
  } finally {
    closeSync(file);
  }
}

/** Runs a file operation; ENOSPC and EROFS become Failure `disk-full` and `read-only`, others `disk-failed`. */
export async function onDisk<Result>(act: () => Promise<Result>): Promise<Result> {
  try {
    return await act();
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    const message = cause instanceof Error ? cause.message : "a file operation failed";
    const code = errorCode(cause);
    if (code === "ENOSPC" || code === "EDQUOT")
      throw new Failure("disk-full", "later", { message, cause });
    const isLocked = code === "EROFS" || code === "EACCES" || code === "EPERM";
    if (isLocked) throw new Failure("read-only", "never", { message, cause });
    throw new Failure("disk-failed", "later", { message, cause });
  }
}

export async function makeFolder(path: string): Promise<void> {
  await onDisk(() => mkdir(path, { recursive: true, mode: 0o700 }));
}

/** Puts `content` at `path` in one step; what was there, even a link, is replaced and not followed. */
export async function writeWhole(path: string, content: string | Buffer): Promise<void> {
  const fresh = `${path}.${randomUUID()}`;
  await onDisk(async () => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(fresh, content, { flag: "wx" });
    await rename(fresh, path);
  });
}

/** Takes `path` away at once and gives the deletion, which may take long, as a promise nobody has to await. */
export async function moveToTrash(home: string, path: string): Promise<{ deleted: Promise<void> }> {
  const place = join(home, "trash", randomUUID());
  await makeFolder(dirname(place));
  try {
    await rename(path, place);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return { deleted: Promise.resolve() };
    await onDisk(() => Promise.reject(error instanceof Error ? error : new Error(String(error))));
  }
  // A deletion cut off by a crash leaves a folder in trash, which sweepHome takes at the next start.
  return { deleted: rm(place, { recursive: true, force: true }).catch(() => undefined) };
}

/** Deletes what earlier runs left in the trash or half made; only at the start, before any checkout is made. */
export async function sweepHome(home: string): Promise<void> {
  for (const name of ["trash", "making"]) {
    await onDisk(() => rm(join(home, name), { recursive: true, force: true }));
  }
}

/** Takes away the locks a killed git left in a git dir; only for its one writer, before its first command. */
export async function removeLocks(gitDir: string): Promise<void> {
  await onDisk(async () => {
    for (const folder of [gitDir, join(gitDir, "refs")]) {
      const names = await readdir(folder, { recursive: folder !== gitDir });
      const locks = names.filter((name) => name.endsWith(".lock"));
      for (const lock of locks) await rm(join(folder, lock), { force: true });
    }
  });
}

export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : "";
}
