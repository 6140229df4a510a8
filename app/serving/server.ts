// The server (spec 7.1): GitHub's webhooks, scheduler, workers and pages in one process. Webhooks are taken durably from
// the first moment, also while GitHub's API does not answer; what they ask for is done as soon as it does.

import { minuteMs, secondMs } from "../../policies/durations.ts";
import { Failure } from "../../policies/failure.ts";
import type { Forge } from "../forge/forge.ts";
import type { AppKeys as Keys } from "../forge/github/app.ts";
import { openGitHub, type GitHub } from "../forge/github/github.ts";
import { verifyGitHub } from "../forge/github/webhooks.ts";
import type { Webhooks } from "../forge/webhooks.ts";
import type { Host } from "../host.ts";
import { receiveWebhooks } from "../intake/receive.ts";
import { reconcile } from "../intake/reconcile.ts";
import { findRepository } from "../ledger/conversations.ts";
import type { Log } from "../log.ts";
import type { SettingsFile } from "../settings-file.ts";
import type { Settings } from "../settings.ts";
import { startWeb } from "../web/routes.ts";
import { diffOf } from "./diff.ts";
import { closeAll, slotsHere, withParts, type Parts } from "./parts.ts";
import { schedule } from "./scheduling.ts";

const openRetryMaxMs = minuteMs;
/** How often it is looked whether it is time to look for missed deliveries. */
const reconcileMs = minuteMs;

export interface ServerOptions {
  readonly settings: Settings;
  readonly file: SettingsFile;
  readonly keys: Keys;
  /** Of GitHub's web and git side. */
  readonly webUrl: string;
  readonly port: number;
  readonly log: Log;
  /** What is never to be seen; tokens are added as they are minted. */
  readonly secrets: Set<string>;
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

/** The connection as it stands: null until GitHub has said who we are. */
interface Connection {
  github: GitHub | null;
}

async function start(parts: Parts, options: ServerOptions): Promise<Server> {
  const { settings, log, home, opened } = parts;
  const { file, keys, secrets, port } = options;
  for (const secret of Object.values(home.secrets)) secrets.add(secret);
  const connection: Connection = { github: null };
  const forges = new Map<string, Forge>();
  const webhooks = new Map<string, Webhooks>();
  const host = makeHost(parts, { options, connection, forges, webhooks });
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
    isHeld: () => (connection.github === null ? "forge-unreachable" : null),
    routes: [receiver.route],
    local: null,
  });
  opened.push(web);
  home.announce(web.baseUrl);
  const slots = file.workers ?? slotsHere();
  const scheduling = schedule(host, {
    pumping: { slots, perRepository: slots },
    rounds: [
      {
        firstMs: reconcileMs,
        everyMs: reconcileMs,
        act: async () => void (await reconcile(host, { isStart: false })),
      },
    ],
  });
  const opening = openPatiently(host, options, (github) => {
    connection.github = github;
    forges.set(github.forge.connection, github.forge);
    webhooks.set(github.webhooks.connection, github.webhooks);
    scheduling.ring();
    return reconcile(host, { isStart: true });
  });
  return {
    url: web.url,
    webhookUrl: `${web.baseUrl}${ears.path}`,
    runningCount: () => host.running.count,
    stop: async () => {
      await opening.stop();
      await scheduling.stop();
      await closeAll(opened);
    },
  };
}

function makeHost(
  parts: Parts,
  given: {
    options: ServerOptions;
    connection: Connection;
    forges: ReadonlyMap<string, Forge>;
    webhooks: ReadonlyMap<string, Webhooks>;
  },
): Host {
  const { settings } = parts;
  const { options, connection, forges, webhooks } = given;
  const allowed = new Set(options.file.repositories.map((one) => String(one).toLowerCase()));

  /** An App is called by its own name unless somebody chose another. */
  function mention(): string {
    return settings.isMentionChosen
      ? settings.mention
      : (connection.github?.app.slug ?? settings.mention);
  }

  return {
    ...parts.host,
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

/** Opens the connection, again and again until it is open: a start must not depend on GitHub being up. */
function openPatiently(
  host: Host,
  options: ServerOptions,
  onOpen: (github: GitHub) => Promise<unknown>,
): { stop(): Promise<void> } {
  const { keys, webUrl, secrets, file } = options;
  const { ledger, log } = host;
  const ended = new AbortController();
  const opening = (async () => {
    for (
      let waitMs: number = secondMs;
      !ended.signal.aborted;
      waitMs = Math.min(2 * waitMs, openRetryMaxMs)
    ) {
      try {
        const github = await openGitHub({
          keys,
          webUrl,
          now: () => ledger.now(),
          accountOf: async (forgeId) =>
            (await ledger.read((sql) => findRepository(sql, "github", forgeId)))?.account ?? null,
          onSecret: (secret) => void secrets.add(secret),
          writeLimits: file.github.writes,
        });
        log.info({ app: github.app.slug }, "GitHub knows us");
        await onOpen(github);
        return;
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        log.warn({ error, waitMs }, "GitHub does not answer yet; webhooks are taken all the same");
        await pause(waitMs, ended.signal);
      }
    }
  })().catch((error: unknown) =>
    log.error({ error }, "the connection to GitHub could not be opened"),
  );
  return {
    stop: async () => {
      ended.abort();
      await opening;
    },
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
