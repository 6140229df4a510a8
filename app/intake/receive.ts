// Receiving a webhook (spec 6.2): headers first, then the signature over the raw body, then one committed row, and only
// then the answer. Nothing is parsed and no forge is asked; nothing of what was sent is ever logged or sent back.

import { minuteMs, secondMs } from "../../policies/durations.ts";
import { Failure } from "../../policies/failure.ts";
import type { BodyProblem } from "../bodies.ts";
import type { Announced, Webhooks } from "../forge/webhooks.ts";
import type { HttpAnswer, HttpRequest, Matched, Route } from "../http.ts";
import { storeDelivery } from "../ledger/incoming/deliveries.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Log } from "../log.ts";

/** GitHub sends no event that is larger. */
const bodyBytesLimit = 25 * 1024 * 1024;
/** Nobody hears a later answer: GitHub gives up at 10 s, Forgejo at 5 s. */
const bodyMsLimit = 10 * secondMs;
/** Deliveries that wait for their commit at the same time; beyond it the forge is asked to come again. */
const waitingLimitDefault = 1_024;

export type Received =
  | "stored"
  | "duplicate"
  | "unwanted"
  | "unannounced"
  | "wrong-signature"
  | "too-slow"
  | "too-large"
  | "too-many"
  | "ledger-unwritable";

export interface Receiver {
  readonly route: Route;
  /** How often each happened since the start. */
  readonly counts: Readonly<Record<Received, number>>;
}

export interface ReceiveOptions {
  readonly ledger: Ledger;
  readonly log: Log;
  readonly waitingLimit?: number;
}

/** The route of one connection's webhooks. */
export function receiveWebhooks(
  webhooks: Omit<Webhooks, "read">,
  options: ReceiveOptions,
): Receiver {
  const { ledger, log, waitingLimit = waitingLimitDefault } = options;
  const counts = noCounts();
  const tell = openTeller(log, () => ledger.now());
  let waiting = 0;

  function note(received: Received): HttpAnswer {
    counts[received] += 1;
    const { isTrouble, answer } = outcomes[received];
    if (isTrouble) tell(webhooks.connection, received);
    return answer;
  }

  /** From the headers alone: who cannot be the forge is sent away with the body unread. */
  function access(request: HttpRequest): HttpAnswer | null {
    if (webhooks.announced(request.header) === null) return note("unannounced");
    return waiting >= waitingLimit ? note("too-many") : null;
  }

  async function answer(request: Matched): Promise<HttpAnswer> {
    const announced = webhooks.announced(request.header);
    if (announced === null) return note("unannounced");
    if (!webhooks.isSigned(announced, request.body)) return note("wrong-signature");
    if (!webhooks.isWanted(announced.event)) return note("unwanted");
    if (waiting >= waitingLimit) return note("too-many");
    waiting += 1;
    try {
      return note(await store(announced, request.body));
    } finally {
      waiting -= 1;
    }
  }

  function refuse({ status }: BodyProblem): HttpAnswer {
    return note(untaken[status]);
  }

  async function store({ guid, event }: Announced, raw: Buffer): Promise<Received> {
    const { connection } = webhooks;
    const delivery = { connection, guid, event, body: raw.toString("utf8") };
    try {
      return (await ledger.append((tx) => storeDelivery(tx, delivery))) ? "stored" : "duplicate";
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== "persistence-unavailable") throw error;
      return "ledger-unwritable";
    }
  }

  const { path } = webhooks;
  const limits = { bodyBytesLimit, bodyMsLimit };
  return { route: { method: "POST", path, access, ...limits, refuse, answer }, counts };
}

const untaken = { 408: "too-slow", 413: "too-large", 503: "too-many" } as const;

/** Who proves nothing keeps no connection. */
const extraHeaders: Readonly<Record<number, Record<string, string>>> = {
  401: { connection: "close" },
  503: { "retry-after": "10" },
};

const outcomes: Readonly<Record<Received, { isTrouble: boolean; answer: HttpAnswer }>> = {
  stored: { isTrouble: false, answer: words(202, "stored") },
  duplicate: { isTrouble: false, answer: words(202, "known already") },
  unwanted: { isTrouble: false, answer: words(202, "nothing to us") },
  unannounced: { isTrouble: true, answer: words(401, "this is no signed delivery") },
  "wrong-signature": { isTrouble: true, answer: words(401, "the signature does not fit") },
  "too-slow": { isTrouble: true, answer: words(408, "it did not arrive in time") },
  "too-large": { isTrouble: true, answer: words(413, "no delivery is that large") },
  "too-many": { isTrouble: true, answer: words(503, "too many at once, please send it again") },
  "ledger-unwritable": { isTrouble: true, answer: words(503, "it cannot be stored now") },
};

function words(status: number, body: string): HttpAnswer {
  const headers = { "content-type": "text/plain; charset=utf-8", ...extraHeaders[status] };
  return { status, headers, body };
}

function noCounts(): Record<Received, number> {
  return {
    stored: 0,
    duplicate: 0,
    unwanted: 0,
    unannounced: 0,
    "wrong-signature": 0,
    "too-slow": 0,
    "too-large": 0,
    "too-many": 0,
    "ledger-unwritable": 0,
  };
}

/** One line per cause and minute, with how many there were: whoever floods us does not fill the log. */
function openTeller(log: Log, now: () => number): (connection: string, cause: Received) => void {
  const told = new Map<Received, { at: number; count: number }>();
  return (connection, cause) => {
    const last = told.get(cause) ?? { at: -Infinity, count: 0 };
    const count = last.count + 1;
    if (now() - last.at < minuteMs) {
      told.set(cause, { at: last.at, count });
      return;
    }
    told.set(cause, { at: now(), count: 0 });
    log.warn({ connection, cause, count }, "deliveries were not taken");
  };
}
