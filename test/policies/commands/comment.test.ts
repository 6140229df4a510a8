// Where in a comment a command may stand (spec 1.4), how far its text goes, and that all run or none.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { mayHoldCommand, parseComment } from "../../../policies/commands/comment.ts";
import { paragraphLines } from "../../../policies/commands/markdown.ts";

function parse(body: string, mention = "holdfast") {
  return parseComment(body, { mention });
}

function namesIn(body: string): string[] {
  return parse(body).commands.map(({ name }) => name);
}

const commanding: readonly (readonly [why: string, body: string, names: readonly string[]])[] = [
  ["the mention begins the comment", "@holdfast stop", ["stop"]],
  ["the slash form begins it", "/holdfast stop", ["stop"]],
  ["logins know no case", "@HoldFast stop", ["stop"]],
  ["a comma or colon follows the mention", "@holdfast: stop\n@holdfast, pause", ["stop", "pause"]],
  ["a later line of a paragraph", "Enough.\n@holdfast stop", ["stop"]],
  ["up to three spaces before it", "   @holdfast stop", ["stop"]],
  ["a continuation line, however indented", "Enough.\n      @holdfast stop", ["stop"]],
  ["tabs between the words", "@holdfast\tstop\tm-7k3f\t", ["stop"]],
  ["Windows line ends", "Enough.\r\n@holdfast stop\r\n@holdfast pause\r\n", ["stop", "pause"]],
  ["old Mac line ends", "Enough.\r@holdfast stop\r@holdfast pause", ["stop", "pause"]],
  ["a byte order mark", "\uFEFF@holdfast stop", ["stop"]],
  ["a NUL elsewhere", "a\0b\n\n@holdfast stop", ["stop"]],
  ["after a hard break", "Enough.  \n@holdfast stop\\\n@holdfast pause m-7k3f", []],
  ["after two spaces at the line's end", "Enough.  \n  @holdfast stop", ["stop"]],
  ["after a quote and an empty line", "> quoted\n\n@holdfast stop", ["stop"]],
  ["after a list and an empty line", "- point\n\n@holdfast stop", ["stop"]],
  ["after a closed fence", "```\ncode\n```\n@holdfast stop", ["stop"]],
  ["after a heading", "# Title\n@holdfast stop", ["stop"]],
  ["after a rule", "***\n@holdfast stop", ["stop"]],
  ["after a long rule", `${"- ".repeat(40)}\n@holdfast stop`, ["stop"]],
  ["after a reference definition", "[a]: /url\n@holdfast stop", ["stop"]],
  ["after a comment of one line", "<!-- hidden -->\n@holdfast stop", ["stop"]],
  ["inside details, as a paragraph", "<details>\n\n@holdfast stop\n\n</details>", ["stop"]],
  ["emphasis that never closes", "*a_*_a\n@holdfast stop", ["stop"]],
  ["several in one paragraph", "@holdfast stop\n@holdfast pause", ["stop", "pause"]],
  ["prose with pipes is no table", "a | b\n@holdfast stop", ["stop"]],
];

test.each(commanding)("a command: %s", (_why, body, names) => {
  expect(namesIn(body)).toEqual(names);
});

