// Installation tokens (spec 6.5): minted for one repository and one use; kept in memory for at most 55 minutes for calls,
// minted anew for each fetch and push. They are in no file, argv, address or log.

import type { Probot } from "probot";
import { minuteMs } from "../../../policies/durations.ts";
import { callMsLimit } from "./app.ts";
import { statusOf, tokenFailure } from "./failures.ts";

export type Use = "read" | "write" | "git-read" | "git-write";

/** The least that each use needs; what the installation was not granted is left out. */
const wanted: Readonly<Record<Use, Readonly<Record<string, "read" | "write">>>> = {
  read: {
    metadata: "read",
    issues: "read",
    pull_requests: "read",
    contents: "read",
    checks: "read",
    statuses: "read",
    actions: "read",
    packages: "read",
    deployments: "read",
  },
  write: { metadata: "read", issues: "write", pull_requests: "write", checks: "write" },
  "git-read": { metadata: "read", contents: "read" },
  "git-write": { metadata: "read", contents: "write" },
};

/** GitHub's tokens live an hour. */
const keptMs = 55 * minuteMs;
const permissionsKeptMs = 10 * minuteMs;

/** `forgeId` null: for the whole installation, to list its repositories. */
export interface Asked {
  readonly account: string;
  readonly forgeId: string | null;
  readonly use: Use;
}

export interface Tokens {
  /**
   * Null where the installation is gone or does not reach the repository. Throws Failure `limited`, or `unavailable`,
   * which a suspended installation is as well (1.7).
   */
  token(asked: Asked): Promise<string | null>;
  /** A token that GitHub did not take is not used again. */
  forget(token: string): void;
}

export interface TokenOptions {
  readonly probot: Probot;
  readonly now: () => number;
  /** Told of each new token, before it is used: it is never to be seen anywhere. */
  readonly onSecret: (secret: string) => void;
}

export function openTokens(options: TokenOptions): Tokens {
  const { now } = options;
  const mint = openMint(options);
  const kept = new Map<string, { token: string; until: number }>();
  const underway = new Map<string, Promise<string | null>>();

  async function mintToKeep(key: string, asked: Asked): Promise<string | null> {
    const token = await mint(asked);
    if (token !== null) kept.set(key, { token, until: now() + keptMs });
    return token;
  }

  return {
    token: async (asked) => {
      // Git says no more than that it was refused, so that a token which was kept too long could not be told.
      if (asked.use === "git-read" || asked.use === "git-write") return mint(asked);
      const key = `${asked.account} ${asked.forgeId} ${asked.use}`;
      const known = kept.get(key);
      if (known !== undefined && known.until > now()) return known.token;
      // Many ask at once after a pause; one token serves them all.
      const minting =
        underway.get(key) ?? mintToKeep(key, asked).finally(() => underway.delete(key));
      underway.set(key, minting);
      return minting;
    },
    forget: (token) => {
      for (const [key, one] of kept) if (one.token === token) kept.delete(key);
    },
  };
}

function openMint({ probot, now, onSecret }: TokenOptions) {
  const granted = new Map<
    string,
    { permissions: Readonly<Record<string, string>>; until: number }
  >();

  async function permissionsOf(account: string): Promise<Readonly<Record<string, string>>> {
    const known = granted.get(account);
    if (known !== undefined && known.until > now()) return known.permissions;
    const api = await probot.auth();
    const { data } = await api.rest.apps.getInstallation({
      installation_id: Number(account),
      request: { signal: AbortSignal.timeout(callMsLimit) },
    });
    const permissions = data.permissions as Readonly<Record<string, string>>;
    granted.set(account, { permissions, until: now() + permissionsKeptMs });
    return permissions;
  }

  async function mintOnce({ account, forgeId, use }: Asked): Promise<string> {
    const permissions = narrowed(wanted[use], await permissionsOf(account));
    const api = await probot.auth();
    const { data } = await api.rest.apps.createInstallationAccessToken({
      installation_id: Number(account),
      ...(forgeId === null ? {} : { repository_ids: [Number(forgeId)] }),
      permissions,
      request: { signal: AbortSignal.timeout(callMsLimit) },
    });
    onSecret(data.token);
    return data.token;
  }

  function unminted(error: unknown): null {
    const status = statusOf(error);
    if (status === 404 || status === 422) return null;
    throw tokenFailure(error, { route: "minting a token", now: now() });
  }

  return async (asked: Asked): Promise<string | null> => {
    try {
      return await mintOnce(asked);
    } catch (error) {
      // It may be that less is granted by now: asked once more with what is.
      if (statusOf(error) !== 422 || !granted.delete(asked.account)) return unminted(error);
    }
    return mintOnce(asked).catch(unminted);
  };
}

function narrowed(
  asked: Readonly<Record<string, "read" | "write">>,
  granted: Readonly<Record<string, string>>,
): Record<string, "read" | "write"> {
  return Object.fromEntries(
    Object.entries(asked).flatMap(([name, level]) => {
      const given = granted[name];
      if (given === undefined) return [];
      return [[name, level === "write" && given === "read" ? "read" : level]];
    }),
  );
}
