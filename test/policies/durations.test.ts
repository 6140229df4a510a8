// Durations as people write them (spec 1.4).
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  dayMs,
  formatDuration,
  formatInstant,
  hourMs,
  minuteMs,
  parseDuration,
  secondMs,
} from "../../policies/durations.ts";

const written: readonly [string, number][] = [
  ["90s", 90 * secondMs],
  ["30m", 30 * minuteMs],
  ["6h", 6 * hourMs],
  ["3d", 3 * dayMs],
  ["1h30m", 90 * minuteMs],
  ["1d2h3m4s", dayMs + 2 * hourMs + 3 * minuteMs + 4 * secondMs],
  [" 5m ", 5 * minuteMs],
  ["007s", 7 * secondMs],
];

const wrong = ["", " ", "0s", "0d0h", "5", "m", "1.5h", "-5m", "+5m", "5 m", "1m1h", "1m1m", "1w"];
const strange = ["5M", "٣m", "5m\u200B", "9999999s", "5ms", "1e3s", "5m;6m"];

describe("a duration", () => {
  test.each(written)("%j is read exactly", (text, durationMs) => {
    expect(parseDuration(text)).toBe(durationMs);
  });

  test.each([...wrong, ...strange])("%j is none", (text) => {
    expect(parseDuration(text)).toBeNull();
  });

  test("what is written is read back, whatever it is", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 999_999 * 60 }), (seconds) => {
        expect(parseDuration(formatDuration(seconds * secondMs))).toBe(seconds * secondMs);
      }),
    );
  });

  test.each([
    [0, "0s"],
    [-5, "0s"],
    [1, "1s"],
    [secondMs, "1s"],
    [secondMs + 1, "2s"],
    [90 * minuteMs, "1h30m"],
    [dayMs, "1d"],
  ])("%i ms is written %s: never shorter than it is", (durationMs, text) => {
    expect(formatDuration(durationMs)).toBe(text);
  });
});

test("an instant is written in UTC, in whole seconds that have begun", () => {
  expect(formatInstant(Date.UTC(2026, 11, 1, 10, 0, 0, 999))).toBe("2026-12-01T10:00:00Z");
});
