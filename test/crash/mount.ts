// File systems of a test's own (spec 8.4: disk full, read-only home). Mounting needs root: without it CI fails, and a
// newcomer's run says what was skipped.

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
  const why = `a file system of its own cannot be mounted: run the tests as root (${(stderr ?? "").trim()})`;
  if (process.env["CI"] === "true") throw new Error(why);
  context.skip(why);
}
