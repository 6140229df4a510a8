// Deadlines as last words (spec 1.4): the next clock time of a zone, ISO 8601, durations.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readDeadline, resolveDeadline } from "../../../policies/commands/deadline.ts";
import { dayMs, hourMs } from "../../../policies/durations.ts";

const noonUtc = Date.parse("2026-06-10T12:00:00Z");

function resolve(at: string, timeZone: string, now = noonUtc): string | null {
  const instant = resolveDeadline({ at }, { now, timeZone });
  return instant === null ? null : new Date(instant).toISOString();
}

describe("an instant in words", () => {
  test.each([
    ["15:00", "UTC", "2026-06-10T15:00:00.000Z"],
    ["11:59", "UTC", "2026-06-11T11:59:00.000Z"],
    ["12:00", "UTC", "2026-06-11T12:00:00.000Z"],
    ["15:00", "Europe/Berlin", "2026-06-10T13:00:00.000Z"],
    ["13:30", "Europe/Berlin", "2026-06-11T11:30:00.000Z"],
    ["0:30", "Pacific/Auckland", "2026-06-10T12:30:00.000Z"],
    ["5:29", "Asia/Kolkata", "2026-06-10T23:59:00.000Z"],
    ["2026-12-01T10:00Z", "Europe/Berlin", "2026-12-01T10:00:00.000Z"],
    ["2026-12-01t10:00z", "Europe/Berlin", "2026-12-01T10:00:00.000Z"],
    ["2026-12-01T10:00+02:00", "UTC", "2026-12-01T08:00:00.000Z"],
    ["2026-12-01T10:00:30-0530", "UTC", "2026-12-01T15:30:30.000Z"],
    ["2026-12-01T10:00", "Europe/Berlin", "2026-12-01T09:00:00.000Z"],
    ["2026-12-01", "Europe/Berlin", "2026-11-30T23:00:00.000Z"],
    ["2028-02-29", "UTC", "2028-02-29T00:00:00.000Z"],
    // Spring and autumn change in Berlin: 02:30 is skipped, then repeated.
    ["2026-03-29T02:30", "Europe/Berlin", "2026-03-29T01:30:00.000Z"],
    ["2026-10-25T02:30", "Europe/Berlin", "2026-10-25T00:30:00.000Z"],
    ["2027-02-29", "UTC", null],
    ["2026-13-01", "UTC", null],
    ["24:00", "UTC", null],
    ["tomorrow", "UTC", null],
  ] as const)("%s in %s is %s", (at, timeZone, instant) => {
    expect(resolve(at, timeZone)).toBe(instant);
  });

  test("a duration counts from now", () => {
    const options = { now: noonUtc, timeZone: "UTC" };
    expect(resolveDeadline({ withinMs: 3 * dayMs }, options)).toBe(noonUtc + 3 * dayMs);
  });

  test("an ISO time is what the platform reads", () => {
    const range = { min: new Date("1600-01-01"), max: new Date("2400-01-01"), noInvalidDate: true };
    fc.assert(
      fc.property(fc.date(range), (date) => {
        const second = `${date.toISOString().slice(0, 19)}Z`;
        expect(resolve(second, "Asia/Tokyo")).toBe(new Date(second).toISOString());
      }),
    );
  });

  test("a clock time is the next one, at most a day and a clock change away", () => {
    const zone = fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe");
    const minute = fc.nat({ max: 24 * 60 - 1 });
    const instant = fc.integer({ min: 0, max: 4e12 });
    fc.assert(
      fc.property(zone, minute, instant, (timeZone, minute, now) => {
        const at = `${Math.floor(minute / 60)}:${String(minute % 60).padStart(2, "0")}`;
        const ahead = (resolveDeadline({ at }, { now, timeZone }) ?? now) - now;
        expect(ahead).toBeGreaterThan(0);
        expect(ahead).toBeLessThanOrEqual(dayMs + hourMs);
      }),
    );
  });
});

test.each([
  ["by", "20"],
  ["by", "20%"],
  ["by", "hand"],
  ["by", "3d"],
  ["by", "2026-01-01T`@ann`"],
  ["within", "15:00"],
  ["within", "reason"],
  ["within", "5"],
  ["until", "15:00"],
])("`%s %s` is no deadline but ordinary words", (first, second) => {
  expect(readDeadline(first, second)).toBeNull();
});
