// Paths of any bytes, one character each (latin1), as the file system takes them.
// A place that cannot exist is absent, never an error.

import { lstatSync, type Stats } from "node:fs";
import { errorCode } from "../disk.ts";

export function bytesOf(path: string): Buffer {
  return Buffer.from(path, "latin1");
}

export function lstat(path: Buffer): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    // A forged path may be too long or lead through a file; nothing is there then.
    if (["ENAMETOOLONG", "ELOOP", "ENOTDIR"].includes(errorCode(error))) return undefined;
    throw error;
  }
}
