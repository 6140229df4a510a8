// How an App on GitHub differs from app.yml (spec 6.6). Pure: what is missing stops work, what is superfluous is a
// right that nobody needs.

import { unaskedEvents, type AppWish } from "./manifest.ts";

export interface Differences {
  /** In words, such as `issues: write (is read)`. */
  readonly missing: readonly string[];
  readonly superfluous: readonly string[];
}

/** Each level contains those before it. */
const levels: readonly string[] = ["none", "read", "write", "admin"];

export function permissionDifferences(
  wish: Pick<AppWish, "permissions">,
  seen: Readonly<Record<string, string>>,
): Differences {
  const wanted = new Map<string, string>(
    wish.permissions.map(({ name, access }) => [name, access]),
  );
  const missing: string[] = [];
  const superfluous: string[] = [];
  for (const name of new Set([...wanted.keys(), ...Object.keys(seen)])) {
    const want = wanted.get(name) ?? "none";
    const have = seen[name] ?? "none";
    if (rankOf(have) < rankOf(want)) {
      missing.push(`${name}: ${want}${have === "none" ? "" : ` (it has ${have})`}`);
    } else if (have !== want) {
      superfluous.push(`${name}: ${have}${want === "none" ? "" : ` (${want} is enough)`}`);
    }
  }
  return { missing, superfluous };
}

/** A level that we do not know is taken for a high one: it may be too much, and keeps nothing from working. */
function rankOf(level: string): number {
  const rank = levels.indexOf(level);
  return rank === -1 ? levels.length : rank;
}

export function eventDifferences(
  wish: Pick<AppWish, "events">,
  seen: readonly string[],
): Differences {
  const wanted = wish.events.map(({ name }) => name);
  const known: readonly string[] = [...wanted, ...unaskedEvents];
  return {
    missing: wanted.filter((name) => !seen.includes(name)),
    superfluous: seen.filter((name) => !known.includes(name)),
  };
}
