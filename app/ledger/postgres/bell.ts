// Hears of every commit, whoever made it (LISTEN): the revision of the ledger on PostgreSQL.

import type { Client } from "pg";
import { connect } from "./session.ts";

export const channel = "holdfast_commit";

const retryMs = 1_000;

/** While nothing can be heard it rings every second: who listens has to look. */
export class Bell {
  readonly #url: string;
  #client: Client | null = null;
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(url: string) {
    this.#url = url;
  }

  revision(): number {
    return this.#client === null ? this.#count + Math.floor(Date.now() / retryMs) : this.#count;
  }

  /** A commit of this process, of which the server tells only later. */
  ring(): void {
    this.#count += 1;
  }

  async listen(): Promise<void> {
    try {
      const client = await connect(this.#url);
      client.on("notification", () => this.ring());
      client.once("end", () => this.#lose());
      await client.query(`LISTEN ${channel}`);
      if (this.#isClosed) await client.end();
      else this.#client = client;
    } catch {
      this.#lose();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#client?.end();
  }

  #lose(): void {
    this.#client = null;
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.listen(), retryMs);
    this.#timer.unref();
  }
}
