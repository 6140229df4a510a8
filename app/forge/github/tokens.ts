// Installation tokens (spec 6.5): minted for one repository and one use; kept in memory for at most 55 minutes for calls,
// minted anew for each fetch and push. They are in no file, argv, address or log.

import type { Probot } from "probot";
import { minuteMs } from "../../../policies/durations.ts";
import { callMsLimit } from "./app.ts";
import { writeFailure } from "./failures.ts";

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

export interface Tokens {
  /** `forgeId` null: for the whole installation, to list its repositories. Throws Failure. */
  token(asked: { account: string; forgeId: string | null; use: Use }): Promise<string>;
  /** A token that GitHub did not take is not used again. */
  forget(token: string): void;
}

export interface TokenOptions {
  readonly probot: Probot;
  readonly now: () => number;
  /** Told of each new token, before it is used: it is never to be seen anywhere. */
  readonly onSecret: (secret: string) => void;
}

export function openTokens({ probot, now, onSecret }: TokenOptions): Tokens {
  const kept = new Map<string, { token: string; until: number }>();
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

  async function mint(asked: Parameters<Tokens["token"]>[0]): Promise<string> {
    const { account, forgeId, use } = asked;
    try {
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
    } catch (error) {
      throw writeFailure(error, { route: "minting a token", now: now() });
    }
  }

  return {
    token: async (asked) => {
      // Git says no more than that it was refused, so that a token which was kept too long could not be told.
      if (asked.use === "git-read" || asked.use === "git-write") return mint(asked);
      const key = `${asked.account} ${asked.forgeId} ${asked.use}`;
      const known = kept.get(key);
      if (known !== undefined && known.until > now()) return known.token;
      const token = await mint(asked);
      kept.set(key, { token, until: now() + keptMs });
      return token;
    },
    forget: (token) => {
      for (const [key, one] of kept) if (one.token === token) kept.delete(key);
    },
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
