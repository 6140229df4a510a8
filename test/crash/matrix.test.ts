// `kill -9` at every named point of a life on GitHub (spec 6.4, 8.4; I5), once, with the ledger on a file of its own: the
// process is the real one, GitHub stays and tells what came of it. `npm run crash` does the same on PostgreSQL, with
// Redis, and with two processes.

import { afterAll, expect, onTestFailed, test } from "vitest";
import { mutants } from "../simulation/faults.ts";
import { jobsOf, mutantJob, openServices, runJobs } from "./matrix/main.ts";

const services = openServices();
afterAll(() => services.close());

test("nothing is silent, lost or doubled wherever the process dies, and every point is come by", async () => {
  const bad: string[] = [];
  const closing = await runJobs(jobsOf("sqlite"), {
    services,
    onDone: ({ name }, { found, said }) => {
      if (found.length > 0) bad.push(name, ...found, said);
    },
  });
  onTestFailed(() => console.error(bad.join("\n")));
  const nothing = { silent: 0, lost: 0, doubled: 0, pointsNotHit: [] };
  expect(closing).toMatchObject(nothing);
}, 480_000);

test("a mutant that finds no comment of its own is caught", async () => {
  const closing = await runJobs([mutantJob(mutants[1])], { services, onDone: () => {} });
  expect(closing.mutantsMissed).toEqual([]);
}, 120_000);
