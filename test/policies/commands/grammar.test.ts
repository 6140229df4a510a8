// The rows of the command table of spec 1.4, and what is refused with which suggestion.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Level } from "../../../policies/authority.ts";
import {
  bothReadings,
  commandTable,
  keywordOf,
  nearKeywords,
} from "../../../policies/commands/commands.ts";
import { parseComment } from "../../../policies/commands/comment.ts";
import { dayMs, hourMs, minuteMs } from "../../../policies/durations.ts";

function parse(body: string) {
  return parseComment(body, { mention: "holdfast" });
}

const request = { explicit: false, grant: null, deadline: null };
const wait = { until: null, everyMs: 5 * minuteMs, forMs: 24 * hourMs, next: "roll it out" };

type Row = readonly [line: string, name: string, args: object, needs: Level];

const fitting: readonly Row[] = [
  ["fix the parser", "do", request, "write"],
  ["do fix the parser", "do", { ...request, explicit: true }, "write"],
  ["DO fix", "do", { ...request, explicit: true }, "write"],
  ["do grant=docs fix it", "do", { ...request, explicit: true, grant: "docs" }, "write"],
  ["fix it grant=docs", "do", { ...request, grant: "docs" }, "write"],
  ["fix by 15:00", "do", { ...request, deadline: { at: "15:00" } }, "write"],
  ["fix by 9:05.", "do", { ...request, deadline: { at: "9:05" } }, "write"],
  ["fix within 3d", "do", { ...request, deadline: { withinMs: 3 * dayMs } }, "write"],
  [
    "fix By 2026-12-01T10:00Z grant=x",
    "do",
    { ...request, grant: "x", deadline: { at: "2026-12-01T10:00Z" } },
    "write",
  ],
  ["reduce it by 20", "do", request, "write"],
  ["rename it by hand", "do", request, "write"],
  ["answer within reason", "do", request, "write"],
  ["make it 15:00", "do", request, "write"],
  ["set DEBUG=1 in the tests", "do", request, "write"],
  ["run rollout", "run", { task: "rollout", inputs: {}, deadline: null }, "write"],
  [
    "run rollout TAG=v1.2.3 note=\"two  words\" q='it is' within 1h30m",
    "run",
    {
      task: "rollout",
      inputs: { TAG: "v1.2.3", note: "two  words", q: "it is" },
      deadline: { withinMs: 90 * minuteMs },
    },
    "write",
  ],
  [
    "run rollout EMPTY=",
    "run",
    { task: "rollout", inputs: { EMPTY: "" }, deadline: null },
    "write",
  ],
  ["reply M-7K3F use port 80", "reply", { id: "m-7k3f" }, "write"],
  ["status", "status", { id: null }, "read"],
  ["Status m-7k3f", "status", { id: "m-7k3f" }, "read"],
  ["stop", "stop", { id: null }, "write"],
  ["stop m-7k3f", "stop", { id: "m-7k3f" }, "write"],
  ["pause", "pause", { id: null }, "write"],
  ["pause m-7k3f", "pause", { id: "m-7k3f" }, "write"],
  ["resume", "resume", { id: null }, "write"],
  ["retry m-7k3f", "retry", { id: "m-7k3f" }, "write"],
  ["continue m-7k3f", "continue", { id: "m-7k3f" }, "write"],
  ["extend m-7k3f 2d", "extend", { id: "m-7k3f", byMs: 2 * dayMs }, "maintain"],
  [
    "extend m-7k3f turns=80 cost=2.5",
    "extend",
    { id: "m-7k3f", ceilings: { turns: 80, cost: 2.5 } },
    "maintain",
  ],
  ["check m-7k3f", "check", { id: "m-7k3f" }, "write"],
  ["recover m-7k3f", "recover", { id: "m-7k3f" }, "maintain"],
  ["wait then roll it out", "wait", wait, "write"],
  ["wait for 3d roll it out", "wait", { ...wait, forMs: 3 * dayMs }, "write"],
  [
    "wait until release v2.* every 1h for 3d then roll it out",
    "wait",
    { ...wait, until: { kind: "release", pattern: "v2.*" }, everyMs: hourMs, forMs: 3 * dayMs },
    "write",
  ],
  ...(
    [
      ["tag v1", { kind: "tag", pattern: "v1" }],
      ["package left-pad 2.*", { kind: "package", name: "left-pad", pattern: "2.*" }],
      ["ci main", { kind: "ci", ref: "main" }],
      ["pr 12 merged", { kind: "pr", number: 12, state: "merged" }],
      ["issue #7 closed", { kind: "issue", number: 7 }],
      ["url https://a.example/x", { kind: "url", url: "https://a.example/x", pattern: null }],
      [
        "url https://a.example matches *ok*",
        { kind: "url", url: "https://a.example", pattern: "*ok*" },
      ],
    ] as const
  ).map(([words, until]): Row => [
    `wait until ${words} then roll it out`,
    "wait",
    { ...wait, until },
    "write",
  ]),
  ["review", "review", { extend: null }, "write"],
  [
    "review extend 20 it is agreed",
    "review",
    { extend: { rounds: 20, reason: "it is agreed" } },
    "admin",
  ],
  ["rebut f-3AB9 src/io.ts:40 closes it", "rebut", { finding: "F-3ab9" }, "write"],
  ["strategy", "strategy", { choice: null }, "admin"],
  [
    "strategy completion rules",
    "strategy",
    { choice: { kind: "completion", name: "rules" } },
    "admin",
  ],
  ["restart", "restart", {}, "admin"],
  ["reload", "restart", {}, "admin"],
  ["help", "help", {}, "read"],
];

