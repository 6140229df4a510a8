// The connection to GitHub of one process (spec 6.2, 7.1): closed until GitHub has said who we are, and opened again and
// again until then, so that no start depends on GitHub being up.

import { minuteMs, secondMs } from "../../policies/durations.ts";
import { Failure } from "../../policies/failure.ts";
import type { Forge } from "../forge/forge.ts";
import type { AppFacts } from "../forge/github/app.ts";
import { openGitHub } from "../forge/github/github.ts";
import type { Webhooks } from "../forge/webhooks.ts";
import type { Host } from "../host.ts";
import { findRepository } from "../ledger/conversations.ts";
import { findConnection, isSilent } from "../ledger/incoming/connections.ts";
import type { Secrets } from "../redact.ts";
import type { ServerSettings } from "../server-settings.ts";
import type { Parts } from "./parts.ts";
import type { Round } from "./scheduling.ts";

/** Of the one connection there is. */
const name = "github";
const retryMaxMs = minuteMs;

export interface ConnectionOptions extends ServerSettings {
  readonly secrets: Secrets;
}

/** The connection as it stands. */
export interface Connection {
  app: AppFacts | null;
  openedAt: number;
  readonly forges: Map<string, Forge>;
  readonly webhooks: Map<string, Webhooks>;
}

/** A host whose only forge is GitHub, from the moment it is connected. */
export function connectedHost(
  parts: Parts,
  options: ConnectionOptions,
): { host: Host; connection: Connection } {
  const { settings, keys, secrets } = options;
  for (const secret of [keys.privateKey, keys.webhookSecret]) secrets.keep(secret);
  const connection: Connection = {
    app: null,
    openedAt: 0,
    forges: new Map(),
    webhooks: new Map(),
  };
  const { forges, webhooks } = connection;
  const allowed = new Set(options.file.repositories.map((one) => String(one).toLowerCase()));

  /** An App is called by its own name unless somebody chose another. */
  function mention(): string {
    return settings.isMentionChosen ? settings.mention : (connection.app?.slug ?? settings.mention);
  }

  const host: Host = {
    ...parts.host,
    timeZone: settings.timeZone,
    forges,
    webhooks,
    mayRun: ({ name: repository, forgeId }, { isFork }) =>
      !isFork && (allowed.has(forgeId) || allowed.has(repository.toLowerCase())),
    get mention() {
      return mention();
    },
    parse: (body) => parts.parse(body, mention()),
    // Without an address of its own, nobody who reads a comment could open a link to here.
    recordUrl: (mandateId) =>
      settings.publicUrl === null ? null : `${settings.publicUrl}/m/${mandateId}`,
  };
  return { host, connection };
}

/** GitHub has not answered for minutes: it is out of reach, or does not know us. */
export async function heldByForge(
  { ledger }: Host,
  { openedAt }: Connection,
): Promise<string | null> {
  const row = await ledger.read((sql) => findConnection(sql, name));
  const sweptAt = Math.max(openedAt, row?.sweptAt ?? 0);
  const isOpen = openedAt > 0;
  return isOpen && !isSilent(sweptAt, ledger.now()) ? null : "forge-unreachable";
}

/**
 * Opens the connection, again and again until it is open and `then` has succeeded too; from then on `then` is done at
 * its own intervals. `tried` resolves when it was tried once, however that went.
 */
export function keepConnected(
  host: Host,
  { options, connection }: { options: ConnectionOptions; connection: Connection },
  then: (signal: AbortSignal) => Promise<number>,
): { round: Round; tried: Promise<void> } {
  const { promise: tried, resolve } = Promise.withResolvers<void>();
  let retryMs: number = secondMs;
  const round: Round = {
    firstMs: 0,
    act: async (signal) => {
      try {
        if (connection.app === null) await open(host, options, connection).finally(resolve);
        return await then(signal);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        const waitMs = retryMs;
        host.log.warn({ error, waitMs }, "GitHub does not answer; nothing that was taken is lost");
        retryMs = Math.min(2 * retryMs, retryMaxMs);
        return waitMs;
      }
    },
  };
  return { round, tried };
}

async function open(host: Host, options: ConnectionOptions, connection: Connection): Promise<void> {
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
