// `npm run sim -- --seeds N [--seed S] [--json] [--mutant M]` (spec 8.4, 8.5): runs seeds and prints one closing object.
// A failing seed prints its steps; the same seed always gives the same steps.

import { parseArgs } from "node:util";
import { crashPoints, mutants, type Mutant } from "./faults.ts";
import { runScenario } from "./world.ts";

export interface Closing {
  scenarios: number;
  silent: number;
  lost: number;
  doubled: number;
  pointsNotHit: string[];
  failingSeeds: number[];
  mutantsMissed: string[];
}

/** So few scenarios cannot come by every crash point. */
const judgedFrom = 150;
const shownSteps = 400;

export async function simulate(run: {
  readonly first: number;
  readonly count: number;
  readonly mutant: Mutant | null;
  readonly onFailure?: (seed: number, what: readonly string[]) => Promise<void>;
}): Promise<Closing> {
  const hit = new Set<string>();
  const closing: Closing = {
    scenarios: 0,
    silent: 0,
    lost: 0,
    doubled: 0,
    pointsNotHit: [],
    failingSeeds: [],
    mutantsMissed: [],
  };
  for (let seed = run.first; seed < run.first + run.count; seed += 1) {
    const { found, pointsHit } = await runScenario({ seed, mutant: run.mutant });
    closing.scenarios += 1;
    for (const point of pointsHit) hit.add(point);
    for (const { wrong } of found) if (wrong !== "broken") closing[wrong] += 1;
    if (found.length === 0) continue;
    closing.failingSeeds.push(seed);
    await run.onFailure?.(
      seed,
      found.map(({ wrong, what }) => `${wrong}: ${what}`),
    );
  }
  if (run.count >= judgedFrom && run.mutant === null) {
    closing.pointsNotHit = crashPoints.filter((point) => !hit.has(point));
  }
  return closing;
}

/** With a mutant planted, only its being caught is success: what it did wrong is not held against the program. */
export function judgeMutant(closing: Closing, mutant: Mutant): Closing {
  const isCaught = closing.failingSeeds.length > 0;
  const mutantsMissed = isCaught ? [] : [mutant];
  return { ...closing, silent: 0, lost: 0, doubled: 0, failingSeeds: [], mutantsMissed };
}

async function printFailure(seed: number, what: readonly string[]): Promise<void> {
  const steps: string[] = [];
  await runScenario({ seed, mutant: null, onStep: (line) => steps.push(line) });
  const shown = steps.slice(-shownSteps).map((step) => `  ${step}`);
  process.stderr.write(`seed ${seed}\n${shown.join("\n")}\n${what.join("\n")}\n\n`);
}

function isClean(closing: Closing): boolean {
  const { silent, lost, doubled, pointsNotHit, failingSeeds, mutantsMissed } = closing;
  const lists = [pointsNotHit, failingSeeds, mutantsMissed];
  return silent + lost + doubled === 0 && lists.every((list) => list.length === 0);
}

function wholeNumber(text: string | undefined, name: string): number | null {
  if (text === undefined) return null;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Error(`--${name} must be a whole number`);
}

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: "string" },
      seed: { type: "string" },
      json: { type: "boolean" },
      mutant: { type: "string" },
    },
  });
  const first = wholeNumber(values.seed, "seed");
  const count = wholeNumber(values.seeds, "seeds") ?? (first === null ? 300 : 1);
  const mutant = mutants.find((name) => name === values.mutant) ?? null;
  if (values.mutant !== undefined && mutant === null) {
    throw new Error(`--mutant must be one of ${mutants.join(", ")}`);
  }
  const run = { first: first ?? 1, count, mutant };
  const closing =
    mutant === null
      ? await simulate({ ...run, onFailure: printFailure })
      : judgeMutant(await simulate(run), mutant);
  process.stdout.write(`${JSON.stringify(closing, null, values.json === true ? 0 : 2)}\n`);
  return isClean(closing) ? 0 : 1;
}

if (import.meta.main) {
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 2;
  }
}
