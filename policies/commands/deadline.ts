// A request's deadline as its last words (spec 1.2, 1.4): `by 15:00`, `by 2026-12-01T10:00Z`, `within 3d`.
// Words become an instant only with a given now and zone; nothing here knows a policy's maximum.

import { dayMs, hourMs, minuteMs, parseDuration, secondMs } from "../durations.ts";

/** As written: `at` is a clock time or ISO 8601, in the installation's zone where it names none. */
export type Deadline = { readonly at: string } | { readonly withinMs: number };

export type DeadlineWords =
  | { readonly ok: true; readonly deadline: Deadline }
  | { readonly ok: false; readonly problem: string };

const clockTime = /^(\d{1,2}):(\d{2})$/;
const isoTime =
  /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/i;
/** From 0001-01-01 to 1970-01-01. */
const epochDays = 719_162;
const looksLikeTime = /^(?:\d{1,2}:\d{2}|\d{4}-\d{1,2}-\d{1,2}(?:T[\d:.+z-]{0,32})?)$/i;
const looksLikeDuration = /^(?:\d{1,9}[dhms]){1,8}$/i;

/** The deadline two words give; null where they are ordinary words (`by hand`, `by 20`). */
export function readDeadline(first: string, second: string): DeadlineWords | null {
  const value = second.replace(/[.!]$/, "");
  const preposition = first.toLowerCase();
  if (preposition === "by" && looksLikeTime.test(value)) {
    const exists = wallTimeOf(value) !== null;
    return exists
      ? { ok: true, deadline: { at: value } }
      : { ok: false, problem: `\`${value}\` is no time of day or ISO 8601 time` };
  }
  if (preposition === "within" && looksLikeDuration.test(value)) {
    const withinMs = parseDuration(value.toLowerCase());
    return withinMs === null
      ? { ok: false, problem: `\`${value}\` is no duration such as \`90s\`, \`1h30m\` or \`3d\`` }
      : { ok: true, deadline: { withinMs } };
  }
  return null;
}

/**
 * Epoch ms of a deadline; null when the words name no instant.
 * A clock time is the next one in the zone. In the hour that a zone skips, the clock has moved on;
 * in the hour it repeats, the first one counts.
 */
export function resolveDeadline(
  deadline: Deadline,
  { now, timeZone }: { readonly now: number; readonly timeZone: string },
): number | null {
  if ("withinMs" in deadline) return now + deadline.withinMs;
  const wall = wallTimeOf(deadline.at);
  if (wall === null) return null;
  if (wall.offsetMs !== null) return (wall.dayMs ?? 0) + wall.timeMs - wall.offsetMs;
  if (wall.dayMs !== null) return instantOf(wall.dayMs + wall.timeMs, timeZone);
  const today = Math.floor((now + zoneOffsetMs(now, timeZone)) / dayMs) * dayMs;
  const next = [0, 1, 2].map((days) => instantOf(today + days * dayMs + wall.timeMs, timeZone));
  return next.find((at) => at > now) ?? null;
}

/** Day and time as if the zone were UTC; no day for a clock time, no offset where none is named. */
interface WallTime {
  readonly dayMs: number | null;
  readonly timeMs: number;
  readonly offsetMs: number | null;
}

function wallTimeOf(text: string): WallTime | null {
  const clock = clockTime.exec(text);
  if (clock !== null) {
    const timeMs = timeOfDayMs(clock.slice(1));
    return timeMs === null ? null : { dayMs: null, timeMs, offsetMs: null };
  }
  const iso = isoTime.exec(text);
  if (iso === null) return null;
  const day = daysOf(Number(iso[1]), Number(iso[2]), Number(iso[3]));
  const timeMs = timeOfDayMs(iso.slice(4, 7));
  if (day === null || timeMs === null) return null;
  return { dayMs: day * dayMs, timeMs, offsetMs: namedOffsetMs(iso[7]) };
}

function timeOfDayMs(parts: readonly (string | undefined)[]): number | null {
  const [hour = 0, minute = 0, second = 0] = parts.map((part) => Number(part ?? 0));
  if (hour > 23 || minute > 59 || second > 59) return null;
  return hour * hourMs + minute * minuteMs + second * secondMs;
}

function namedOffsetMs(zone: string | undefined): number | null {
  if (zone === undefined) return null;
  if (zone.toUpperCase() === "Z") return 0;
  const size = Number(zone.slice(1, 3)) * hourMs + Number(zone.slice(-2)) * minuteMs;
  return zone.startsWith("-") ? -size : size;
}

/** Days since 1970-01-01, null for a date that does not exist. */
function daysOf(year: number, month: number, day: number): number | null {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  if (day < 1 || day > (lengths[month - 1] ?? 0)) return null;
  const before = lengths.slice(0, month - 1).reduce((sum, length) => sum + length, 0);
  const past = year - 1;
  const years = past * 365 + Math.floor(past / 4) - Math.floor(past / 100) + Math.floor(past / 400);
  return years + before + day - 1 - epochDays;
}

function instantOf(wallMs: number, timeZone: string): number {
  const offsets = [-dayMs, dayMs].map((shift) => zoneOffsetMs(wallMs + shift, timeZone));
  const readings = offsets.map((offset) => wallMs - offset);
  const exact = readings.find((at) => at + zoneOffsetMs(at, timeZone) === wallMs);
  return exact ?? Math.max(...readings);
}

function zoneOffsetMs(at: number, timeZone: string): number {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
  const part: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(at)) part[type] = Number(value);
  const day = daysOf(part["year"] ?? 0, part["month"] ?? 0, part["day"] ?? 0) ?? 0;
  const clock = ["hour", "minute", "second"].map((unit) => String(part[unit]));
  return day * dayMs + (timeOfDayMs(clock) ?? 0) - Math.floor(at / secondMs) * secondMs;
}
