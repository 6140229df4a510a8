// Invisible, bidirectional and tag characters (spec 1.4), over all of Unicode.
import { describe, expect, test } from "vitest";
import { parseComment } from "../../../policies/commands/comment.ts";
import { refusedCodePoint, strip, visible } from "../../../policies/commands/invisible.ts";

function codePoints(pattern: RegExp): string[] {
  const all = Array.from({ length: 0x11_0000 }, (_, point) => String.fromCodePoint(point));
  return all.filter((character) => pattern.test(character));
}

const formats = codePoints(/\p{Cf}/u);
const spaces = codePoints(/\p{Zs}/u).filter((character) => character !== " ");
const lineEnds = new Set(["\t", "\n", "\r"]);

function parse(body: string) {
  return parseComment(body, { mention: "holdfast" });
}

test("every format, tag, selector and control character is refused by its code point", () => {
  const others = codePoints(/\p{Cc}|\p{Variation_Selector}|\p{Bidi_Control}/u);
  const hidden = [...formats, ...others].filter((character) => !lineEnds.has(character));
  expect(hidden.length).toBeGreaterThan(400);
  for (const character of hidden) {
    const name = `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}`;
    expect(refusedCodePoint(`a${character}b`)).toBe(name);
    expect(visible(`a${character}b`)).toBe("ab");
    expect(strip(`a${character}b`, 3)).toMatchObject({ text: "ab" });
    expect(strip(`a${character}b`, 3).note).toContain(name);
  }
});

test("no format character or odd space hides in keyword, id or argument", () => {
  for (const hidden of [...formats, ...spaces]) {
    for (const line of [
      `st${hidden}op`,
      `stop${hidden} m-7k3f`,
      `stop m-7k${hidden}3f`,
      `run roll${hidden}out`,
      `run rollout TAG=v${hidden}1`,
      `reply m-7k3f${hidden} yes`,
      `do grant=a${hidden}b fix it`,
      `fix it by${hidden} 15:00`,
    ]) {
      const { commands, errors } = parse(`@holdfast ${line}`);
      expect(commands).toEqual([]);
      expect(errors[0]?.problem).toContain(refusedCodePoint(hidden));
    }
  }
});

test("right behind the mention it is named, right behind the `@` it makes no mention", () => {
  for (const hidden of [...formats, ...spaces]) {
    expect(parse(`@holdfast${hidden}stop`).errors[0]?.problem).toContain(refusedCodePoint(hidden));
    expect(parse(`@${hidden}holdfast stop`)).toMatchObject({ commands: [], errors: [] });
  }
});

describe("in the text of a request", () => {
  test("hidden characters are left out and reported", () => {
    const { commands, notes } = parse("@holdfast do fix\u200B the\u202E\nname\u{E0061}");
    expect(commands).toMatchObject([{ name: "do", text: "fix the\nname" }]);
    expect(notes).toHaveLength(1);
    expect(notes[0]).toMatch(/3 invisible characters \(U\+200B, U\+202E, U\+E0061\).* line 1/);
  });

  test("and so they are in a reply and in a mention inside a line", () => {
    const reply = parse("@holdfast reply m-7k3f ye\u200Bs");
    expect(reply.commands).toMatchObject([{ text: "yes" }]);
    expect(reply.notes).toHaveLength(1);
    const mention = parse("thanks @holdfast, ye\u200Bs");
    expect(mention).toMatchObject({ mention: "thanks @holdfast, yes" });
    expect(mention.notes).toHaveLength(1);
  });

  test("ordinary emoji, odd spaces and accents stay", () => {
    const text = "corrige \u2764\uFE0F 1\uFE0F\u20E3 l\u2019accent\u00A0! e\u0301";
    const { commands, notes } = parse(`@holdfast ${text}`);
    expect(commands).toMatchObject([{ name: "do", text }]);
    expect(notes).toEqual([]);
  });

  test("a text of hidden characters alone is no request", () => {
    expect(parse("@holdfast do \u200B").commands).toEqual([]);
    expect(parse("@holdfast\n\u200B").commands).toEqual([]);
  });
});
