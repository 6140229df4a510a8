// The server (spec 7.1): GitHub's webhooks, scheduler, workers and pages in one process. Webhooks are taken durably from
// the first moment, also while GitHub's API does not answer; what they ask for is done as soon as it does.

import { minuteMs, secondMs } from "../../policies/durations.ts";
import { Failure } from "../../policies/failure.ts";
import type { Forge } from "../forge/forge.ts";
import type { AppFacts } from "../forge/github/app.ts";
import { openGitHub } from "../forge/github/github.ts";
import { verifyGitHub } from "../forge/github/webhooks.ts";
import type { Webhooks } from "../forge/webhooks.ts";
import type { Host } from "../host.ts";
import { receiveWebhooks } from "../intake/receive.ts";
import { reconcile } from "../intake/reconcile.ts";
import { findRepository } from "../ledger/conversations.ts";
import { findConnection, isSilent } from "../ledger/incoming/connections.ts";
import type { ServerSettings } from "../server-settings.ts";
import { startWeb } from "../web/routes.ts";
import { diffOf } from "./diff.ts";
import { closeAll, slotsHere, withParts, type Parts, type ServingOptions } from "./parts.ts";
import { schedule, type Round } from "./scheduling.ts";

/** Of the one connection there is. */
const name = "github";
const retryMaxMs = minuteMs;
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

/** The connection as it stands: closed until GitHub has said who we are. */
interface Connection {
  app: AppFacts | null;
  openedAt: number;
  readonly forges: Map<string, Forge>;
  readonly webhooks: Map<string, Webhooks>;
}

async function start(parts: Parts, options: ServerOptions): Promise<Server> {
  const { settings, log, home, opened } = parts;
  const { keys, secrets, port } = options;
  for (const secret of [keys.privateKey, keys.webhookSecret]) secrets.keep(secret);
  const connection: Connection = {
    app: null,
    openedAt: 0,
    forges: new Map(),
    webhooks: new Map(),
  };
  const host = makeHost(parts, options, connection);
  const ears = verifyGitHub(keys.webhookSecret);
  const receiver = receiveWebhooks(ears, { ledger: home.ledger, log });
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
    isHeld: () => heldByForge(host, connection),
    routes: [receiver.route],
    local: null,
  });
  opened.push(web);
  home.announce(web.baseUrl);
  const slots = options.workers ?? slotsHere();
  const keeping = keepConnected(host, options, connection);
  const scheduling = schedule(host, {
    pumping: { slots, perRepository: slots },
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

function makeHost(parts: Parts, options: ServerOptions, connection: Connection): Host {
  const { settings } = options;
  const { forges, webhooks } = connection;
  const allowed = new Set(options.file.repositories.map((one) => String(one).toLowerCase()));

  /** An App is called by its own name unless somebody chose another. */
  function mention(): string {
    return settings.isMentionChosen ? settings.mention : (connection.app?.slug ?? settings.mention);
  }

  return {
    ...parts.host,
    timeZone: settings.timeZone,
    forges,
    webhooks,
    mayRun: ({ name, forgeId }, { isFork }) =>
      !isFork && (allowed.has(forgeId) || allowed.has(name.toLowerCase())),
    get mention() {
      return mention();
    },
    parse: (body) => parts.parse(body, mention()),
    // Without an address of its own, nobody who reads a comment could open a link to here.
    recordUrl: (mandateId) =>
      settings.publicUrl === null ? null : `${settings.publicUrl}/m/${mandateId}`,
  };
}

/** GitHub has not answered for minutes: it is out of reach, or does not know us. */
async function heldByForge({ ledger }: Host, { openedAt }: Connection): Promise<string | null> {
  const row = await ledger.read((sql) => findConnection(sql, name));
  const sweptAt = Math.max(openedAt, row?.sweptAt ?? 0);
  const isOpen = openedAt > 0;
  return isOpen && !isSilent(sweptAt, ledger.now()) ? null : "forge-unreachable";
}

/**
 * Opens the connection, again and again until it is open and what was missed is found, and looks for what is missed
 * from then on: no start depends on GitHub being up. `tried` resolves when it was tried once, however that went.
 */
function keepConnected(
  host: Host,
  options: ServerOptions,
  connection: Connection,
): { round: Round; tried: Promise<void> } {
  const { promise: tried, resolve } = Promise.withResolvers<void>();
  let isStart = true;
  let retryMs: number = secondMs;
  const round: Round = {
    firstMs: 0,
    act: async (signal) => {
      try {
        if (connection.app === null) await open(host, options, connection).finally(resolve);
        await reconcile(host, { isStart, signal });
        isStart = false;
        return reconcileMs;
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        const waitMs = retryMs;
        host.log.warn({ error, waitMs }, "GitHub does not answer; webhooks are taken all the same");
        retryMs = Math.min(2 * retryMs, retryMaxMs);
        return waitMs;
      }
    },
  };
  return { round, tried };
}

async function open(host: Host, options: ServerOptions, connection: Connection): Promise<void> {
  const { keys, webUrl, secrets, file } = options;
  const { ledger, log } = host;
  const github = await openGitHub({
    keys,
    webUrl,
    now: () => ledger.now(),
    accountOf: async (forgeId) =>
      (await ledger.read((sql) => findRepository(sql, name, forgeId)))?.account ?? null,
    onSecret: (token) => secrets.note(token),
    writeLimits: file.github.writes,
  });
  connection.app = github.app;
  connection.openedAt = ledger.now();
  connection.forges.set(name, github.forge);
  connection.webhooks.set(name, github.webhooks);
  log.info({ app: github.app.slug }, "GitHub knows us");
}
