// The answer to `help` (spec 1.4): generated from the command table, for one person. The same table and
// that of the reasons stand in docs/commands.md.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { helpNotice } from "../../../app/notices/help.ts";
import { isAtLeast } from "../../../policies/authority.ts";
import { commandTable } from "../../../policies/commands/commands.ts";
import { parseComment } from "../../../policies/commands/comment.ts";
import { reasonCodes, reasons } from "../../../policies/reasons.ts";

const forReaders = commandTable.filter(({ needs }) => isAtLeast("read", needs));

test("help shows form, effect and example of what a reader may use", () => {
  const status = commandTable.find(({ keyword }) => keyword === "status");
  expect(helpNotice(forReaders, [], "bot")).toContain(`| command | what it does | example |
| --- | --- | --- |
| \`@bot status [id]\` | ${status?.effect} | \`@bot status\` |
| \`@bot help\` |`);
});

test("help shows every form of this version to who may use them all, and no other", () => {
  const help = helpNotice(commandTable, [], "holdfast");
  for (const { form, inVersion } of commandTable) {
    expect(help.includes(`| \`@holdfast ${form}\` |`)).toBe(inVersion);
  }
});

test("help shows the tasks with their inputs, ready to copy", () => {
  const help = helpNotice(forReaders, [{ name: "rollout", inputs: ["TAG"] }], "holdfast");
  expect(help).toContain("Tasks of this repository:\n\n- `@holdfast run rollout TAG=…`\n");
});

test("help says so where nothing is permitted", () => {
  expect(helpNotice([], [], "holdfast")).toBe("There is no command that you may use here.");
});

describe("docs/commands.md", () => {
  const document = readFileSync(new URL("../../../docs/commands.md", import.meta.url), "utf8");
  const rows = document.split("\n").map((line) => line.replace(/ +/g, " ").trim());

  test.each(commandTable)("has the row of $form", ({ form, needs, who, effect, inVersion }) => {
    const later = inVersion ? "" : " (not in this version)";
    expect(rows).toContain(`| \`${form}\` | ${who ?? needs} | ${effect}${later} |`);
  });

  test.each(reasonCodes)("explains %s in the words of its notice", (code) => {
    const row = rows.find((line) => line.startsWith(`| \`${code}\` |`));
    expect(row).toContain(`| ${reasons[code].sentence} |`);
  });

  test("has examples that are commands", () => {
    const section = document.slice(document.indexOf("## Examples"));
    const examples = [...section.matchAll(/```\n([^`]*)```/g)].map(([, text]) => text ?? "");
    const names = examples.map((text) => {
      const { commands } = parseComment(text, { mention: "holdfast" });
      return commands.map(({ name }) => name);
    });
    expect(names).toEqual([["do"], ["run"], ["reply"], ["status", "stop", "extend"]]);
  });
});
