// Mirrors (spec 5.1): fetched from any kind of source, pinned, and read without a work tree.

import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  defaultBranch,
  diffAt,
  fetchMirror,
  listTags,
  openMirror,
  pin,
  readFileAt,
  resolve,
  unpin,
} from "../../../runners/repository/mirror.ts";
import {
  makeRepository,
  repositoryAt,
  temporaryFolder,
  writeFiles,
} from "../../fakes/repository.ts";

async function mirrorOf(source: string) {
  const home = temporaryFolder();
  const mirror = await openMirror({ home, repositoryId: "local/../demo" });
  await fetchMirror(mirror, { source });
  return mirror;
}

describe("fetching", () => {
  test("brings branches and tags of a work tree or a bare repository, and takes away what is gone", async () => {
    const source = makeRepository({ a: "a" });
    const bare = makeRepository({}, { bare: true });
    source.git(["branch", "topic"]);
    source.git(["push", "--quiet", bare.path, "main", "topic"]);
    for (const repository of [source, bare]) {
      const { path } = repository;
      const mirror = await mirrorOf(path);
      const commit = source.git(["rev-parse", "main"]);
      expect(await resolve(mirror, "refs/heads/topic")).toBe(commit);
      repository.git(["branch", "--quiet", "--delete", "--force", "topic"]);
      repository.git(["branch", "topic/deeper", "main"]);
      await fetchMirror(mirror, { source: path });
      expect(await resolve(mirror, "refs/heads/topic")).toBeNull();
      expect(await resolve(mirror, "refs/heads/topic/deeper")).toBe(commit);
    }
  });

  test("of one refspec leaves the others alone", async () => {
    const source = makeRepository({ a: "a" });
    const mirror = await mirrorOf(source.path);
    source.git(["branch", "other"]);
    const next = source.commit({ a: "b" });
    const refspecs = ["+refs/heads/main:refs/heads/main"];
    await fetchMirror(mirror, { source: source.path, refspecs });
    expect(await resolve(mirror, "main")).toBe(next);
    expect(await resolve(mirror, "other")).toBeNull();
  });

  test("twice at once works", async () => {
    const source = makeRepository({ a: "a" });
    const mirror = await mirrorOf(source.path);
    const next = source.commit({ a: "b" });
    await Promise.all([1, 2].map(() => fetchMirror(mirror, { source: source.path })));
    expect(await resolve(mirror, "main")).toBe(next);
  });

  test("goes on after a killed git left its locks, once the mirror is opened anew", async () => {
    const source = makeRepository({ a: "a" });
    const { gitDir } = await mirrorOf(source.path);
    const next = source.commit({ a: "b" });
    const home = temporaryFolder();
    cpSync(gitDir, join(home, "mirror/1.git"), { recursive: true });
    writeFiles(home, {
      "mirror/1.git/refs/heads/main.lock": "",
      "mirror/1.git/packed-refs.lock": "",
    });
    const mirror = await openMirror({ home, repositoryId: "1" });
    await fetchMirror(mirror, { source: source.path });
    expect(await resolve(mirror, "main")).toBe(next);
  });

  test("an old history with harmless flaws is taken", async () => {
    const source = makeRepository({ "dir/a": "a" });
    const raw = source.git(["cat-file", "tree", "main:dir"]);
    expect(raw).toContain("100644 a");
    const blob = source.git(["rev-parse", "main:dir/a"]);
    const padded = Buffer.concat([Buffer.from("0100644 a\0"), Buffer.from(blob, "hex")]);
    const hash = ["hash-object", "-t", "tree", "-w", "--literally", "--stdin"];
    const tree = source.git(hash, padded);
    source.git(["update-ref", "refs/heads/old", source.git(["commit-tree", tree, "-m", "old"])]);
    expect(await resolve(await mirrorOf(source.path), "old")).not.toBeNull();
  });

  test("a history that would run something when checked out is refused", async () => {
    const update = '[submodule "s"]\n\tpath = s\n\turl = ./s\n\tupdate = !touch x\n';
    const source = makeRepository({ ".gitmodules": update });
    await expect(mirrorOf(source.path)).rejects.toThrow("gitmodulesUpdate");
  });

  test.each([
    ["a source that is gone", "/no/such/repository", "git-failed"],
    ["an http address", "http://example.org/x.git", "bad-source"],
    ["an address with a password", "https://me:secret@example.org/x.git", "bad-source"],
    ["a program as address", "ext::sh -c true", "bad-source"],
    ["an option as address", "--upload-pack=touch /tmp/x", "bad-source"],
    ["a relative path", "repository", "bad-source"],
  ])("%s is a failure", async (_, source, code) => {
    await expect(mirrorOf(source)).rejects.toMatchObject({ code });
  });

  test("cancelled, it ends as such", async () => {
    const mirror = await openMirror({ home: temporaryFolder(), repositoryId: "1" });
    const fetching = fetchMirror(mirror, {
      source: makeRepository({ a: "a" }).path,
      signal: AbortSignal.abort(),
    });
    await expect(fetching).rejects.toMatchObject({ code: "cancelled" });
  });

  test("a file where the home should be is told apart from git's failures", async () => {
    const folder = temporaryFolder();
    writeFiles(folder, { home: "a file" });
    const opening = openMirror({ home: join(folder, "home"), repositoryId: "1" });
    await expect(opening).rejects.toMatchObject({ code: "disk-failed" });
  });
});

