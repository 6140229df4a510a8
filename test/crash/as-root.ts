// What only root can arrange for a test (spec 8.4: disk full, read-only home): file systems of its own, foreign owners.
// Without root CI fails, and a newcomer's run says what was skipped.

import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished, type TestContext } from "vitest";
import { temporaryFolder } from "../fakes/repository.ts";

/** A folder on a file system of this size. */
export function mountSmallDisk(context: TestContext, bytes: number): string {
  const folder = join(temporaryFolder(), "home");
  mkdirSync(folder);
  mount(context, { args: ["-t", "tmpfs", "-o", `size=${bytes},mode=700`, "tmpfs"], folder });
  return folder;
}

/** Makes what is in a folder readable only, for root as well; ends with the test. */
export function mountReadOnly(context: TestContext, folder: string): void {
  mount(context, { args: ["--bind", folder], folder });
  mount(context, { args: ["-o", "remount,ro,bind"], folder });
}

function mount(context: TestContext, at: { args: readonly string[]; folder: string }): void {
  const { status, stderr } = spawnSync("mount", [...at.args, at.folder], { encoding: "utf8" });
  if (status === 0) {
    onTestFinished(() => void spawnSync("umount", ["--lazy", at.folder]));
    return;
  }
  needRoot(context, `a file system of its own cannot be mounted (${(stderr ?? "").trim()})`);
}

/** Gives a folder with all that is in it to an account that is not this one. */
export function giveAway(context: TestContext, folder: string): void {
  const { status } = spawnSync("chown", ["-R", "65534", folder]);
  if (status !== 0) needRoot(context, "a folder cannot be given to another account");
}

function needRoot(context: TestContext, what: string): void {
  const why = `${what}: run the tests as root`;
  if (process.env["CI"] === "true") throw new Error(why);
  context.skip(why);
}
