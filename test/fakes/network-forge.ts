// A forge behind a network, in memory: what people and other programs did there, and which calls fail. For tests of the
// intake and of turns; the adapters themselves are held to test/contract/forge.ts. Holds no expectation.
import {
  LimitedFailure,
  RefusedFailure,
  type Forge,
  type ForgeConversation,
  type ForgeRepository,
  type ForgeText,
  type Person,
  type PullState,
  type WriteLimits,
} from "../../app/forge/forge.ts";
import type { Level } from "../../policies/authority.ts";
import { Failure } from "../../policies/failure.ts";

export const connection = "github";
export const self: Person = { id: "900", name: "holdfast-app[bot]", isBot: true };
export const ada: Person = { id: "1", name: "ada", isBot: false };
export const otherBot: Person = { id: "800", name: "helper[bot]", isBot: true };

export interface NetworkForge {
  readonly forge: Forge;
  readonly repositories: Map<string, ForgeRepository>;
  readonly conversations: Map<number, ForgeConversation>;
  readonly pulls: Map<number, PullState>;
  readonly texts: Map<string, ForgeText>;
  readonly levels: Map<string, Level>;
  readonly redelivered: string[];
  readonly failed: { id: string; guid: string; at: number }[];
  /** Names of methods that the network does not let through now. */
  readonly down: Set<string>;
  /** What becomes of the next writes, in order; all after them succeed. */
  readonly fates: Fate[];
  /** Our comments, as the forge has them. */
  readonly ours: { id: string; number: number; body: string; at: number }[];
  /** By how much the forge's clock is behind ours. */
  readonly clock: { behindMs: number; now: () => number };
  writeLimits: WriteLimits | null;
  /** Every call, in order. */
  readonly calls: string[];
}

/** `after` was applied all the same. */
export type Fate =
  | "fine"
  | "unavailable"
  | "unsure-before"
  | "unsure-after"
  | "closed"
  | "refused"
  | { readonly limitedUntil: number };

export interface Written {
  readonly id: string;
  readonly body: string;
  readonly author?: Person;
  readonly number?: number;
  readonly at?: number;
  readonly changedAt?: number;
}

/** One repository, id 7, with issue 1; ada may write there. */
export function openNetworkForge(): NetworkForge {
  const world: Omit<NetworkForge, "forge"> = {
    repositories: new Map([["7", repository("7", "org/door")]]),
    conversations: new Map([[1, conversation(1, "issue")]]),
    pulls: new Map(),
    texts: new Map(),
    levels: new Map([[ada.id, "write"]]),
    redelivered: [],
    failed: [],
    down: new Set(),
    calls: [],
    fates: [],
    ours: [],
    clock: { behindMs: 0, now: () => 0 },
    writeLimits: null,
  };
  return Object.assign(world, { forge: watched(forgeOf(world), world) });
}

export function repository(forgeId: string, name: string): ForgeRepository {
  const source = `https://forge.example/${name}.git`;
  return { forgeId, name, source, defaultBranch: "main", account: "55", isArchived: false };
}

export function conversation(number: number, kind: "issue" | "pull"): ForgeConversation {
  const url = `https://forge.example/org/door/issues/${number}`;
  return { number, kind, title: "A door", body: "", author: ada, state: "open", url };
}

/** A comment as it is on the forge now. */
export function write(world: NetworkForge, written: Written): ForgeText {
  const { id, body, author = ada, number = 1, at = 0, changedAt = at } = written;
  const ref = { connection, forgeId: "7", kind: "comment", id } as const;
  const url = `https://forge.example/org/door/issues/${number}#c${id}`;
  const isEdited = changedAt > at;
  const text = { ref, number, body, author, url, createdAt: at, changedAt, isEdited };
  world.texts.set(id, text);
  return text;
}

function forgeOf(world: Omit<NetworkForge, "forge">): Forge {
  async function none(): Promise<never[]> {
    return [];
  }
  function refuse(): never {
    throw new Failure("refused", "never", { message: "nobody writes to this forge" });
  }

  /** Applies a write as its fate says. */
  function fated<T>(apply: () => T): T {
    const fate = world.fates.shift();
    if (fate === undefined || fate === "fine") return apply();
    if (typeof fate === "object") throw new LimitedFailure(fate.limitedUntil, { message: "limit" });
    if (fate === "unsure-after") apply();
    if (fate === "closed" || fate === "refused") {
      throw new RefusedFailure({ message: fate, isClosed: fate === "closed" });
    }
    const code = fate === "unavailable" ? "unavailable" : "unsure";
    throw new Failure(code, "later", { message: fate });
  }

  let made = 0;

  function forgeNow(): number {
    return world.clock.now() - world.clock.behindMs;
  }
  return {
    connection,
    capabilities: {
      reactions: true,
      checks: true,
      reviewThreads: false,
      drafts: true,
      deliveryListing: true,
      releases: true,
    },
    self,
    commentLimit: 65_536,
    get writeLimits() {
      return world.writeLimits;
    },
    listRepositories: async () => [...world.repositories.values()],
    readRepository: async ({ forgeId }) => world.repositories.get(forgeId) ?? null,
    gitToken: async () => "a token",
    emailOf: ({ id }) => `${id}@forge.example`,
    readText: async ({ id }) => world.texts.get(id) ?? null,
    readConversation: async ({ number }) => world.conversations.get(number) ?? null,
    listTexts: none,
    textsSince: async (_, since, limit) =>
      [...world.texts.values()]
        .filter(({ changedAt }) => changedAt >= since)
        .toSorted((one, two) => one.changedAt - two.changedAt)
        .slice(0, limit),
    permissionOf: async (_, personId) => world.levels.get(personId) ?? "none",
    createComment: async ({ number }, body) =>
      fated(() => {
        made += 1;
        const id = String(made);
        world.ours.push({ id, number, body, at: forgeNow() });
        return { id, url: `#${id}` };
      }),
    editComment: async (_, id, body) =>
      fated(() => {
        const comment = world.ours.find((one) => one.id === id);
        if (comment === undefined) return null;
        comment.body = body;
        comment.at = forgeNow();
        return { id, url: `#${id}` };
      }),
    listOwnComments: async ({ number }, since) =>
      world.ours
        .filter((one) => one.number === number && one.at >= since)
        .map(({ id, body }) => ({ id, url: `#${id}`, body })),
    react: async () => fated(() => undefined),
    findPull: async () => null,
    createPull: async () => refuse(),
    editPull: async () => refuse(),
    readPull: async ({ number }) => world.pulls.get(number) ?? null,
    writeCheck: async () => refuse(),
    readChecks: none,
    listReleases: none,
    listPackageVersions: none,
    readRef: async () => null,
    failedDeliveries: async (since) => world.failed.filter(({ at }) => at >= since),
    redeliver: async (id) => {
      world.redelivered.push(id);
    },
  };
}

/** Notes each call, and lets none through that is down. */
function watched(forge: Forge, world: Omit<NetworkForge, "forge">): Forge {
  return new Proxy(forge, {
    get(target, name: keyof Forge) {
      const member = target[name];
      if (typeof member !== "function" || name === "emailOf") return member;
      return async (...given: unknown[]) => {
        world.calls.push(name);
        if (world.down.has(name)) {
          throw new Failure("unavailable", "later", { message: "the network is down" });
        }
        return Reflect.apply(member, target, given) as unknown;
      };
    },
  });
}
