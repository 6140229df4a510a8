// Text from outside (spec 1.6): what a forge makes of it is read back from the Markdown tree.
import { array, assert as check, constantFrom, oneof, property } from "fast-check";
import { fromMarkdown } from "mdast-util-from-markdown";
import { describe, expect, test } from "vitest";
import {
  code,
  fence,
  link,
  plain,
  quote,
  split,
  titleOf,
} from "../../../app/notices/neutralise.ts";
import { parseComment } from "../../../policies/commands/comment.ts";
import { hostileTexts } from "./example.ts";

interface Node {
  readonly type: string;
  readonly value?: string;
  readonly children?: readonly Node[];
}

function nodesOf(markdown: string): Node[] {
  return withDescendants(fromMarkdown(markdown));
}

function withDescendants(node: Node): Node[] {
  return [node, ...(node.children ?? []).flatMap(withDescendants)];
}

const harmful = ["html", "link", "linkReference", "definition", "image", "imageReference"];

function harmIn(markdown: string): string[] {
  const nodes = nodesOf(markdown);
  const parsed = parseComment(markdown, { mention: "holdfast" });
  return [
    ...nodes.filter(({ type }) => harmful.includes(type)).map(({ type }) => type),
    ...nodes
      .filter(({ type, value }) => type === "text" && /@[A-Za-z0-9]/.test(value ?? ""))
      .map(({ value }) => `rings: ${value}`),
    ...(parsed.commands.length + parsed.errors.length > 0 ? ["command"] : []),
    ...(parsed.mention === null ? [] : ["mention"]),
  ];
}

const pieces = constantFrom(
  ..."@ @holdfast /holdfast stop @bob ` `` ``` ~~~ < <b> <!-- --> & &#64; &#117; [ ] ( ) ! [a](b) > - 1. # | * _ \\ $ a =".split(
    " ",
  ),
  " ",
  "    ",
  "\t",
  "\n",
  "\n\n",
  "\r",
  "\u200B",
  "\u202E",
  "\uD800",
  "😀",
);
const hostile = oneof(
  array(pieces, { maxLength: 30 }).map((parts) => parts.join("")),
  constantFrom(...hostileTexts),
);

