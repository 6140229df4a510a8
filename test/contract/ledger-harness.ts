// What an adapter of the ledger port brings to its contract (spec 8.4).
// Holds no expectation.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { Ledger } from "../../app/ledger/ledger.ts";

const claimingProcess = fileURLToPath(new URL("../fakes/claiming-process.ts", import.meta.url));

export interface LedgerHarness {
  readonly ledger: Ledger;
  readonly clock: { at: number };
  /** From now on nothing more can be stored, until the disk is freed. */
  readonly fillDisk: () => Promise<void>;
  readonly freeDisk: () => Promise<void>;
  readonly shared: Shared | null;
  readonly close: () => Promise<void>;
}

/** What an adapter offers whose ledger outlives its process. */
export interface Shared {
  /** The same ledger as another process has it. */
  readonly openAgain: () => Promise<Ledger>;
  /** Lets other processes claim that many entries each, at the same time; gives the entries that each got. */
  readonly claimElsewhere: (workers: readonly string[], count: number) => Promise<number[][]>;
}

/** Starts processes that all claim from the ledger at this address, and lets them go at the same moment. */
export async function claimInProcesses(
  url: string,
  workers: readonly string[],
  count: number,
): Promise<number[][]> {
  const processes = workers.map((worker) => startClaiming(url, [worker, String(count)]));
  await Promise.all(processes.map(({ ready }) => ready));
  return Promise.all(processes.map(({ claim }) => claim()));
}

function startClaiming(url: string, wanted: readonly string[]) {
  const child = spawn(process.execPath, [claimingProcess, url, ...wanted], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill());
  const output = text(child.stdout);
  return {
    ready: once(child.stdout, "data"),
    claim: async (): Promise<number[]> => {
      child.stdin.write("go\n");
      const lines = (await output).trim().split("\n");
      return JSON.parse(lines.at(-1) ?? "") as number[];
    },
  };
}

export type Begin = () => Promise<LedgerHarness>;

/** The second view of a ledger that several processes share. */
export function sharedOf({ shared }: LedgerHarness): Shared {
  if (shared === null) throw new Error("this ledger is not shared");
  return shared;
}
