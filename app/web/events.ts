// Live pages (spec 7.4): tells an open page that the ledger has changed, by whatever process, never
// what has. The page then asks for itself again: there is one way only in which a page is made.

import type { HttpAnswer } from "../http.ts";
import type { Ledger } from "../ledger/ledger.ts";

const lookMs = 200;
const keepAliveMs = 15_000;
const listenersLimit = 64;

export interface Changes {
  /** The state that a page shows, to be compared with what `events` tells. */
  revision(): string;
  events(): HttpAnswer;
}

/** `start` tells one process from the next: revisions count from anew in each. */
export function watchChanges(ledger: Ledger, start: string): Changes {
  const listeners = new Set<(text: string) => void>();
  let timer: NodeJS.Timeout | null = null;
  let told = "";
  let toldAt = 0;

  function revision(): string {
    return `${start}-${ledger.revision()}`;
  }

  function look(): void {
    const current = revision();
    const now = performance.now();
    const isChanged = current !== told;
    if (!isChanged && now - toldAt < keepAliveMs) return;
    told = current;
    toldAt = now;
    for (const send of listeners) send(isChanged ? event(current) : ": still here\n\n");
  }

  function listen(send: (text: string) => void): () => void {
    listeners.add(send);
    send(`retry: 1000\n${event(revision())}`);
    timer ??= setInterval(look, lookMs).unref();
    return () => {
      listeners.delete(send);
      if (listeners.size > 0 || timer === null) return;
      clearInterval(timer);
      timer = null;
    };
  }

  return {
    revision,
    events: () =>
      listeners.size >= listenersLimit
        ? { status: 503, headers: { "retry-after": "10" }, body: "too many open pages" }
        : { status: 200, headers: { "content-type": "text/event-stream" }, body: listen },
  };
}

function event(revision: string): string {
  return `id: ${revision}\ndata: ${revision}\n\n`;
}
