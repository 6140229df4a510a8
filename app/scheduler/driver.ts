// The driver port (spec 3.5): what wakes the scheduler. A wake-up is only a hint to look at the ledger; hints may be
// dropped, doubled, reordered or late, and nothing but lateness follows from it.

export interface Driver {
  /** Calls `wake` at once and then whenever something may be due; never two calls at the same time. */
  start(wake: () => Promise<void>): void;
  /** The ledger's next due instant; null when nothing is due. The latest call counts. */
  arm(at: number | null): void;
  /** Something has changed: look now. */
  ring(): void;
  /** No further call; resolves when the one that runs has ended. */
  stop(): Promise<void>;
}
