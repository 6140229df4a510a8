// One scheduling process per home (spec 8.2): an exclusive lock of the operating system on a file of its own, which
// ends with its process however that dies.

import { DatabaseSync } from "node:sqlite";
import { Failure } from "../../../policies/failure.ts";

export interface Lock {
  release(): void;
}

const busy = 5;

/** Takes the lock within `waitMs`; null while another process holds it. Throws Failure `home-unwritable` where none can be laid. */
export function takeLock(file: string, waitMs: number): Lock | null {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { timeout: waitMs });
    database.exec("BEGIN EXCLUSIVE");
    return { release: () => database?.close() };
  } catch (cause) {
    database?.close();
    if (cause instanceof Error && "errcode" in cause && cause.errcode === busy) return null;
    throw new Failure("home-unwritable", "later", { message: `${file} cannot be locked`, cause });
  }
}
