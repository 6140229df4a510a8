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
  const wanted = new Map(wish.permissions.map(({ name, access }) => [name, String(access)]));
  const missing: string[] = [];
  const superfluous: string[] = [];
  for (const name of new Set([...wanted.keys(), ...Object.keys(seen)])) {
    const want = wanted.get(name) ?? "none";
    const have = seen[name] ?? "none";
    if (levels.indexOf(have) < levels.indexOf(want)) missing.push(told({ name, want, have }));
    // A level that we do not know is more than we asked for.
    else if (have !== want) superfluous.push(told({ name, want: have, have: want, is: "needs" }));
  }
  return { missing, superfluous };
}

function told(one: { name: string; want: string; have: string; is?: string }): string {
  const { name, want, have, is = "is" } = one;
  return have === "none" ? `${name}: ${want}` : `${name}: ${want} (${is} ${have})`;
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
