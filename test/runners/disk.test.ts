// Files of the host (spec 5.1): whole or not at all, links replaced, and a disk's troubles named.

import { existsSync, lstatSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolder, moveToTrash, onDisk, sweepHome, writeWhole } from "../../runners/disk.ts";
import { temporaryFolder, writeFiles } from "../fakes/repository.ts";

test.skipIf(!existsSync("/dev/full"))("a full disk is the failure disk-full", async () => {
  const writing = onDisk(() => writeFile("/dev/full", "x"));
  await expect(writing).rejects.toMatchObject({ code: "disk-full", retry: "later" });
});

test.skipIf(!existsSync("/sys/kernel"))(
  "a place nobody may write is the failure read-only",
  async () => {
    await expect(makeFolder("/sys/kernel/holdfast")).rejects.toMatchObject({ code: "read-only" });
  },
);

test("any other trouble is the failure disk-failed", async () => {
  const folder = temporaryFolder();
  writeFiles(folder, { file: "x" });
  await expect(makeFolder(join(folder, "file/below"))).rejects.toMatchObject({
    code: "disk-failed",
  });
});

test("a link at the place is replaced and what it leads to stays", async () => {
  const folder = temporaryFolder();
  writeFiles(folder, { victim: "safe" });
  symlinkSync("victim", join(folder, "link"));
  await writeWhole(join(folder, "link"), "new");
  expect(readFileSync(join(folder, "victim"), "utf8")).toBe("safe");
  expect(lstatSync(join(folder, "link")).isFile()).toBe(true);
  expect(readdirSync(folder).sort()).toEqual(["link", "victim"]);
});

test("trash takes a folder at once, nothing for nothing, and is swept at the start", async () => {
  const home = temporaryFolder();
  writeFiles(home, { "work/a/b": "x", "trash/old/c": "x", "making/half": "x" });
  const { deleted } = await moveToTrash(home, join(home, "work/a"));
  expect(existsSync(join(home, "work/a"))).toBe(false);
  await deleted;
  expect(readdirSync(join(home, "trash"))).toEqual(["old"]);
  await (
    await moveToTrash(home, join(home, "work/none"))
  ).deleted;
  await sweepHome(home);
  expect(readdirSync(home)).toEqual(["work"]);
});
