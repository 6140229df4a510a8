// What GitHub tells the App (spec 6.2, 8.4): signed deliveries in order, each attempt kept with its result, and the
// faults of that way: doubled, lost, turned round, held back, overtaken by an edit, signed by somebody else.

import { createHmac, randomUUID } from "node:crypto";
import { installationFor, payloadOf } from "./payloads.ts";
import type { Event, Text, World } from "./world.ts";

export interface Hook {
  readonly url: string;
  readonly secret: string;
}

/** One attempt at a delivery; a redelivery has an id of its own under the same GUID. */
export interface Attempt {
  readonly id: number;
  readonly guid: string;
  readonly event: string;
  readonly action: string | null;
  readonly installationId: number | null;
  readonly repositoryId: number | null;
  readonly isRedelivery: boolean;
  /** Epoch ms. */
  readonly at: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** HTTP status of the answer; 502 when nobody took it, 504 when nobody answered, 0 while it is on its way. */
  status: number;
}

export interface WebhookFault {
  /**
   * `duplicate`: the same GUID twice. `second-hook`: again under another GUID. `drop`: did not arrive, GitHub knows.
   * `lose`: did not arrive and is not even listed. `reorder`: the next `times` go out last first. `delay`: held until
   * `releaseDeliveries`. `edited-between`: the text is changed to `body` before the event goes out.
   */
  readonly kind:
    | "duplicate"
    | "second-hook"
    | "drop"
    | "lose"
    | "reorder"
    | "delay"
    | "edited-between"
    | "wrong-signature";
  /** `issue_comment`, `issue_comment.created` or a question; every event when missing. */
  readonly on?: string | ((event: Event) => boolean);
  readonly times?: number;
  readonly body?: string;
}

export interface Webhooks {
  readonly attempts: Attempt[];
  /** Every event since the start, told or not. */
  readonly events: Event[];
  hook: Hook | null;
  tell(event: Event): void;
  fault(fault: WebhookFault): void;
  clearFaults(): void;
  /** Sends what `delay` holds. */
  release(): void;
  /** Null when there is no such delivery. */
  redeliver(id: number): Attempt | null;
  /** Resolves when nothing is on its way; what `reorder` still collects goes out, what `delay` holds stays. */
  settled(): Promise<void>;
}

const answerMsLimit = 10_000;
/** Events that every App gets, wanted or not. */
const unasked = ["installation", "installation_repositories", "ping"];

interface Parcel {
  readonly event: Event;
  readonly guid: string;
  readonly body: string;
  readonly isRedelivery: boolean;
  readonly secret: string;
}

type EditText = (text: Text, body: string) => void;

export function openWebhooks(world: World, editText: EditText): Webhooks {
  const faults: { fault: WebhookFault; left: number }[] = [];
  const delayed: Parcel[] = [];
  const collected: Parcel[] = [];
  const told = new Map<number, Parcel>();
  let tail = Promise.resolve();
  const webhooks: Webhooks = {
    attempts: [],
    events: [],
    hook: null,
    tell: (event) => {
      webhooks.events.push(event);
      const installation = installationFor(world, event);
      const isWanted = unasked.includes(event.name) || world.app.events.includes(event.name);
      if (webhooks.hook === null || installation === null || !isWanted) return;
      if (installation.isSuspended && event.name !== "installation") return;
      const body = JSON.stringify(payloadOf(world, event));
      const { secret } = webhooks.hook;
      dispatch({ event, guid: randomUUID(), body, isRedelivery: false, secret });
    },
    fault: (fault) => {
      faults.push({ fault, left: fault.times ?? 1 });
    },
    clearFaults: () => {
      faults.length = 0;
    },
    release: () => delayed.splice(0).forEach(queue),
    redeliver: (id) => {
      const parcel = told.get(id);
      return parcel === undefined ? null : queue({ ...parcel, isRedelivery: true });
    },
    settled: async () => {
      collected.splice(0).reverse().forEach(queue);
      let seen;
      do {
        seen = tail;
        await seen;
      } while (seen !== tail);
    },
  };

  function dispatch(parcel: Parcel): void {
    const entry = faults.find(({ fault, left }) => left > 0 && isMeant(fault, parcel.event));
    if (entry === undefined) {
      queue(parcel);
      return;
    }
    entry.left -= 1;
    const { kind, body = "something else" } = entry.fault;
    switch (kind) {
      case "duplicate":
        queue(parcel);
        queue(parcel);
        return;
      case "second-hook":
        queue(parcel);
        queue({ ...parcel, guid: randomUUID() });
        return;
      case "drop":
        note(parcel, 502);
        return;
      case "lose":
        return;
      case "reorder":
        collected.push(parcel);
        if (entry.left === 0) collected.splice(0).reverse().forEach(queue);
        return;
      case "delay":
        delayed.push(parcel);
        return;
      case "edited-between":
        queue(parcel);
        if (parcel.event.text !== undefined) editText(parcel.event.text, body);
        return;
      case "wrong-signature":
        queue({ ...parcel, secret: "somebody else's secret" });
        return;
    }
  }

  function note(parcel: Parcel, status: number): Attempt {
    const { event, guid, body, isRedelivery, secret } = parcel;
    const attempt: Attempt = {
      id: world.nextId(),
      guid,
      event: event.name,
      action: event.action,
      installationId: installationFor(world, event)?.id ?? null,
      repositoryId: event.repository?.id ?? null,
      isRedelivery,
      at: world.now(),
      body,
      headers: headersOf(world, { event: event.name, guid, body, secret }),
      status,
    };
    told.set(attempt.id, { ...parcel, secret: webhooks.hook?.secret ?? secret });
    webhooks.attempts.push(attempt);
    return attempt;
  }

  function queue(parcel: Parcel): Attempt {
    const attempt = note(parcel, 0);
    tail = tail.then(() => send(webhooks.hook, attempt));
    return attempt;
  }
  return webhooks;
}

function isMeant({ on }: WebhookFault, event: Event): boolean {
  if (on === undefined) return true;
  if (typeof on === "function") return on(event);
  return on === event.name || on === `${event.name}.${event.action}`;
}

function headersOf(
  world: World,
  parcel: { event: string; guid: string; body: string; secret: string },
): Record<string, string> {
  const { event, guid, body, secret } = parcel;
  function sign(kind: string): string {
    return createHmac(kind, secret).update(body).digest("hex");
  }
  return {
    accept: "*/*",
    "content-type": "application/json",
    "user-agent": "GitHub-Hookshot/fa4e000",
    "x-github-delivery": guid,
    "x-github-event": event,
    "x-github-hook-id": "77",
    "x-github-hook-installation-target-id": String(world.app.id),
    "x-github-hook-installation-target-type": "integration",
    "x-hub-signature": `sha1=${sign("sha1")}`,
    "x-hub-signature-256": `sha256=${sign("sha256")}`,
  };
}

async function send(hook: Hook | null, attempt: Attempt): Promise<void> {
  if (hook === null) {
    attempt.status = 502;
    return;
  }
  const { body, headers } = attempt;
  const signal = AbortSignal.timeout(answerMsLimit);
  try {
    const answer = await fetch(hook.url, { method: "POST", body, headers, signal });
    await answer.arrayBuffer();
    attempt.status = answer.status;
  } catch {
    attempt.status = signal.aborted ? 504 : 502;
  }
}
