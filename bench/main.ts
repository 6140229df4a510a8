// `npm run bench [name…] [--json]` (spec 8.5): measures ours against named opponents and prints one row per result.
// Ends with 1 where a target was missed, with 2 where it was asked for what it does not know.

import { parseArgs } from "node:util";
import { benchIntake } from "./intake.ts";
import { benchBurst, benchLateness, benchRestart } from "./parked/parked.ts";
import type { Row } from "./row.ts";

const benches: Readonly<Record<string, () => Promise<Row[]>>> = {
  intake: benchIntake,
  lateness: () => benchLateness(),
  burst: () => benchBurst(),
  restart: () => benchRestart(),
};

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { json: { type: "boolean" } },
  });
  const known = Object.keys(benches);
  const names = positionals.length === 0 ? known : positionals;
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    process.stderr.write(`no bench is named ${unknown.join(", ")}; there is ${known.join(", ")}\n`);
    return 2;
  }
  let isMet = true;
  for (const name of names) {
    for (const row of (await benches[name]?.()) ?? []) {
      process.stdout.write(values.json === true ? `${JSON.stringify(row)}\n` : sentence(row));
      isMet &&= row.met !== false;
    }
  }
  return isMet ? 0 : 1;
}

function sentence({ name, ours, opponent, unit, ratio, target, met, noisy }: Row): string {
  const judged = noisy === true ? "disk too noisy to judge" : verdicts[String(met)];
  const wanted = target === null ? "" : ` (target ${target})`;
  return `${name}: ${ours} against ${opponent} ${unit}, ratio ${ratio}${wanted}: ${judged}\n`;
}

const verdicts: Readonly<Record<string, string>> = { true: "met", false: "MISSED", null: "told" };

if (import.meta.main) {
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 2;
  }
}
