// Durations and times as people write them (spec 1.4): `90s`, `30m`, `6h`, `3d`, `1h30m`, `15:00`, ISO 8601.
// Parsing never clamps: what is out of bounds is refused by the rule that knows the bound.

export const secondMs = 1_000;
export const minuteMs = 60 * secondMs;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

const unitMs: Record<string, number> = { d: dayMs, h: hourMs, m: minuteMs, s: secondMs };
const durationPattern = /^(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?$/;

/** Milliseconds of a duration such as `1h30m`, or null when the text is none. Units from large to small, each once. */
export function parseDuration(text: string): number | null {
  const match = durationPattern.exec(text.trim());
  if (match === null || match[0] === "") return null;
  const [days, hours, minutes, seconds] = match.slice(1).map((part) => Number(part ?? 0));
  const total =
    (days ?? 0) * dayMs +
    (hours ?? 0) * hourMs +
    (minutes ?? 0) * minuteMs +
    (seconds ?? 0) * secondMs;
  return total > 0 ? total : null;
}

/** The shortest exact spelling down to whole seconds (`1h30m`); parts of a second are rounded up. */
export function formatDuration(durationMs: number): string {
  let rest = Math.ceil(Math.max(0, durationMs) / secondMs) * secondMs;
  let text = "";
  for (const [unit, size] of Object.entries(unitMs)) {
    const count = Math.floor(rest / size);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * size;
  }
  return text === "" ? "0s" : text;
}

/** An instant for people and for machines alike: ISO 8601 in UTC, whole seconds. */
export function formatInstant(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}