describe("a command line that fits", () => {
  test.each(fitting)("%s", (line, ...[name, args, needs]) => {
    const { commands, errors } = parse(`@holdfast ${line}`);
    expect(errors).toEqual([]);
    expect(commands).toMatchObject([{ name, args, needs, line: 1 }]);
    expect(commands[0]?.args).toEqual(args);
  });

  test("every keyword of the table appears above, and every example fits its form", () => {
    const names = new Set(fitting.map(([, name]) => name));
    expect(commandTable.filter(({ keyword }) => !names.has(keyword))).toEqual([]);
    for (const { keyword, example, needs } of commandTable) {
      expect(parse(`@holdfast ${example}`).commands).toMatchObject([{ name: keyword, needs }]);
    }
  });
});

// Bare commands that miss an argument, and keywords that begin an ordinary sentence.
const misfits = [
  "run",
  "run the tests",
  "run it's tests",
  "run a b=1 2",
  "run a 1b=2",
  "run a __proto__=1",
  "run a --x.y=1",
  "run ../a",
  "reply",
  "reply m-7k3f",
  "reply to Ann that it works",
  "status of the build",
  "stop it",
  "stop m-7k",
  "stop m-7k3f m-8k3f",
  "pause for a day",
  "resume the work",
  "retry",
  "retry the upload",
  "continue",
  "continue with the second part",
  "check the links",
  "recover the lost file",
  "extend the parser",
  "extend m-7k3f",
  "extend m-7k3f turns=0",
  "extend m-7k3f turns=-1",
  "extend m-7k3f turns=2 turns=3",
  "extend m-7k3f model=big",
  "extend m-7k3f 2d turns=2",
  "wait",
  "wait then",
  "wait for the release then go",
  "wait until noon then go",
  "wait until pr 12 then go",
  "wait until url http://a.example then go",
  "wait 3d then go",
  "review the parser",
  "review extend 0 because",
  "review extend 21 because",
  "review extend 2",
  "rebut this",
  "rebut F-3ab9",
  "strategy of the team",
  "strategy completion",
  "restart the server",
  "help me",
] as const;

test.each(misfits)("`%s` starts nothing and is answered with both readings", (line) => {
  const { commands, errors } = parse(`@holdfast ${line}`);
  const keyword = keywordOf(line.split(" ")[0] ?? "");
  expect(commands).toEqual([]);
  expect(keyword).not.toBeNull();
  const suggestion = bothReadings(keyword ?? "help", "holdfast");
  expect(errors).toMatchObject([{ line: 1, suggestion }]);
});

