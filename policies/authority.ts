// Permission levels (spec 1.5): who may do what, decided from numeric ids and the forge's effective level.
// Never looks at logins, author associations or text.

/** From no right at all to everything; a later level includes all earlier ones. */
export const levels = ["none", "read", "triage", "write", "maintain", "admin"] as const;
export type Level = (typeof levels)[number];

export function isAtLeast(level: Level, needed: Level): boolean {
  return levels.indexOf(level) >= levels.indexOf(needed);
}

/** The stricter of two required levels: a policy file or a task may only narrow. */
export function stricter(first: Level, second: Level): Level {
  return isAtLeast(first, second) ? first : second;
}
