// Calls about one repository on GitHub (spec 6.1): by its id, at the name it has now, with a token of its own.

import type { Octokit } from "@octokit/rest";
import { RefusedFailure, type ForgeRepository, type RepositoryRef } from "../forge.ts";
import { octokit, read, write, type Caller } from "./calls.ts";
import { isGone, outOfReach } from "./failures.ts";
import type { Places } from "./places.ts";

/** A repository's name, for the routes that want it. */
export interface Place {
  readonly owner: string;
  readonly repo: string;
}

export type Call<T> = (api: Octokit, place: Place) => Promise<{ readonly data: T }>;

export interface Client {
  /** Null where the repository, or what was asked of it, does not exist. Throws Failure. */
  read<T>(ref: RepositoryRef, call: Call<T>): Promise<T | null>;
  /** Throws Failure; `refused` where the repository does not exist. */
  write<T>(ref: RepositoryRef, call: Call<T>): Promise<T>;
  /** As `write`; null where what is to be changed is gone. */
  change<T>(ref: RepositoryRef, call: Call<T>): Promise<T | null>;
  gitToken(ref: RepositoryRef, use: "read" | "write"): Promise<string>;
  /** For what is the same everywhere; asks as nobody before the first installation. */
  anyApi(): Promise<Octokit>;
}

export function openClient(caller: Caller, places: Places): Client {
  async function reached({ forgeId }: RepositoryRef): Promise<ForgeRepository> {
    const repository = await places.find(forgeId);
    if (repository !== null) return repository;
    const message = "no installation reaches this repository";
    throw new RefusedFailure({ message, isClosed: true });
  }

  async function writeAt<T>(ref: RepositoryRef, call: Call<T>): Promise<T> {
    const repository = await reached(ref);
    const { account, forgeId } = repository;
    try {
      return await write(caller, { account, forgeId, use: "write" }, (api) =>
        call(api, placeOf(repository)),
      );
    } catch (error) {
      places.forget(forgeId);
      throw error;
    }
  }

  return {
    read: async (ref, call) => {
      const repository = await places.find(ref.forgeId);
      if (repository === null) return null;
      const { account, forgeId } = repository;
      const found = await read(caller, { account, forgeId, use: "read" }, (api) =>
        call(api, placeOf(repository)),
      );
      // It may have another name by now, or be reached in another way.
      if (found === null) places.forget(forgeId);
      return found;
    },
    write: writeAt,
    change: async (ref, call) => {
      try {
        return await writeAt(ref, call);
      } catch (error) {
        if (isGone(error)) return null;
        throw error;
      }
    },
    gitToken: async (ref, use) => {
      const { account, forgeId } = await reached(ref);
      const token = await caller.tokens.token({ account, forgeId, use: `git-${use}` });
      if (token !== null) return token;
      places.forget(forgeId);
      return outOfReach();
    },
    anyApi: async () => {
      const [account] = await places.installations();
      const token =
        account === undefined
          ? null
          : await caller.tokens.token({ account, forgeId: null, use: "git-read" });
      return octokit(caller.baseUrl, token);
    },
  };
}

function placeOf({ name }: ForgeRepository): Place {
  const [owner = "", repo = ""] = name.split("/");
  return { owner, repo };
}