const problems = [
  ["", "nothing follows the mention"],
  ["do", "does not fit"],
  ["do by 15:00", "does not fit"],
  ["do grant=docs", "does not fit"],
  ["by 15:00", "there is no request"],
  ["do model=big fix it", "`model=` is no argument"],
  ["model=big fix it", "`model=` is no argument"],
  ["do __proto__=1 fix it", "`__proto__=` is no argument"],
  ["do --x.y=1 fix it", "`x.y=` is no argument"],
  ["do grant=a grant=b fix it", "once"],
  ["do grant=a fix it grant=b", "once"],
  ["do grant=../b fix it", "one name"],
  ["fix it by 25:00", "`25:00` is no time"],
  ["fix it by 2026-02-30", "`2026-02-30` is no time"],
  ["fix it within 3d1d", "`3d1d` is no duration"],
  ["fix it by 15:00 within 3d", "more than one deadline"],
  ["run a B=1 B=2", "`B=` is given twice"],
  ["run a by 24:00", "`24:00` is no time"],
  ["wait for 8d then go", "at most 7d"],
] as const;

test.each(problems)("`%s` is refused: %s", (line, problem) => {
  const { commands, errors } = parse(`@holdfast ${line}`);
  expect(commands).toEqual([]);
  expect(errors).toHaveLength(1);
  expect(errors[0]?.problem).toContain(problem);
  expect(errors[0]?.suggestion).toContain("`@holdfast ");
});

describe("a word one slip away from a keyword", () => {
  test.each([
    ["stpo", "stop"],
    ["stopp", "stop"],
    ["sttop", "stop"],
    ["st0p", "stop"],
    ["stop!", "stop"],
    ["sto\u043F", "stop"],
    ["STAUS", "status"],
    ["satus", "status"],
    ["relod", "restart"],
    ["hepl", "help"],
    ["runs tests", "run"],
    ["repyl m-7k3f yes", "reply"],
    ["wiat for 3d then go", "wait"],
  ] as const)("`%s` is answered with both readings of %s", (line, keyword) => {
    const { commands, errors } = parse(`@holdfast ${line}`);
    expect(commands).toEqual([]);
    expect(errors).toMatchObject([{ suggestion: bothReadings(keyword, "holdfast") }]);
  });

  test.each([
    "stpo the bleeding", // the rest does not fit
    "chek the links",
    "want the tests to pass",
    "rum", // fewer than four letters
    "rnu tests",
    "sotp it now",
    "spot", // two slips
  ])("`%s` is a request", (line) => {
    expect(parse(`@holdfast ${line}`).commands).toMatchObject([{ name: "do", text: line }]);
  });

  test("is found for each slip and for no second one", () => {
    const keywords = commandTable.map(({ keyword }) => keyword).filter(({ length }) => length > 4);
    fc.assert(
      fc.property(fc.constantFrom(...keywords), fc.nat(), (keyword, seed) => {
        const at = seed % (keyword.length - 1);
        const [head, tail] = [keyword.slice(0, at), keyword.slice(at)];
        const exchanged = `${head}${tail[1]}${tail[0]}${tail.slice(2)}`;
        const slips = [`${head}_${tail}`, `${head}_${tail.slice(1)}`, head + tail.slice(1)];
        for (const slip of slips) expect(nearKeywords(slip)).toContain(keyword);
        if (tail[0] !== tail[1]) expect(nearKeywords(exchanged)).toContain(keyword);
        expect(nearKeywords(`_${keyword}_`)).not.toContain(keyword);
        expect(nearKeywords(keyword)).not.toContain(keyword);
      }),
    );
  });
});

test("keywords are ASCII: letters that only fold to ASCII spell none", () => {
  expect(keywordOf("StOp")).toBe("stop");
  expect(keywordOf("\u017Ftop")).toBeNull();
  expect(keywordOf("chec\u212A")).toBeNull();
  expect(keywordOf("constructor")).toBeNull();
});

test("the commands of later issues are marked", () => {
  const later = commandTable.filter(({ inVersion }) => !inVersion).map(({ keyword }) => keyword);
  expect([...new Set(later)]).toEqual(["wait", "review", "rebut", "strategy", "restart"]);
});
