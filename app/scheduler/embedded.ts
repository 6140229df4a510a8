// The driver of one process (spec 3.5): a timer for the next due instant, a safety tick, and a bell. Commits of other
// processes ring it through the ledger's revision, so that no socket, signal or file has to be got right.

import type { Driver } from "./driver.ts";

/** Node's timers overflow beyond this; the next look then only finds that it is early. */
const timerMaxMs = 2_147_483_647;

export interface EmbeddedOptions {
  readonly now: () => number;
  readonly revision: () => number;
  /** How often the revision is compared. */
  readonly pollMs: number;
  /** At the latest after this long it looks, whatever happened. */
  readonly tickMs: number;
}

export class EmbeddedDriver implements Driver {
  readonly #options: EmbeddedOptions;
  #wake: () => Promise<void> = async () => {};
  #timer: NodeJS.Timeout | undefined;
  #poll: NodeJS.Timeout | undefined;
  #at = 0;
  #revision = -1;
  #running: Promise<void> | null = null;
  #rung = false;
  #stopped = true;

  constructor(options: EmbeddedOptions) {
    this.#options = options;
  }

  start(wake: () => Promise<void>): void {
    this.#wake = wake;
    this.#stopped = false;
    this.#poll = setInterval(() => this.#compare(), this.#options.pollMs);
    this.ring();
  }

  arm(at: number | null): void {
    if (this.#stopped) return;
    const { now, tickMs } = this.#options;
    this.#at = Math.min(at ?? Infinity, now() + tickMs);
    clearTimeout(this.#timer);
    const waitMs = Math.min(Math.max(this.#at - now(), 0), timerMaxMs);
    this.#timer = setTimeout(() => this.ring(), waitMs);
  }

  ring(): void {
    if (this.#stopped) return;
    this.#rung = true;
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    clearInterval(this.#poll);
    await this.#running;
  }

  #compare(): void {
    const revision = this.#options.revision();
    if (revision === this.#revision) return;
    this.#revision = revision;
    this.ring();
  }

  async #run(): Promise<void> {
    while (this.#rung && !this.#stopped) {
      this.#rung = false;
      await this.#wake();
    }
    this.#running = null;
  }
}
