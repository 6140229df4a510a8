// Bodies of webhooks (spec 8.4): our rows as GitHub prints them, and around them the fields of real payloads, taken
// from the published examples so that nothing a real one has is missing.

import examples from "@octokit/webhooks-examples" with { type: "json" };
import { apiUrl, nodeId, userShape } from "./shapes/accounts.ts";
import { repositoryShape } from "./shapes/repositories.ts";
import { fullName, installationOf, type Event, type Installation, type World } from "./world.ts";

type Json = Record<string, unknown>;

const definitions = examples as unknown as readonly { name: string; examples: Json[] }[];

export function payloadOf(world: World, event: Event): Json {
  const { action, repository, sender, parts } = event;
  const installation = installationFor(world, event);
  const ours: Json = {
    ...(action !== null && { action }),
    ...parts,
    ...(repository !== null && { repository: repositoryShape(world, repository) }),
    ...(repository?.owner.type === "Organization" && {
      organization: userShape(world, repository.owner),
    }),
    sender: userShape(world, sender),
    ...(installation !== null && {
      installation: { id: installation.id, node_id: nodeId("Installation", installation.id) },
    }),
    ...("installation" in parts && { installation: parts["installation"] }),
  };
  return around(ours, seedOf(world, event));
}

export function installationFor(world: World, event: Event): Installation | null {
  if (event.installation !== undefined) return event.installation;
  return event.repository === null ? null : installationOf(world, event.repository);
}

/** A published example of an event, with our names and addresses in it; empty where none is published. */
export function seedOf(world: World, event: Omit<Event, "parts" | "sender">): Json {
  const { name, action, repository } = event;
  const published = definitions.find((definition) => definition.name === name)?.examples ?? [];
  const seed = published.find((example) => example["action"] === (action ?? undefined));
  let text = JSON.stringify(seed ?? published[0] ?? {});
  if (repository !== null) {
    text = text
      .replaceAll("Codertocat/Hello-World", fullName(repository))
      .replaceAll("Codertocat", repository.owner.login);
  }
  text = text
    .replaceAll("https://api.github.com", apiUrl(world))
    .replaceAll("https://github.com", world.origin);
  return JSON.parse(text) as Json;
}

/** An object inside an example, to be built upon. */
export function seedPart(seed: Json, key: string): Json {
  const part = seed[key];
  return isObject(part) ? part : {};
}

/** What ours lacks is filled in where it is a plain value: an object of the example would tell of other things. */
function around(ours: Json, seed: Json): Json {
  const filled = Object.entries(ours).map(([key, part]) => {
    const example = seed[key];
    return [key, isObject(part) && isObject(example) ? { ...plain(example), ...part } : part];
  });
  return { ...plain(seed), ...(Object.fromEntries(filled) as Json) };
}

function plain(seed: Json): Json {
  return Object.fromEntries(
    Object.entries(seed).filter(([, value]) => typeof value !== "object" || value === null),
  );
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
