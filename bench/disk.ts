// How quiet the disk is (spec 8.5): a raw write and fsync, again and again. Absolute times are judged only beside it.
import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { quantile } from "./row.ts";

const writesCount = 200;
const quietMsLimit = 5;
const page = Buffer.alloc(4_096, 1);

/** Milliseconds of each of some writes that were brought to the disk one by one. */
export function measureFsync(folder: string): number[] {
  const file = openSync(join(folder, "fsync"), "w");
  const times = Array.from({ length: writesCount }, () => {
    const startAt = performance.now();
    writeSync(file, page);
    fsyncSync(file);
    return performance.now() - startAt;
  });
  closeSync(file);
  return times;
}

export function isNoisy(times: readonly number[]): boolean {
  return quantile(times, 0.99) >= quietMsLimit;
}
