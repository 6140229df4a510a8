// The answer to `help` (spec 1.4): generated from the command table, for one person.
import { expect, test } from "vitest";
import { helpNotice } from "../../../app/notices/help.ts";
import { isAtLeast } from "../../../policies/authority.ts";
import { commandTable } from "../../../policies/commands/commands.ts";

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