describe("the default branch", () => {
  const cases: [string, string[][], string][] = [
    ["the one HEAD names", [["checkout", "--quiet", "-b", "trunk"]], "refs/heads/trunk"],
    ["main when HEAD is detached", [["checkout", "--quiet", "--detach"]], "refs/heads/main"],
    [
      "main when HEAD names a branch without commits",
      [["checkout", "--quiet", "--orphan", "new"]],
      "refs/heads/main",
    ],
  ];
  test.each(cases)("is %s", async (_, prepare, expected) => {
    const source = makeRepository({ a: "a" });
    for (const args of prepare) source.git(args);
    expect(await defaultBranch(source.path)).toBe(expected);
  });

  test("of a repository without commits is the failure no-commits", async () => {
    const source = makeRepository();
    await expect(defaultBranch(source.path)).rejects.toMatchObject({ code: "no-commits" });
  });

  test("that cannot be told is the failure no-default-branch", async () => {
    const source = makeRepository({ a: "a" });
    source.git(["branch", "--move", "main", "trunk"]);
    source.git(["checkout", "--quiet", "--detach"]);
    await expect(defaultBranch(source.path)).rejects.toMatchObject({ code: "no-default-branch" });
  });
});

test("a pinned commit outlives its branch and a collection, an unpinned one does not", async () => {
  const source = makeRepository({ a: "a" });
  const mirror = await mirrorOf(source.path);
  const lost = source.commit({ a: "lost" });
  await fetchMirror(mirror, { source: source.path });
  await pin(mirror, "m-7k3f", lost);
  source.git(["reset", "--quiet", "--hard", "HEAD^"]);
  await fetchMirror(mirror, { source: source.path });
  const collect = ["gc", "--quiet", "--prune=now"];
  repositoryAt(mirror.gitDir).git(collect);
  expect(await resolve(mirror, lost)).toBe(lost);
  await unpin(mirror, "m-7k3f");
  repositoryAt(mirror.gitDir).git(collect);
  expect(await resolve(mirror, lost)).toBeNull();
});

describe("reading", () => {
  test("gives a regular file of a commit and null for anything else", async () => {
    const source = makeRepository({ "dir/ö [x]*.txt": "text", ".holdfast.yml": "a: b\n" });
    const commit = source.git(["rev-parse", "main"]);
    const mirror = await mirrorOf(source.path);
    function read(path: string) {
      return readFileAt(mirror, { commit, path, limitBytes: 100 });
    }
    expect((await read("dir/ö [x]*.txt"))?.toString()).toBe("text");
    expect((await read(".holdfast.yml"))?.toString()).toBe("a: b\n");
    for (const path of ["dir", "none", "*", ":(glob)**"]) expect(await read(path)).toBeNull();
    const big = readFileAt(mirror, { commit, path: ".holdfast.yml", limitBytes: 4 });
    await expect(big).rejects.toMatchObject({ code: "file-too-large" });
  });

  test("a patch is cut at its limit", async () => {
    const source = makeRepository({ a: "a\n" });
    const base = source.git(["rev-parse", "main"]);
    const head = source.commit({ a: "b\n".repeat(1_000) });
    const mirror = await mirrorOf(source.path);
    const whole = await diffAt(mirror, { base, head, limitBytes: 100_000 });
    expect(whole).toMatch(/^diff --git a\/a b\/a\n[^]*\n-a\n\+b\n/);
    const cut = await diffAt(mirror, { base, head, limitBytes: 150 });
    expect(cut).toBe(whole.slice(0, 150));
  });

  test("tags lead to commits, in order of name", async () => {
    const source = makeRepository({ a: "a" });
    const commit = source.git(["rev-parse", "main"]);
    source.git(["tag", "v2"]);
    source.git(["tag", "-a", "v1", "-m", "one"]);
    source.git(["tag", "tree", "main^{tree}"]);
    const mirror = await mirrorOf(source.path);
    expect(await listTags(mirror)).toEqual(["v1", "v2"].map((name) => ({ name, commit })));
    rmSync(source.path, { recursive: true });
    expect(await resolve(mirror, "v1")).toBe(commit);
    expect(await resolve(mirror, "v1\nmain")).toBeNull();
  });
});
