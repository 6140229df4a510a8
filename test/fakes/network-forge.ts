// A forge behind a network, in memory: what people and other programs did there, and which calls fail. For tests of the
// intake and of turns; the adapters themselves are held to test/contract/forge.ts. Holds no expectation.
import type {
  Forge,
  ForgeConversation,
  ForgeRepository,
  ForgeText,
  Person,
  PullState,
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
  /** Every call, in order. */
  readonly calls: string[];
}

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
  };
  return { ...world, forge: watched(forgeOf(world), world) };
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
    writeLimits: null,
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
    createComment: async () => refuse(),
    editComment: async () => refuse(),
    listOwnComments: none,
    react: async () => refuse(),
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
