// GitHub answered call by call (spec 6.1): the parts of the adapter on an installation that reaches one repository,
// `org/door`. Whatever is not expected fails, and so does what was expected and not asked.
import { generateKeyPairSync } from "node:crypto";
import nock from "nock";
import { expect, onTestFinished } from "vitest";
import { makeProbot } from "../../../../app/forge/github/app.ts";
import { openClient, type Client } from "../../../../app/forge/github/client.ts";
import { openPlaces, type Places } from "../../../../app/forge/github/places.ts";
import { openTokens, type Tokens } from "../../../../app/forge/github/tokens.ts";

export const api = "https://ghe.example";
export const door = { connection: "github", forgeId: "42" };
export const place = { id: 42, full_name: "org/door", default_branch: "main", archived: false };
const granted = {
  metadata: "read",
  issues: "write",
  pull_requests: "write",
  contents: "write",
  checks: "write",
};
const token = "ghs_canaryCANARYcanaryCANARYcanaryCANARY";

export const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  privateKeyEncoding: { type: "pkcs1", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
});

export interface Mocked {
  readonly clock: { at: number };
  /** Of the API, under `/api/v3`. */
  readonly github: nock.Scope;
  readonly probot: ReturnType<typeof makeProbot>;
  readonly tokens: Tokens;
  readonly places: Places;
  readonly client: Client;
  readonly secrets: string[];
  /** Every token that was minted: what was asked for. */
  readonly minted: { readonly account: string; readonly body: object }[];
  /** From now on each is minted as it is asked for. */
  readonly mintAll: (permissions?: Readonly<Record<string, string>>) => void;
}

export function mockGitHub(accountOf: (forgeId: string) => string | null = () => "7"): Mocked {
  nock.disableNetConnect();
  onTestFinished(() => {
    const open = nock.pendingMocks();
    nock.cleanAll();
    nock.enableNetConnect();
    // What is answered as often as it is asked need not be asked at all.
    expect(open.filter((one) => !one.includes("startsWith"))).toEqual([]);
  });
  const clock = { at: Date.now() };
  const secrets: string[] = [];
  const minted: Mocked["minted"] = [];
  const github = nock(`${api}/api/v3`);
  const keys = { appId: 1, privateKey, webhookSecret: "s".repeat(20), baseUrl: `${api}/api/v3` };
  const probot = makeProbot(keys);
  function now(): number {
    return clock.at;
  }
  const tokens = openTokens({ probot, now, onSecret: (secret) => secrets.push(secret) });
  const caller = { tokens, baseUrl: keys.baseUrl, now };
  const places = openPlaces({
    ...caller,
    probot,
    webUrl: api,
    accountOf: async (forgeId) => accountOf(forgeId),
  });
  return {
    clock,
    github,
    probot,
    tokens,
    places,
    client: openClient(caller, places),
    secrets,
    minted,
    mintAll: (permissions = granted) => {
      const installation = "/api/v3/app/installations";
      nock(api)
        .persist()
        .get((path) => path.startsWith(installation))
        .reply(200, { id: 7, permissions })
        .post((path) => path.startsWith(installation))
        .reply(201, async (request: Request) => {
          const body = (await request.json()) as object;
          minted.push({ account: request.url.split("/").at(-2) ?? "", body });
          return { token: `${token}${minted.length}`, permissions: {} };
        });
    },
  };
}
