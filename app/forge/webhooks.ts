// The webhook side of a connection (spec 6.2): whose call it is, and what a stored delivery speaks of.
// Verifies before anything is parsed, asks nobody, and decides nothing about what follows.

import type { ForgeEvent } from "../../policies/events.ts";

/** A delivery as its headers announce it, before its body was read. */
export interface Announced {
  readonly guid: string;
  /** The event's name in the forge's own words, such as `issue_comment`. */
  readonly event: string;
  /** Proof over the raw body; its form has been checked, its truth not yet. */
  readonly signature: string;
}

export interface Webhooks {
  readonly connection: string;
  /** The route that the forge posts to, such as `/api/github/webhooks`. */
  readonly path: string;
  /** From the headers alone; null for what can be no delivery of this forge: no body is read then. */
  announced(header: (name: string) => string | undefined): Announced | null;
  /** Constant-time comparison over the raw bytes. */
  isSigned(announced: Announced, body: Buffer): boolean;
  /** False for events that never mean anything to us: they are answered and not stored. */
  isWanted(event: string): boolean;
  /**
   * What a verified delivery speaks of, in order; empty when it means nothing to us, which includes everything that
   * other bots and we ourselves did. Throws Failure `bad-delivery` for a body that is not what its event promises.
   */
  read(delivery: {
    readonly guid: string;
    readonly event: string;
    readonly body: string;
  }): Promise<ForgeEvent[]>;
}
