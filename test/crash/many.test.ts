// Servers and workers on one PostgreSQL are killed, ended and started while mandates run (spec 8.4): every mandate ends
// exactly once. The same with hundreds of mandates is a part of `npm run crash`.

import { afterAll, expect, onTestFailed, test } from "vitest";
import { temporaryFolder } from "../fakes/repository.ts";
import { startPostgres } from "../services/postgres.ts";
import { runMany } from "./many.ts";
import { longTestMs } from "./process.ts";

const postgres = await startPostgres({ isDurable: true });
afterAll(() => postgres.stop());

const mandates = 20;

test(
  "two servers and three workers that come and go bring every mandate to its one end",
  async () => {
    const end = await runMany({
      folder: temporaryFolder(),
      databaseUrl: await postgres.createDatabase(),
      mandates,
      blowMs: 2_000,
      patienceMs: longTestMs / 2,
      random: Math.random,
    });
    onTestFailed(() => console.error(end.said));
    expect(end.results).toEqual({ 1: mandates });
    expect(end.statuses).toEqual({ 1: mandates });
    expect(end.killed + end.ended).toBeGreaterThan(0);
  },
  longTestMs,
);
