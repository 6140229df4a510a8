// One scheduling process per home (spec 8.2): an exclusive lock of the operating system on a file of its own, which
// ends with its process however that dies.

import { DatabaseSync } from "node:sqlite";

export interface Lock {
  release(): void;
}

const busy = 5;

/** Takes the lock; null while another process holds it. */
export function takeLock(file: string): Lock | null {
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec("BEGIN EXCLUSIVE");
    return { release: () => database.close() };
  } catch (error) {
    database.close();
    if (error instanceof Error && "errcode" in error && error.errcode === busy) return null;
    throw error;
  }
}
