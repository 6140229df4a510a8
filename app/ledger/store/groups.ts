// Group commit (spec 8.2): transactions that wait at once share one commit, and each is acknowledged only after it.
// What a group is made of is the adapter's; the order, the sharing and the answers are here.

import type { Tx } from "../ledger.ts";

const groupLimit = 64;

export interface Change {
  readonly change: (tx: Tx) => Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** What became of one change inside its group, to be told when the group is durable. */
export type Outcome = { readonly value: unknown } | { readonly error: unknown };

export interface GroupOptions {
  /** Lets callers that are there by now share the next commit. */
  readonly gather: () => Promise<void>;
  /** Commits the changes together: one outcome each, in their order. When it rejects nothing of the group happened. */
  readonly commit: (group: readonly Change["change"][]) => Promise<Outcome[]>;
}

/** One queue of changes, worked off group by group. */
export class Groups {
  readonly #options: GroupOptions;
  #queue: Change[] = [];
  #draining: Promise<void> | null = null;

  constructor(options: GroupOptions) {
    this.#options = options;
  }

  write<T>(change: (tx: Tx) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ change, resolve: resolve as (value: unknown) => void, reject });
      this.#draining ??= this.#drain();
    });
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    await this.#draining;
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#options.gather();
      await this.#commit(this.#queue.splice(0, groupLimit));
    }
    this.#draining = null;
  }

  async #commit(group: readonly Change[]): Promise<void> {
    try {
      const outcomes = await this.#options.commit(group.map(({ change }) => change));
      for (const [index, outcome] of outcomes.entries()) {
        if ("error" in outcome) group[index]?.reject(outcome.error);
        else group[index]?.resolve(outcome.value);
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}
