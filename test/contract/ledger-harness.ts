// What an adapter of the ledger port brings to its contract (spec 8.4).
// Holds no expectation.
import type { Ledger } from "../../app/ledger/ledger.ts";

export interface LedgerHarness {
  readonly ledger: Ledger;
  readonly clock: { at: number };
  /** From now on not one page more can be stored, until the disk is freed. */
  readonly fillDisk: () => Promise<void>;
  readonly freeDisk: () => Promise<void>;
  readonly shared: Shared | null;
  readonly close: () => Promise<void>;
}

/** What an adapter offers whose ledger outlives its process. */
export interface Shared {
  /** The same ledger as another process has it. */
  readonly openAgain: () => Ledger;
  /** Lets other processes claim that many entries each, at the same time; gives the entries that each got. */
  readonly claimElsewhere: (workers: readonly string[], count: number) => Promise<number[][]>;
}

export type Begin = () => Promise<LedgerHarness>;

/** The second view of a ledger that several processes share. */
export function sharedOf({ shared }: LedgerHarness): Shared {
  if (shared === null) throw new Error("this ledger is not shared");
  return shared;
}