const silent: readonly (readonly [why: string, body: string])[] = [
  ["a longer name", "@holdfastx stop"],
  ["a longer name with a dash", "@holdfast-x stop"],
  ["a longer slash name", "/holdfastx stop"],
  ["a path", "/holdfast/stop"],
  ["a slash form inside a line", "see /holdfast stop"],
  ["an address", "me@holdfast stop"],
  ["a team", "@holdfast/team stop"],
  ["a domain", "@holdfast.example stop"],
  ["an escaped mention", "\\@holdfast stop"],
  ["a character reference", "&#64;holdfast stop"],
  ["an emphasised mention", "**@holdfast** stop"],
  ["a fence", "```\n@holdfast stop\n```"],
  ["a tilde fence", "~~~\n@holdfast stop\n~~~"],
  ["a fence that never closes", "```\n\n@holdfast stop"],
  ["a longer fence around a shorter", "````\n```\n@holdfast stop\n```\n````"],
  ["indented code", "    @holdfast stop"],
  ["code indented by a tab", "\t@holdfast stop"],
  ["inline code", "`@holdfast stop`"],
  ["inline code over several lines", "`a\n@holdfast stop\nb`"],
  ["a quote", "> @holdfast stop"],
  ["a lazy line of a quote", "> quoted\n@holdfast stop"],
  ["a nested quote", "> > a\n> @holdfast stop"],
  ["an alert", "> [!NOTE]\n> @holdfast stop"],
  ["a list", "- @holdfast stop"],
  ["a numbered list", "1. @holdfast stop"],
  ["a task list", "- [ ] @holdfast stop"],
  ["a lazy line of a list", "- point\n@holdfast stop"],
  ["a paragraph of a list", "- point\n\n  @holdfast stop"],
  ["a lazy line below more than 32 quote marks", `${">".repeat(33)} a\n@holdfast stop`],
  ["a paragraph below more than 32 list marks", `${"* - ".repeat(17)}a\n\n  @holdfast stop`],
  ["a heading", "# @holdfast stop"],
  ["an underlined heading", "@holdfast stop\n==="],
  ["an underlined heading of two lines", "a\n@holdfast stop\n---"],
  ["the head of a table", "@holdfast stop | b\n--- | ---"],
  ["the body of a table", "a | b\n--- | ---\n@holdfast stop | c\n@holdfast stop"],
  ["a table in pipes", "| a |\n|---|\n| @holdfast stop |"],
  ["a footnote", "[^1]: a note\n@holdfast stop"],
  ["a link", "[@holdfast stop](/a)"],
  ["a link over several lines", "[a\n@holdfast stop\nb](/a)"],
  ["an image over several lines", "![a\n@holdfast stop\nb](/a)"],
  ["a reference over several lines", "[a\n@holdfast stop][b]\n\n[b]: /a"],
  ["a definition's title", '[a]: /b "c\n@holdfast stop"'],
  ["an HTML comment", "<!--\n\n@holdfast stop\n\n-->"],
  ["an HTML comment inside a paragraph", "a <!--\n@holdfast stop\n-->"],
  ["an HTML block", "<div>\n@holdfast stop\n</div>"],
  ["an attribute over several lines", 'a <a title="\n@holdfast stop\n">b</a>'],
  ["details without an empty line", "<details>\n@holdfast stop\n</details>"],
];

test.each(silent)("no command: %s", (_why, body) => {
  expect(parse(body)).toMatchObject({ commands: [], errors: [] });
});

