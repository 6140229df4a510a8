// How the tests run (spec 8.4): a limited number of processes, and time enough for real git and
// real processes on a busy machine.
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

const workerLimit = 4;

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    reporters: ["default", "./test/closing-line.ts"],
    maxWorkers: Math.min(availableParallelism(), workerLimit),
    testTimeout: 120_000,
    hookTimeout: 60_000,
  },
});
