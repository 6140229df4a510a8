// `npm run crash -- [--json] [--full] [--configuration C] [--point P] [--mutant M]` (spec 8.4, 8.5): real processes ended
// with SIGKILL at every named point, on each way to run them, and mutants that this must catch. Prints one closing
// object; what went wrong goes to standard error.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startPostgres } from "../../services/postgres.ts";
import { startRedis } from "../../services/redis.ts";
import { mutants, type Mutant } from "../../simulation/faults.ts";
import { runMany } from "../many.ts";
import { nameOf, points, type Point } from "./points.ts";
import { runScenario, type Outcome, type Place, type Wanted } from "./scenario.ts";

const configurations = ["sqlite", "postgres", "postgres-two", "postgres-redis"] as const;
type Configuration = (typeof configurations)[number];

export interface Closing {
  scenarios: number;
  silent: number;
  lost: number;
  doubled: number;
  pointsNotHit: string[];
  failingSeeds: number[];
  mutantsMissed: string[];
}

interface Job {
  readonly name: string;
  readonly configuration: Configuration;
  readonly point: Point | null;
  readonly hit: number;
  readonly mutant: Mutant | null;
}

const patienceMs = 60_000;
/** What a mutant has lost does not come. */
const mutantPatienceMs = 20_000;
/** At the same time: each is several processes. */
const sideBySide = 2;
/** Of the points, those that a scenario comes by once. */
const onceOnly: ReadonlySet<string> = new Set(["accept", "recover", "postpone", "pull", "result"]);
const manyMandates = 500;

/** Where each mutant does harm: work that is cut off, a comment nobody knows of, and two that send at the same time. */
const mutantJobs: Readonly<Record<Mutant, Pick<Job, "configuration" | "point">>> = {
  "no-sweep": {
    configuration: "sqlite",
    point: { at: "commit", kind: "work", when: "after" },
  },
  "no-read-back": {
    configuration: "sqlite",
    point: { at: "request", kind: "status", isApplied: true },
  },
  "unclaimed-outbox": { configuration: "postgres-two", point: null },
};

/** The services that configurations need, started when the first of them does. */
export function openServices() {
  let postgres: ReturnType<typeof startPostgres> | undefined;
  let redis: ReturnType<typeof startRedis> | undefined;
  return {
    async placeOf(configuration: Configuration): Promise<Place> {
      const alone = { databaseUrl: undefined, redisUrl: undefined, trouble: async () => {} };
      if (configuration === "sqlite") return alone;
      postgres ??= startPostgres({ isDurable: true });
      const databaseUrl = await (await postgres).createDatabase();
      if (configuration !== "postgres-redis") return { ...alone, databaseUrl };
      redis ??= startRedis();
      const server = await redis;
      return { databaseUrl, redisUrl: server.url, trouble: () => server.flush() };
    },
    async close(): Promise<void> {
      await (await postgres)?.stop();
      await (await redis)?.close();
    },
  };
}

export type Services = ReturnType<typeof openServices>;

/** Carries jobs out, two at a time, and counts. */
export async function runJobs(
  jobs: readonly Job[],
  { services, onDone }: { services: Services; onDone: (job: Job, outcome: Outcome) => void },
): Promise<Closing> {
  const closing = emptyClosing();
  const left = [...jobs];
  async function work(): Promise<void> {
    for (let job = left.shift(); job !== undefined; job = left.shift()) {
      const place = await services.placeOf(job.configuration);
      const outcome = await runScenario(place, wantedOf(job));
      count(closing, job, outcome);
      onDone(job, outcome);
    }
  }
  await Promise.all(Array.from({ length: sideBySide }, work));
  return closing;
}

function emptyClosing(): Closing {
  return {
    scenarios: 0,
    silent: 0,
    lost: 0,
    doubled: 0,
    pointsNotHit: [],
    failingSeeds: [],
    mutantsMissed: [],
  };
}

function wantedOf({ configuration, point, hit, mutant }: Job): Wanted {
  return {
    servers: configuration === "postgres-two" ? 2 : 1,
    point,
    hit,
    mutant,
    patienceMs: mutant === null ? patienceMs : mutantPatienceMs,
  };
}

