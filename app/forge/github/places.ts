// Where repositories are on GitHub now (spec 1.7, 6.2): found by their id, with the installation that reaches them. Names
// change; they are looked up at use and kept for a minute.

import type { Probot } from "probot";
import { minuteMs } from "../../../policies/durations.ts";
import type { ForgeRepository } from "../forge.ts";
import { callMsLimit } from "./app.ts";
import { octokit, read, routeOf, type Caller } from "./calls.ts";
import { readFailure } from "./failures.ts";

export interface Places {
  find(forgeId: string): Promise<ForgeRepository | null>;
  /** All that the App reaches. */
  list(): Promise<ForgeRepository[]>;
  installations(): Promise<string[]>;
  /** It may have another name by now. */
  forget(forgeId: string): void;
}

export interface PlaceOptions extends Caller {
  readonly probot: Probot;
  /** Of the web and git side, such as `https://github.com`. */
  readonly webUrl: string;
  /** The installation that the ledger knows for a repository. */
  readonly accountOf: (forgeId: string) => Promise<string | null>;
}

const keptMs = minuteMs;

export function openPlaces(options: PlaceOptions): Places {
  const { now } = options;
  const known = new Map<string, { repository: ForgeRepository; at: number }>();

  function keep(repository: ForgeRepository): ForgeRepository {
    known.set(repository.forgeId, { repository, at: now() });
    return repository;
  }

  /** Somewhere the App is installed, wherever it was before. */
  async function search(forgeId: string): Promise<ForgeRepository | null> {
    known.delete(forgeId);
    for (const repository of await listAll(options)) keep(repository);
    return known.get(forgeId)?.repository ?? null;
  }

  return {
    find: async (forgeId) => {
      const before = known.get(forgeId);
      if (before !== undefined && now() - before.at < keptMs) return before.repository;
      const account = before?.repository.account ?? (await options.accountOf(forgeId));
      const found = account === null ? null : await readPlace(options, { account, forgeId });
      return found === null ? search(forgeId) : keep(found);
    },
    list: async () => (await listAll(options)).map(keep),
    installations: () => installationsOf(options),
    forget: (forgeId) => {
      known.delete(forgeId);
    },
  };
}

/** GitHub finds a repository by its id under this route, which its list of routes does not name. */
async function readPlace(
  options: PlaceOptions,
  { account, forgeId }: { account: string; forgeId: string },
): Promise<ForgeRepository | null> {
  const by = { account, forgeId, use: "read" } as const;
  const data = await read(options, by, (api) =>
    api.request("GET /repositories/{id}", { id: Number(forgeId) }),
  );
  return data === null ? null : repositoryFrom(data as RepositoryData, account, options.webUrl);
}

async function installationsOf({ probot, now }: PlaceOptions): Promise<string[]> {
  try {
    const api = await probot.auth();
    const request = { signal: AbortSignal.timeout(callMsLimit) };
    const found = await api.paginate(api.rest.apps.listInstallations, { per_page: 100, request });
    return found.filter(({ suspended_at: at }) => at === null).map(({ id }) => String(id));
  } catch (error) {
    readFailure(error, { route: routeOf(error), now: now() });
    return [];
  }
}

async function listAll(options: PlaceOptions): Promise<ForgeRepository[]> {
  const { tokens, baseUrl, now, webUrl } = options;
  const all: ForgeRepository[] = [];
  for (const account of await installationsOf(options)) {
    const token = await tokens.token({ account, forgeId: null, use: "git-read" });
    if (token === null) continue;
    const api = octokit(baseUrl, token);
    try {
      const found = await api.paginate(api.rest.apps.listReposAccessibleToInstallation, {
        per_page: 100,
      });
      all.push(...found.map((data) => repositoryFrom(data as RepositoryData, account, webUrl)));
    } catch (error) {
      readFailure(error, { route: routeOf(error), now: now() });
    }
  }
  return all;
}

interface RepositoryData {
  readonly id: number;
  readonly full_name: string;
  readonly default_branch: string;
  readonly archived: boolean;
}

/** Where git goes is made from our own address, never from what was answered. */
function repositoryFrom(data: RepositoryData, account: string, webUrl: string): ForgeRepository {
  const { full_name: name } = data;
  return {
    forgeId: String(data.id),
    name,
    source: `${webUrl}/${name.split("/").map(encodeURIComponent).join("/")}.git`,
    defaultBranch: data.default_branch,
    account,
    isArchived: data.archived,
  };
}
