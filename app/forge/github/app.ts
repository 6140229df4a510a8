// The GitHub App (spec 6.1): Probot, built by hand, as the library that reads events and signs for the App. Its server,
// its webhook middleware and its environment are never used; its retries and throttles are off (decision 0010).

import { pino } from "pino";
import { Probot, ProbotOctokit } from "probot";
import { secondMs } from "../../../policies/durations.ts";

/** A call that takes longer is given up; the send lease and a delivery's patience are longer. */
export const callMsLimit = 10 * secondMs;

export interface AppKeys {
  readonly appId: number;
  /** PEM. */
  readonly privateKey: string;
  readonly webhookSecret: string;
  /** Of the API, without closing slash. */
  readonly baseUrl: string;
}

/** What GitHub says about the App itself; `doctor` compares it with app.yml. */
export interface AppFacts {
  readonly id: number;
  readonly slug: string;
  readonly name: string;
  readonly permissions: Readonly<Record<string, string>>;
  readonly events: readonly string[];
  readonly hookUrl: string | null;
}

/** Reads no environment and asks nobody anything. */
export function makeProbot(keys: AppKeys): Probot {
  // The function form: the object form of these defaults is ignored by Probot 14.
  const Octokit = ProbotOctokit.defaults((options: object) => ({
    ...options,
    retry: { enabled: false },
    throttle: { enabled: false },
  }));
  return new Probot({
    appId: keys.appId,
    privateKey: keys.privateKey,
    secret: keys.webhookSecret,
    baseUrl: keys.baseUrl,
    Octokit,
    // It logs whole payloads; what we want to know we log ourselves.
    log: pino({ level: "silent" }),
  });
}

/** The App's own facts. Throws Octokit's errors. */
export async function readApp(probot: Probot): Promise<AppFacts> {
  const api = await probot.auth();
  const signal = AbortSignal.timeout(callMsLimit);
  const { data } = await api.rest.apps.getAuthenticated({ request: { signal } });
  if (data === null) throw new Error("GitHub names no App for this key");
  const hook = await api.rest.apps
    .getWebhookConfigForApp({ request: { signal } })
    .catch(() => null);
  return {
    id: data.id,
    slug: data.slug ?? String(data.id),
    name: data.name,
    permissions: Object.fromEntries(
      Object.entries(data.permissions).map(([name, level]) => [name, String(level)]),
    ),
    events: data.events,
    hookUrl: hook?.data.url ?? null,
  };
}
