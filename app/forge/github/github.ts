// The GitHub connection (spec 6.1): the forge port and the webhook side, put together from the parts of this folder.
// github.com and Enterprise Server differ by their addresses alone.

import type { Probot } from "probot";
import { Failure } from "../../../policies/failure.ts";
import type { Forge, Person, WriteLimits } from "../forge.ts";
import type { Webhooks } from "../webhooks.ts";
import { makeProbot, readApp, type AppFacts, type AppKeys } from "./app.ts";
import { routeOf } from "./calls.ts";
import { openClient, type Client } from "./client.ts";
import { failedDeliveries, redeliver } from "./deliveries.ts";
import { openReading } from "./events/reading.ts";
import { readFailure } from "./failures.ts";
import { openObserving } from "./observing.ts";
import { openPeople } from "./people.ts";
import { openPlaces, type Places } from "./places.ts";
import { openPulls } from "./pulls.ts";
import { openTexts, refuseTooLong } from "./texts.ts";
import { openTokens } from "./tokens.ts";
import { verifyGitHub } from "./webhooks.ts";

export interface GitHub {
  readonly forge: Forge;
  readonly webhooks: Webhooks;
  readonly app: AppFacts;
}

export interface GitHubOptions {
  readonly keys: AppKeys;
  /** Of the web and git side, without closing slash: `https://github.com`. */
  readonly webUrl: string;
  readonly now: () => number;
  /** The installation that the ledger knows for a repository. */
  readonly accountOf: (forgeId: string) => Promise<string | null>;
  /** Told of every token before it is used. */
  readonly onSecret: (secret: string) => void;
  readonly writeLimits?: WriteLimits;
}

const connection = "github";
const commentLimit = 65_536;
/** What GitHub asks integrations to keep to: one write a second, 80 a minute, 500 an hour. */
const writeLimitsDefault: WriteLimits = { perSecond: 1, perMinute: 80, perHour: 500 };

/** Asks GitHub who the App is. Throws Failure while it does not answer, or does not know the key. */
export async function openGitHub(options: GitHubOptions): Promise<GitHub> {
  const { keys, webUrl, now } = options;
  const probot = makeProbot(keys);
  const tokens = openTokens({ probot, now, onSecret: options.onSecret });
  const caller = { tokens, baseUrl: keys.baseUrl, now };
  const places = openPlaces({ ...caller, probot, webUrl, accountOf: options.accountOf });
  const client = openClient(caller, places);
  const { app, self } = await whoWeAre(probot, client, now);
  const forge = forgeFrom({ ...options, probot, client, places, app, self });
  const read = openReading(probot, { connection, appId: app.id, self });
  return { forge, app, webhooks: { ...verifyGitHub(keys.webhookSecret), read } };
}

async function whoWeAre(
  probot: Probot,
  client: Client,
  now: () => number,
): Promise<{ app: AppFacts; self: Person }> {
  try {
    const app = await readApp(probot);
    const api = await client.anyApi();
    const { data } = await api.rest.users.getByUsername({ username: `${app.slug}[bot]` });
    return { app, self: { id: String(data.id), name: data.login, isBot: true } };
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw readFailure(error, { route: routeOf(error), now: now() }) ?? unknownApp();
  }
}

function unknownApp(): Failure {
  return new Failure("unavailable", "later", { message: "GitHub knows no such App" });
}

function forgeFrom(
  parts: GitHubOptions & {
    probot: Probot;
    client: Client;
    places: Places;
    app: AppFacts;
    self: Person;
  },
): Forge {
  const { probot, client, places, app, self, now, webUrl } = parts;
  const people = openPeople(client, now);
  const texts = openTexts(client, self);
  const mailHost = new URL(webUrl).hostname;
  return {
    connection,
    capabilities: {
      reactions: true,
      checks: true,
      reviewThreads: true,
      drafts: true,
      deliveryListing: true,
      releases: true,
    },
    self,
    commentLimit,
    writeLimits: parts.writeLimits ?? writeLimitsDefault,
    listRepositories: () => places.list(),
    readRepository: ({ forgeId }) => places.find(forgeId),
    gitToken: (ref, use) => client.gitToken(ref, use),
    emailOf: ({ id, name }) => `${id}+${name}@users.noreply.${mailHost}`,
    permissionOf: (ref, personId) => people.levelOf(ref, personId),
    ...texts,
    createComment: async (ref, body) => {
      refuseTooLong(body, commentLimit);
      return texts.createComment(ref, body);
    },
    editComment: async (ref, id, body) => {
      refuseTooLong(body, commentLimit);
      return texts.editComment(ref, id, body);
    },
    ...openPulls(client),
    ...openObserving(client, app.id),
    failedDeliveries: (since) => failedDeliveries(probot, { since, now: now() }),
    redeliver: (id) => redeliver(probot, id, now()),
  };
}
