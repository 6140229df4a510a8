// The server (spec 7.1): GitHub's webhooks, scheduler, workers and pages in one process. Webhooks are taken durably from
// the first moment, also while GitHub's API does not answer; what they ask for is done as soon as it does.

import { minuteMs } from "../../policies/durations.ts";
import { verifyGitHub } from "../forge/github/webhooks.ts";
import { nudgeRoute } from "../intake/nudge-api.ts";
import { receiveWebhooks } from "../intake/receive.ts";
import { reconcile } from "../intake/reconcile.ts";
import { listenFrom } from "../ledger/incoming/connections.ts";
import type { ServerSettings } from "../server-settings.ts";
import { startWeb } from "../web/routes.ts";
import { connectedHost, heldByForge, keepConnected } from "./connection.ts";
import { diffOf } from "./diff.ts";
import { heldByRedis, openDriver } from "./driver.ts";
import { closeAll, slotsHere, withParts, type Parts, type ServingOptions } from "./parts.ts";
import { schedule } from "./scheduling.ts";

/** How often it is looked whether it is time to look for missed deliveries. */
const reconcileMs = minuteMs;

export interface ServerOptions extends ServingOptions, ServerSettings {
  /** Turns at a time; null where nobody said how many. */
  readonly workers: number | null;
}

export interface Server {
  /** With the key of the pages. */
  readonly url: string;
  /** Where GitHub has to send webhooks. */
  readonly webhookUrl: string;
  runningCount(): number;
  stop(): Promise<void>;
}

/** Serves GitHub. Throws Failure: what is missing is named by its code. */
export function serveGitHub(options: ServerOptions): Promise<Server> {
  return withParts(options, (parts) => start(parts, options));
}

async function start(parts: Parts, options: ServerOptions): Promise<Server> {
  const { settings, log, home, opened } = parts;
  const { keys, port } = options;
  const { host, connection } = connectedHost(parts, options);
  const slots = options.workers ?? slotsHere();
  const { driver, redis } = await openDriver(host, {
    redisUrl: settings.redisUrl,
    lanes: slots === 0 ? ["looks"] : ["looks", "turns"],
  });
  const ears = verifyGitHub(keys.webhookSecret);
  // Before anybody can reach it: what comes while this first start is cut off would be nobody's otherwise.
  await home.ledger.write((tx) => listenFrom(tx, ears.connection));
  const receiver = receiveWebhooks(ears, { ledger: home.ledger, log });
  const nudges = nudgeRoute({
    ledger: home.ledger,
    connection: ears.connection,
    tokens: options.file.nudgeTokens,
  });
  const web = await startWeb({
    ledger: home.ledger,
    log,
    host: settings.host,
    port,
    publicUrl: settings.publicUrl,
    token: home.secrets.pageToken,
    mention: () => host.mention,
    timeZone: settings.timeZone,
    diff: (mandateId) => diffOf(host, mandateId),
    redact: host.redact,
    redis,
    isHeld: async () => (await heldByForge(host, connection)) ?? heldByRedis(redis()),
    routes: [receiver.route, nudges],
    local: null,
  });
  opened.push(web);
  home.announce(web.baseUrl);
  let isStart = true;
  const keeping = keepConnected(host, { options, connection }, async (signal) => {
    await reconcile(host, { isStart, signal });
    isStart = false;
    return reconcileMs;
  });
  const scheduling = schedule(host, {
    kind: "server",
    slots,
    driver,
    rounds: [keeping.round],
    after: keeping.tried,
  });
  return {
    url: web.url,
    webhookUrl: `${web.baseUrl}${ears.path}`,
    runningCount: () => host.running.count,
    stop: async () => {
      await scheduling.stop();
      await closeAll(opened);
    },
  };
}
