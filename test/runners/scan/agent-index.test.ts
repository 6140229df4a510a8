// The agent's index as data (spec 5.2): versions 2 to 4 as git writes them, anything else refused, nothing thrown.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isSafePath, parseIndex } from "../../../runners/scan/agent-index.ts";
import { makeRepository, writeFiles } from "../../fakes/repository.ts";

const files = { a: "a", "dir/b": "b", "dir/bc": "c", "dir/sub/long name": "d", "é\n": "e" };

function indexOf(prepare: readonly (readonly string[])[] = []) {
  const repository = makeRepository(files);
  writeFiles(repository.path, { later: "later" });
  for (const args of prepare) repository.git(args);
  const bytes = readFileSync(join(repository.path, ".git/index"));
  return { repository, bytes };
}

describe("what git writes", () => {
  test.each([
    ["version 2", 2, [["update-index", "--index-version", "2"]]],
    [
      "version 3, for a file announced with intent-to-add",
      3,
      [["add", "--intent-to-add", "later"]],
    ],
    ["version 4", 4, [["update-index", "--index-version", "4"]]],
    [
      "version 4 with flags",
      4,
      [
        ["add", "--intent-to-add", "later"],
        ["update-index", "--skip-worktree", "dir/b"],
        ["update-index", "--assume-unchanged", "a"],
        ["update-index", "--index-version", "4"],
      ],
    ],
    ["a submodule", 2, [["update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},sm`]]],
    ["an empty index", 2, [["read-tree", "--empty"]]],
  ])("%s is read as git lists it", (_, version, prepare) => {
    const { repository, bytes } = indexOf(prepare);
    expect(bytes.readUInt32BE(4)).toBe(version);
    const parsed = parseIndex(bytes);
    const entries = parsed.ok ? parsed.entries : [];
    const rows = entries.map(({ mode, oid, path }) => {
      const name = Buffer.from(path, "latin1").toString("utf8");
      return `${mode.toString(8).padStart(6, "0")} ${oid} 0\t${name}\0`;
    });
    expect(parsed.ok).toBe(true);
    expect(rows.join("")).toBe(repository.git(["ls-files", "--stage", "-z"]));
  });

  test("the stages of a conflict are one path", () => {
    const { repository } = indexOf();
    const oid = repository.git(["hash-object", "-w", "--stdin"], "x");
    const rows = [1, 2, 3].map((stage) => `100644 ${oid} ${stage}\ta\n`).join("");
    repository.git(["update-index", "--index-info"], `0 ${"0".repeat(40)}\ta\n${rows}`);
    const parsed = parseIndex(readFileSync(join(repository.path, ".git/index")));
    expect(parsed.ok && parsed.entries.filter(({ path }) => path === "a")).toHaveLength(1);
  });

  test("a split index is refused, since most of it is elsewhere", () => {
    const { bytes } = indexOf([["update-index", "--split-index"]]);
    expect(parseIndex(bytes)).toEqual({ ok: false, why: "extension link" });
  });

  test("a sparse index is refused, since folders stand for files", () => {
    const { bytes } = indexOf([["sparse-checkout", "set", "--cone", "--sparse-index", "none"]]);
    expect(parseIndex(bytes)).toEqual({ ok: false, why: "extension sdir" });
  });
});

describe("what an agent may forge", () => {
  test.each([2, 4])(
    "an index of version %i cut anywhere is refused or read, never thrown",
    (version) => {
      const { bytes } = indexOf([["update-index", "--index-version", String(version)]]);
      const whole = parseIndex(bytes);
      const count = whole.ok ? whole.entries.length : 0;
      expect(count).toBe(5);
      for (let length = 0; length < bytes.length; length += 1) {
        const parsed = parseIndex(bytes.subarray(0, length));
        expect(parsed.ok ? parsed.entries.length : count).toBe(count);
      }
    },
  );

  test("a count that promises more than the file holds is refused", () => {
    const { bytes } = indexOf();
    bytes.writeUInt32BE(0xffffffff, 8);
    expect(parseIndex(bytes)).toMatchObject({ ok: false });
  });

  test.each([
    "",
    "/etc/passwd",
    "../x",
    "a/../../x",
    "a//b",
    "./a",
    ".git/config",
    "a/.GIT/x",
    "a/",
  ])("the path %j is never followed", (path) => expect(isSafePath(path)).toBe(false));

  test.each(["a", ".gitignore", ".github/x", "a/.gitmodules", "...", "a\\b", "git~1", "a b\n"])(
    "the path %j is an ordinary one",
    (path) => expect(isSafePath(path)).toBe(true),
  );

  test("entries with such paths are left out and the others stay", () => {
    const { bytes } = indexOf();
    const at = bytes.indexOf("dir/b\0");
    bytes.write("../bb", at, "latin1");
    const parsed = parseIndex(bytes);
    expect(parsed.ok && parsed.entries.map(({ path }) => path)).not.toContain("../bb");
    expect(parsed.ok && parsed.entries).toHaveLength(4);
  });
});