describe("text from outside", () => {
  test("the hostile examples do harm when they are repeated as they are", () => {
    const harmless = hostileTexts.filter((text) => harmIn(text).length === 0);
    expect(harmless.length).toBeLessThan(hostileTexts.length / 2);
  });

  test("as one line it rings for nobody, commands nobody and links nowhere", () => {
    check(
      property(hostile, (text) => {
        const line = plain(text, 500);
        expect(line).not.toMatch(/[\n\r]/);
        for (const place of [line, `- ${line}`, `Asked: ${line}`])
          expect(harmIn(place)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  test("as a quote it stays one block quote without harm", () => {
    check(
      property(hostile, (text) => {
        const quoted = quote(text);
        expect(harmIn(quoted)).toEqual([]);
        expect(harmIn(`before\n\n${quoted}\n\nafter`)).toEqual([]);
        const blocks = fromMarkdown(quoted).children.map(({ type }) => type);
        expect(blocks).toEqual(quoted === "" ? [] : ["blockquote"]);
      }),
      { numRuns: 500 },
    );
  });

  test("as a code block or inline code it is exactly one", () => {
    check(
      property(hostile, (text) => {
        const block = fromMarkdown(`before\n\n${fence(text)}\n\nafter`).children;
        expect(block.map(({ type }) => type)).toEqual(["paragraph", "code", "paragraph"]);
        const inline = code(text);
        const types = nodesOf(`a ${inline} b`).map(({ type }) => type);
        const words = inline === "" ? ["text"] : ["text", "inlineCode", "text"];
        expect(types).toEqual(["root", "paragraph", ...words]);
      }),
    );
  });

  test("as a link it has one target, the given one", () => {
    check(
      property(hostile, (text) => {
        const nodes = nodesOf(link(text, "https://forge.example/o/r/issues/1"));
        const links = nodes.filter(({ type }) => harmful.includes(type));
        expect(links).toMatchObject([{ type: "link", url: "https://forge.example/o/r/issues/1" }]);
      }),
    );
  });

  test("hidden and bidirectional characters are removed", () => {
    for (const show of [plain, quote, fence, code, (text: string) => titleOf(text, 50)]) {
      expect(show("a\u202Eb\u{E0041}c\u0000d\u200De")).toContain("abcde");
    }
  });
});

describe.each([
  ["words are kept", plain("fix the parser, it fails"), "fix the parser, it fails"],
  ["snake_case stays readable", plain("read my_file_name"), "read my_file_name"],
  ["a backtick opens no code", plain("a`b"), "a\\`b"],
  ["a mention is silenced", plain("ask @bob"), "ask @\u200Bbob"],
  ["lines become one", plain("a\r\nb\n\nc"), "a b c"],
  ["a cut is stated", plain("abcdef", 3), "abc… (cut to 3 characters)"],
  ["half a character is not left", plain("😀😀😀", 2), "😀😀… (cut to 2 characters)"],
  ["HTML is shown as written", plain("<b>x</b>"), "\\<b>x\\</b>"],
  ["a list stays a list", quote("- a\n- b"), "> - a\n> - b"],
  ["paragraphs stay apart", quote("a\n\nb\n"), "> a\n>\n> b"],
  ["code keeps its text", quote("```ts\nf<T>(@x)\n```"), "> ```\n> f<T>(@x)\n> ```"],
  ["inline code keeps its text", quote("see `@types/node`"), "> see `@types/node`"],
  ["a link shows where it leads", quote("[a](https://x.y)"), "> \\[a](https://x.y)"],
  ["a command of another bot is no line start", quote("/approve"), "> \\/approve"],
  ["a cut quote says so", quote("abcdef", 3), "> abc\n>\n> *(cut to 3 characters)*"],
  ["nothing is quoted as nothing", quote(" \n "), ""],
  ["a fence is longer than what it holds", fence("````"), "`````\n````\n`````"],
  ["backticks in code are held", code("a`b"), "``a`b``"],
  ["an address of a script is no link", link("x", "javascript:alert(1)"), "x"],
  ["an address of nobody is no link", link("x", "//evil.example"), "x"],
  ["a page of ours is a link", link("x", "/m/m-7k3f"), "[x](/m/m-7k3f)"],
  ["a parenthesis does not end a link", link("x", "https://a.b/(c)"), "[x](https://a.b/%28c%29)"],
  ["a title is cut without a note", titleOf("abcdef", 4), "abc…"],
])("%s", (_, shown, expected) => {
  test("exactly", () => {
    expect(shown).toBe(expected);
  });
});

describe("a comment over the forge's limit", () => {
  const limit = 20_000;

  test("is cut between lines, and an open code block goes on in the next part", () => {
    const lines = Array.from({ length: 3_000 }, (_, index) => `line ${index}`);
    const parts = split(`before\n\n${fence(lines.join("\n"))}\n\nafter`, limit);
    expect(parts.length).toBe(2);
    const texts = parts.flatMap((part) => nodesOf(part).flatMap(({ value }) => value ?? []));
    expect(texts.join("\n")).toBe(["before", ...lines, "after"].join("\n"));
    for (const part of parts) {
      const [last] = fromMarkdown(`${part}\n\nmore`).children.slice(-1);
      expect(last?.type).toBe("paragraph");
    }
  });

  test("stays whole within the limit", () => {
    expect(split("short", limit)).toEqual(["short"]);
  });

  test("has no part that is too long or does harm", () => {
    check(
      property(array(hostile, { minLength: 1, maxLength: 12 }), (texts) => {
        const comment = `${texts.map((text) => quote(text)).join("\n\nand\n\n")}\n\nand\n\n`;
        // One more than the limit needs: the line ends that close a comment are no content and are trimmed.
        const long = comment.repeat(Math.ceil((limit + 1) / comment.length) + 1);
        const parts = split(long, limit);
        expect(parts.length).toBeGreaterThan(1);
        for (const part of parts) {
          expect(part.length).toBeLessThanOrEqual(limit);
          expect(harmIn(part)).toEqual([]);
        }
      }),
      { numRuns: 20 },
    );
  });

  test.each(["@bob ", "`<b>", "/holdfast stop "])(
    "repeats a line of only %s harmlessly",
    (piece) => {
      for (const part of split(quote(piece.repeat(9_000), 30_000), limit)) {
        expect(part.length).toBeLessThanOrEqual(limit);
        expect(harmIn(part)).toEqual([]);
      }
    },
  );

  test("holds fences as long as a quote may be", () => {
    const block = quote(`~~~\n${"`".repeat(3_900)}\n${"x\n".repeat(20)}~~~`);
    const parts = split(`${block}\n\n${block}\n\n${block}`, limit);
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.flatMap(harmIn)).toEqual([]);
    expect(Math.max(...parts.map(({ length }) => length))).toBeLessThanOrEqual(limit);
  });
});
