// What any event of GitHub may have in its payload (spec 6.2). A part that is not as it should be makes a bad delivery.

import type { Person } from "../../forge.ts";

export interface ReadingOptions {
  readonly connection: string;
  readonly appId: number;
  readonly self: Person;
}

/** The parts of a payload that any event may have; what is not as it should be is a bad delivery. */
export interface Payload {
  readonly action?: string;
  readonly repository?: { readonly id: number; readonly full_name: string };
  readonly installation?: { readonly id: number };
  readonly sender?: { readonly id: number; readonly login: string };
}

export function idOf(repository: Payload["repository"]): string {
  if (!Number.isInteger(repository?.id)) throw new Error("no repository");
  return String(repository?.id);
}

/** Who did it; an event that names nobody was done by nobody we know. */
export function by({ sender }: Payload): { byId: string; byName: string } {
  return { byId: String(sender?.id ?? 0), byName: sender?.login ?? "nobody" };
}
