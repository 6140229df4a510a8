// Work that is lost before it was saved (spec 1.1, 2.1): a step's files never vanish behind a "done", and a link that a
// step leaves in place of its checkout lets nothing else out.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeRepository } from "../fakes/repository.ts";
import { openSpine } from "../fakes/spine.ts";

const policy = `
tasks:
  vanish:
    steps:
      - run: echo work > work.txt; rm -rf "$PWD"
  later:
    steps:
      - run: echo work > work.txt
      - run: exit 75
        wait: { every: 1m, for: 1h }
  swap:
    inputs: { OUTSIDE: { required: true } }
    steps:
      - run: mv "$PWD" "$PWD.gone"; ln -s "$OUTSIDE" "$PWD"
`;

async function spineOf() {
  const repository = makeRepository({ ".holdfast.yml": policy, "README.md": "hello\n" });
  const spine = await openSpine({ source: repository.path });
  onTestFinished(() => spine.close());
  return { spine, number: await spine.issue("Work") };
}

test("a task that removes its own checkout is blocked, now and after a continue", async () => {
  const { spine, number } = await spineOf();
  await spine.say(number, "@holdfast run vanish");
  expect(await spine.mandates()).toMatchObject([{ status: "blocked", reason: "agent-failed" }]);
  const [mandate] = await spine.mandates();
  await spine.say(number, `@holdfast continue ${mandate?.id}`);
  expect(await spine.mandates()).toMatchObject([{ status: "blocked", reason: "agent-failed" }]);
  expect((await spine.told(number)).join("\n")).toMatch(/working copy .* is gone/);
});

test("a checkout that is lost with its saved state is no reason to call the task done", async () => {
  const { spine, number } = await spineOf();
  await spine.say(number, "@holdfast run later");
  expect(await spine.mandates()).toMatchObject([{ status: "waiting" }]);
  for (const name of ["work", "shadow"]) rmSync(join(spine.home, name), { recursive: true });
  await spine.pass(120_000);
  expect(await spine.mandates()).toMatchObject([{ status: "blocked", reason: "agent-failed" }]);
});

test("a link in place of the checkout publishes nothing of where it leads", async () => {
  const { spine, number } = await spineOf();
  const outside = join(spine.home, "outside");
  mkdirSync(outside);
  for (const [name, text] of [
    [".holdfast.yml", policy],
    ["README.md", "hello\n"],
    ["key", "k"],
  ]) {
    writeFileSync(join(outside, name ?? ""), text ?? "");
  }
  await spine.say(number, `@holdfast run swap OUTSIDE=${outside}`);
  expect(await spine.mandates()).toMatchObject([
    { status: "blocked", reason: "agent-failed", publishedCommit: null },
  ]);
});
