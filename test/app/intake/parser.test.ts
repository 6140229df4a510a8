// The parser's time limit (spec 1.4, 8.5): hostile comments get an answer in time and block nobody.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { afterAll, describe, expect, test } from "vitest";
import type { Parsing } from "../../../app/intake/parser.ts";
import { openParser, parseWallMsLimit } from "../../../app/intake/parser.ts";

const parser = openParser();
afterAll(() => parser.close());

function parse(body: string): Promise<Parsing> {
  return parser.parse(body, { mention: "holdfast" });
}

function filled(pattern: string, kilobytes: number): string {
  return pattern.repeat(Math.ceil((kilobytes * 1024) / pattern.length));
}

/** Sixteen seconds of parsing without a limit; no rule of ours makes it shallow. */
const endless = filled("a\n=\n", 16);

const patterns = [
  "*a_",
  "> - ",
  ">",
  "1. ",
  "> 1. - ",
  "a\n=\n",
  "- a\n",
  `${"- ".repeat(30)}a\n`,
  `${"> - ".repeat(15)}a\n`,
  "[",
  "![",
  "[a](",
  "[a]: b\n",
  "`a``b",
  "<a ",
  "<!-- ",
  "&amp;",
  "\\*",
  "@holdfast ",
  "@holdfast do x\n",
  "\n",
  "\r\n",
  "\t",
  " ",
  "\0",
  "\u200B",
  "=",
  ".",
  "\"'",
] as const;

test("a comment's commands come back as data", async () => {
  const parsing = await parse("@holdfast stop\n@holdfast do fix it by 15:00");
  expect(parsing).toMatchObject({
    ok: true,
    comment: { commands: [{ name: "stop" }, { name: "do", args: { deadline: { at: "15:00" } } }] },
  });
});

describe("hostile comments of 1, 16 and 64 KB", () => {
  test.each(patterns)("%j is parsed or refused in time", async (pattern) => {
    for (const kilobytes of [1, 16, 64]) {
      // The answer to a harmless comment shows that a thread stands ready.
      await parse("@holdfast help");
      const startedAt = performance.now();
      const parsing = await parse(`@holdfast fix\n\n${filled(pattern, kilobytes)}`);
      const tookMs = performance.now() - startedAt;
      expect(tookMs).toBeLessThan(2 * parseWallMsLimit);
      if (!parsing.ok) expect(parsing.problem).toBe("unreadable");
    }
  });

  test("what takes too long is refused, and the next comment is read by a new thread", async () => {
    const parsings = await Promise.all([parse(endless), parse("@holdfast stop"), parse(endless)]);
    expect(parsings).toMatchObject([
      { ok: false, problem: "unreadable" },
      { ok: true, comment: { commands: [{ name: "stop" }] } },
      { ok: false, problem: "unreadable" },
    ]);
    expect(await parse("@holdfast help")).toMatchObject({ ok: true });
  });

  test("the caller's event loop goes on while a thread is busy", async () => {
    await parse("@holdfast help");
    let ticks = 0;
    const timer = setInterval(() => (ticks += 1), 1);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    await parse(endless);
    delay.disable();
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(10);
    expect(delay.percentile(50) / 1e6).toBeLessThan(20);
  });
});

test("a closed parser rejects", async () => {
  const closing = openParser();
  await closing.close();
  await expect(closing.parse("@holdfast stop", { mention: "holdfast" })).rejects.toThrow("closed");
});