function count(closing: Closing, job: Job, outcome: Outcome): void {
  closing.scenarios += 1;
  const { silent, lost, doubled, isHit } = outcome;
  if (job.mutant !== null) {
    if (silent + lost + doubled === 0) closing.mutantsMissed.push(job.mutant);
    return;
  }
  closing.silent += silent;
  closing.lost += lost;
  closing.doubled += doubled;
  if (!isHit) closing.pointsNotHit.push(job.name);
}

export function jobsOf(
  configuration: Configuration,
  { hits = [1] }: { hits?: readonly number[] } = {},
): Job[] {
  return points.flatMap((point) =>
    hits
      .filter((hit) => hit === 1 || !onceOnly.has(point.kind))
      .map((hit) => {
        const again = hit === 1 ? "" : ` ${hit}`;
        const name = `${configuration}: ${nameOf(point)}${again}`;
        return { name, configuration, point, hit, mutant: null };
      }),
  );
}

export function mutantJob(mutant: Mutant): Job {
  return { name: `mutant ${mutant}`, hit: 1, mutant, ...mutantJobs[mutant] };
}

/** Servers and workers that come and go, on one ledger, while hundreds of mandates run. */
async function addMany(closing: Closing, services: Services): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast many-"));
  const { databaseUrl, redisUrl } = await services.placeOf("postgres-redis");
  if (databaseUrl === undefined) throw new Error("many processes need a ledger that they share");
  const end = await runMany({
    folder,
    databaseUrl,
    redisUrl,
    mandates: manyMandates,
    blowMs: 4_000,
    patienceMs: 15 * 60_000,
    random: Math.random,
  });
  rmSync(folder, { recursive: true, force: true });
  closing.scenarios += 1;
  for (const [results, mandates] of Object.entries(end.results)) {
    if (results === "0") closing.silent += mandates;
    else if (results !== "1") closing.doubled += mandates;
  }
  const { said, ...told } = end;
  process.stderr.write(`many: ${JSON.stringify(told)}\n`);
  if (closing.silent + closing.doubled > 0) process.stderr.write(`${said}\n`);
}

function isClean({ silent, lost, doubled, pointsNotHit, mutantsMissed }: Closing): boolean {
  return silent + lost + doubled + pointsNotHit.length + mutantsMissed.length === 0;
}

function chosen<Name extends string>(
  name: string,
  value: string | undefined,
  from: readonly Name[],
): Name | undefined {
  const found = from.find((one) => one === value);
  if (value === undefined || found !== undefined) return found;
  throw new Error(`--${name} must be one of ${from.join(", ")}`);
}

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: "boolean" },
      full: { type: "boolean" },
      configuration: { type: "string" },
      point: { type: "string" },
      mutant: { type: "string" },
    },
  });
  const configuration = chosen("configuration", values.configuration, configurations);
  const point = chosen("point", values.point, [...points.map(nameOf), "many"]);
  const mutant = chosen("mutant", values.mutant, mutants);
  const hits = values.full === true ? [1, 4] : [1];
  const ways = configuration === undefined ? configurations : [configuration];
  const matrix = ways.flatMap((way) => jobsOf(way, { hits }));
  const wanted = matrix.filter((job) => {
    return point === undefined || (job.point !== null && nameOf(job.point) === point);
  });
  const isWhole = point === undefined && configuration === undefined;
  const jobs =
    mutant !== undefined
      ? [mutantJob(mutant)]
      : [...wanted, ...(isWhole ? mutants.map(mutantJob) : [])];
  const services = openServices();
  try {
    const closing = await runJobs(jobs, { services, onDone: tell });
    if (mutant === undefined && (isWhole || point === "many")) await addMany(closing, services);
    process.stdout.write(`${JSON.stringify(closing, null, values.json === true ? 0 : 2)}\n`);
    return isClean(closing) ? 0 : 1;
  } finally {
    await services.close();
  }
}

function tell({ name, mutant }: Job, { isHit, found, said }: Outcome): void {
  const isBad = mutant === null ? !isHit || found.length > 0 : found.length === 0;
  process.stderr.write(`${isBad ? "BAD " : "good"} ${name}${isHit ? "" : " (not hit)"}\n`);
  if (isBad) process.stderr.write(`${found.join("\n")}\n${said}\n`);
}

if (import.meta.main) {
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 2;
  }
}
