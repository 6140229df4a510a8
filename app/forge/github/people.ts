// People on GitHub (spec 1.5, 6.2): by their numeric id, with the level they effectively have.

import type { Level } from "../../../policies/authority.ts";
import { minuteMs } from "../../../policies/durations.ts";
import type { Person, RepositoryRef } from "../forge.ts";
import type { Client } from "./client.ts";

/** A right is asked for again after this long. */
const levelKeptMs = minuteMs;

/** An account as it stands in answers and payloads; null where it was deleted. */
export interface Account {
  readonly id: number;
  readonly login: string;
  readonly type?: string | undefined;
}

/** The account of those who have deleted theirs. */
const ghost: Person = { id: "10137", name: "ghost", isBot: false };

/** Bots are told by their type, never by a name that ends like one. */
export function personOf(account: Account | null | undefined): Person {
  if (account === null || account === undefined) return ghost;
  return { id: String(account.id), name: account.login, isBot: account.type === "Bot" };
}

export interface People {
  levelOf(ref: RepositoryRef, personId: string): Promise<Level>;
}

export function openPeople(client: Client, now: () => number): People {
  const kept = new Map<string, { level: Level; until: number }>();
  return {
    levelOf: async (ref, personId) => {
      const key = `${ref.forgeId} ${personId}`;
      const known = kept.get(key);
      if (known !== undefined && known.until > now()) return known.level;
      const level = await readLevel(client, ref, personId);
      kept.set(key, { level, until: now() + levelKeptMs });
      return level;
    },
  };
}

async function readLevel(client: Client, ref: RepositoryRef, personId: string): Promise<Level> {
  if (!/^[1-9]\d{0,15}$/.test(personId)) return "none";
  const account = await client.read(ref, (api) =>
    api.request("GET /user/{account_id}", { account_id: Number(personId) }),
  );
  if (account === null) return "none";
  const { login } = account as { login: string };
  const found = await client.read(ref, (api, place) =>
    api.rest.repos.getCollaboratorPermissionLevel({ ...place, username: login }),
  );
  // A name can change hands between the two questions.
  if (found === null || String(found.user?.id) !== personId) return "none";
  return levelFrom(found.role_name, found.user?.permissions);
}

interface Flags {
  readonly admin?: boolean;
  readonly maintain?: boolean;
  readonly push?: boolean;
  readonly triage?: boolean;
  readonly pull?: boolean;
}

/** A role of the organisation's own counts as what it may do. */
function levelFrom(role: string, flags: Flags = {}): Level {
  switch (role) {
    case "admin":
    case "maintain":
    case "write":
    case "triage":
    case "read":
    case "none":
      return role;
  }
  if (flags.admin === true) return "admin";
  if (flags.maintain === true) return "maintain";
  if (flags.push === true) return "write";
  if (flags.triage === true) return "triage";
  return flags.pull === true ? "read" : "none";
}