describe("the text of a request", () => {
  test("runs on over paragraphs and code, exactly as written, to the end", () => {
    const text = "fix it:\r\n\r\n```js\r\n@holdfast stop\r\n```\r\n> quote\r\n\r\n- point";
    expect(parse(`@holdfast do ${text}\r\n`).commands).toMatchObject([{ name: "do", text }]);
  });

  test("ends at the next command line, which knows its own line", () => {
    const body = "@holdfast first\nmore\n\n@holdfast do second\nmore\n\n@holdfast stop\nignored";
    expect(parse(body).commands).toMatchObject([
      { name: "do", text: "first\nmore", line: 1 },
      { name: "do", text: "second\nmore", line: 4 },
      { name: "stop", text: "stop", line: 7 },
    ]);
  });

  test("may begin on the line below", () => {
    expect(parse("@holdfast\nfix it").commands).toMatchObject([{ text: "fix it", line: 1 }]);
    expect(parse("@holdfast do\n\nfix it").commands).toMatchObject([{ text: "fix it" }]);
    expect(parse("@holdfast reply m-7k3f\nyes").commands).toMatchObject([
      { name: "reply", text: "yes" },
    ]);
    expect(parse("@holdfast rebut F-3ab9\n\n    a.ts:4").commands).toMatchObject([
      { name: "rebut", text: "a.ts:4" },
    ]);
  });

  test("keeps lines that were skipped as too deep", () => {
    const deep = `${"> ".repeat(100)}a`;
    const body = `@holdfast fix\n\n${deep}\n\n@holdfast stop`;
    expect(parse(body).commands).toMatchObject([{ text: `fix\n\n${deep}` }, { line: 5 }]);
  });

  test("round-trips whatever prose it holds", () => {
    const word = fc.stringMatching(/^[a-z\u00E4-\u00FC\u4E00-\u4EFF`*_#|]{1,12}$/);
    const line = fc.array(word, { maxLength: 6 }).map((words) => words.join(" "));
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), fc.constantFrom("\n", "\r\n"), (rows, end) => {
        const text = ["please", ...rows].join(end).trim();
        expect(parse(`@holdfast do ${text}`).commands).toMatchObject([{ text }]);
      }),
    );
  });
});

describe("a mention inside a line", () => {
  test.each([
    "yes @holdfast, use port 80",
    "Ann:\nyes, @holdfast",
    "@holdfast's idea is right",
    "(@HOLDFAST)",
  ])("%j may be an answer", (body) => {
    expect(parse(body)).toMatchObject({ commands: [], errors: [], mention: body });
  });

  test.each([
    "`@holdfast`",
    "> @holdfast yes",
    "[@holdfast](/a)",
    "me@holdfast.example",
    "cc @holdfastx",
    "@holdfast/team",
    "yes @holdfast\n\n@holdfast stop",
    "yes @holdfast\n\n@holdfast stop it",
  ])("%j is none", (body) => {
    expect(parse(body).mention).toBeNull();
  });
});

describe("limits", () => {
  function stops(count: number): string {
    return "@holdfast stop\n".repeat(count);
  }

  test("ten commands run, of eleven none does", () => {
    expect(parse(stops(10)).commands).toHaveLength(10);
    const { commands, errors } = parse(stops(11));
    expect(commands).toEqual([]);
    expect(errors).toMatchObject([{ line: 11 }]);
  });

  test("one wrong line and none runs, each wrong line is named", () => {
    const { commands, errors } = parse("@holdfast stop\n@holdfast stop it\n\n@holdfast run");
    expect(commands).toEqual([]);
    expect(errors.map(({ line }) => line)).toEqual([2, 4]);
  });

  test("the last text runs on beyond 16 KB, a command there is only hinted at", () => {
    const text = `fix\n\n${"long ".repeat(4000)}\n\n@holdfast stop`;
    const { commands, notes } = parse(`@holdfast do ${text}`);
    expect(commands).toMatchObject([{ name: "do", text }]);
    expect(notes).toHaveLength(1);
    expect(notes[0]).toContain("line 5");
    expect(notes[0]).toContain("new comment");
  });

  test.each([
    { where: "ends within", start: 16_384 - 11, names: ["stop"], hints: 0 },
    { where: "lies across", start: 16_384 - 5, names: [], hints: 1 },
    { where: "begins at", start: 16_384, names: [], hints: 1 },
  ])("a mention that $where the 16 KB", ({ start, names, hints }) => {
    const { commands, notes } = parse(`${"a".repeat(start - 2)}\n\n@holdfast stop`);
    expect(commands.map(({ name }) => name)).toEqual(names);
    expect(notes).toHaveLength(hints);
  });

  test("a longer name that is cut to the mention at 16 KB is none", () => {
    const body = `${"a".repeat(16_384 - 11)}\n\n@holdfastx stop`;
    expect(parse(body)).toMatchObject({ commands: [], errors: [], notes: [] });
  });

  test("16 KB are bytes, not characters", () => {
    expect(parse(`${"\u4E2D".repeat(6000)}\n\n@holdfast stop`).notes).toHaveLength(1);
    expect(namesIn(`${"\u4E2D".repeat(5000)}\n\n@holdfast stop`)).toEqual(["stop"]);
  });

  test("marks beyond 32 on a line are cut, rules and prose are not", () => {
    expect(paragraphLines(`${">".repeat(10_000)}\n\na`).map(({ index }) => index)).toEqual([2]);
    expect(paragraphLines("1. ".repeat(5000))).toEqual([]);
    expect(paragraphLines("-".repeat(100))).toEqual([]);
    expect(paragraphLines("1.5 > 1 - 2\n>>> a")[0]?.prose).toBe("1.5 > 1 - 2");
  });
});

describe("the mention is configurable", () => {
  test("another slug commands, with or without the @ in settings", () => {
    expect(parse("@acme-bot stop", "acme-bot").commands).toHaveLength(1);
    expect(parse("@acme-bot stop", "@acme-bot").commands).toHaveLength(1);
    expect(parse("/holdfast stop", "acme-bot").commands).toHaveLength(1);
    expect(parse("@holdfast stop", "acme-bot").commands).toHaveLength(0);
    expect(parse("@acmeXbot stop", "acme.bot").commands).toHaveLength(0);
  });
});

const fragment = fc.oneof(
  fc.constantFrom(
    "@holdfast",
    "/holdfast",
    " ",
    "\n",
    "\r\n",
    "\n\n",
    "\t",
    "    ",
    "\0",
    "\uFEFF",
  ),
  fc.constantFrom(">", "- ", "1. ", "```", "`", "[", "](", "]: ", "<!--", "-->", "<a ", "|", "---"),
  fc.constantFrom("do", "run a", "stop", "reply m-7k3f", "by 15:00", "grant=a", 'K="', "\u200B"),
  fc.string({ unit: "binary", maxLength: 8 }),
);
const hostile = fc.array(fragment, { maxLength: 60 }).map((parts) => parts.join(""));

describe("whatever a comment holds", () => {
  test("parsing never throws, and gives commands or errors, never both", () => {
    fc.assert(
      fc.property(hostile, (body) => {
        const { commands, errors, mention } = parse(body);
        expect(Math.min(commands.length, errors.length)).toBe(0);
        if (commands.length + errors.length > 0) expect(mention).toBeNull();
      }),
      { numRuns: 1000 },
    );
  });

  test("the cheap check never says no where parsing finds something", () => {
    fc.assert(
      fc.property(hostile, (body) => {
        const { commands, errors, mention, notes } = parse(body);
        const isSilent = commands.length + errors.length + notes.length === 0 && mention === null;
        expect(mayHoldCommand(body, "holdfast") || isSilent).toBe(true);
      }),
      { numRuns: 1000 },
    );
    expect(mayHoldCommand("nothing for @holdfastx here, see a/holdfast", "holdfast")).toBe(false);
  });

  test("a notice that quotes it or shows it as code commands nothing", () => {
    fc.assert(
      fc.property(hostile, (body) => {
        const lines = body.split(/\r\n|\r|\n/);
        const quoted = lines.map((line) => `> ${line}`).join("\n");
        const listed = `- a\n${lines.map((line) => `  ${line}`).join("\n")}`;
        const fence = "`".repeat(
          Math.max(3, ...(body.match(/`+/g) ?? []).map((ticks) => ticks.length + 1)),
        );
        expect(parse(quoted)).toMatchObject({ commands: [], errors: [], mention: null });
        expect(parse(`${fence}\n${body}\n${fence}`)).toMatchObject({ commands: [], errors: [] });
        expect(parse(listed).errors.concat()).toEqual([]);
        expect(parse(listed).commands).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  test("what an error suggests is no command when it is posted", () => {
    for (const line of [
      "stop it",
      "",
      "run the tests",
      "stpo",
      "model=x y",
      "st\u200Bop",
      "a by 2026-1-1T1",
    ]) {
      const [error] = parse(`@holdfast ${line}`).errors;
      expect(parse(`${error?.problem}\n${error?.suggestion}`)).toMatchObject({
        commands: [],
        errors: [],
        mention: null,
      });
    }
  });
});
