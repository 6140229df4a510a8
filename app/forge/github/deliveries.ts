// GitHub's own list of deliveries (spec 6.2): which failed, and asking for one once more. Asked as the App itself.

import type { Probot } from "probot";
import { dayMs } from "../../../policies/durations.ts";
import type { FailedDelivery } from "../forge.ts";
import { callMsLimit } from "./app.ts";
import { routeOf } from "./calls.ts";
import { readFailure, writeFailure } from "./failures.ts";

/** GitHub keeps them for three days; what is older cannot be asked for again. */
const keptMs = 3 * dayMs;
const pagesLimit = 30;

/** One row of GitHub's list. */
interface Attempt {
  readonly id: number;
  readonly guid: string;
  readonly delivered_at: string;
  readonly status_code: number;
}

/** Those that failed since then and arrived at no later attempt, each by its newest one. */
export async function failedDeliveries(
  probot: Probot,
  { since, now }: { since: number; now: number },
): Promise<FailedDelivery[]> {
  const oldest = Math.max(since, now - keptMs);
  const attempts = await attemptsSince(probot, { oldest, now });
  const arrived = new Set(attempts.filter(hasArrived).map(({ guid }) => guid));
  const failed = new Map<string, FailedDelivery>();
  // The newest comes first.
  for (const { id, guid, delivered_at: deliveredAt } of attempts) {
    if (arrived.has(guid) || failed.has(guid)) continue;
    failed.set(guid, { id: String(id), guid, at: Date.parse(deliveredAt) });
  }
  return [...failed.values()].filter(({ at }) => at >= oldest);
}

function hasArrived({ status_code: status }: Attempt): boolean {
  return status >= 200 && status < 300;
}

async function attemptsSince(
  probot: Probot,
  { oldest, now }: { oldest: number; now: number },
): Promise<Attempt[]> {
  const all: Attempt[] = [];
  let cursor: string | undefined;
  try {
    const api = await probot.auth();
    for (let page = 0; page < pagesLimit; page += 1) {
      const { data, headers } = await api.rest.apps.listWebhookDeliveries({
        per_page: 100,
        ...(cursor === undefined ? {} : { cursor }),
        request: { signal: AbortSignal.timeout(callMsLimit) },
      });
      all.push(...data);
      const last = data.at(-1);
      cursor = /[?&]cursor=([^&>]+)[^>]*>; rel="next"/.exec(headers.link ?? "")?.[1];
      if (cursor === undefined || last === undefined) break;
      if (Date.parse(last.delivered_at) < oldest) break;
    }
  } catch (error) {
    readFailure(error, { route: routeOf(error), now });
  }
  return all;
}

export async function redeliver(probot: Probot, id: string, now: number): Promise<void> {
  try {
    const api = await probot.auth();
    const request = { signal: AbortSignal.timeout(callMsLimit) };
    await api.rest.apps.redeliverWebhookDelivery({ delivery_id: Number(id), request });
  } catch (error) {
    throw writeFailure(error, { route: routeOf(error), now });
  }
}
