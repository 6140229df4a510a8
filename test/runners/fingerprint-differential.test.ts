// Differential test of the fingerprint (spec 5.2): random work in a checkout, hashed by us and by git.

import { execFileSync } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { fingerprint } from "../../runners/fingerprint.ts";
import { makeCheckout, type TestCheckout } from "../fakes/checkout.ts";
import { writeFiles } from "../fakes/repository.ts";

const files = {
  "a.txt": "aaaa\n",
  "dir/b.txt": "bbbb\n",
  "dir/c.txt": "cccc\n",
  "x/y/z": "deep",
  "x/y2": "shallow",
  "w\u00e9.txt": "utf8",
  "nl\nname": "newline",
};

// What an agent, its tools or ill will may do between two turns, drawn by a seed.
describe("the scan agrees with git's own full rehash", () => {
  test.each([1, 2, 3, 4])("seed %i, 50 batches", { timeout: 300_000 }, async (seed) => {
    const made = await makeCheckout(files);
    const treeOf = referenceOf(made);
    const random = drawFrom(seed);
    const trees = new Set<string>();
    for (let batch = 0; batch < 50; batch += 1) {
      for (let change = 0; change < 1 + random(6); change += 1) disturb(made, random);
      const { tracked, all } = await fingerprint(made.checkout, { untracked: "count" });
      expect({ seed, batch, tracked, all }).toEqual({ seed, batch, ...rehash(made, treeOf) });
      trees.add(tracked);
    }
    expect(trees.size).toBeGreaterThan(10);
  });
});

type Draw = (below: number) => number;

/** A small generator (mulberry32): a seed replays its batches. */
function drawFrom(seed: number): Draw {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const names = [
  "a.txt",
  "dir/b.txt",
  "dir/c.txt",
  "dir",
  "x/y/z",
  "x/y2",
  "x/y",
  "x",
  "n1",
  "dir/n2",
  "nl\nname",
];

function disturb({ checkout, agent }: TestCheckout, random: Draw): void {
  const name = names[random(names.length)] ?? "a.txt";
  const path = join(checkout.workTree, name);
  const other = join(checkout.workTree, `moved${random(3)}`);
  const acts: (() => void)[] = [
    () => writeFileSync(path, `content ${random(3)}`),
    () => sameSizeEdit(path, random),
    () => chmodSync(path, random(2) === 0 ? 0o644 : 0o755),
    () => rmSync(path, { recursive: true, force: true }),
    () => {
      rmSync(path, { recursive: true, force: true });
      mkdirSync(path, { recursive: true });
      writeFileSync(join(path, "inside"), `${random(3)}`);
    },
    () => {
      renameSync(path, other);
      symlinkSync(other, path);
    },
    () => {
      rmSync(path, { recursive: true, force: true });
      symlinkSync(`target${random(2)}`, path);
    },
    () =>
      writeFileSync(
        Buffer.concat([Buffer.from(`${dirname(path)}/`), Buffer.from([0xe9, 0x61])]),
        "latin",
      ),
    () =>
      writeFileSync(
        join(checkout.workTree, ".gitattributes"),
        ["* text=auto eol=crlf\n", "* ident\n"][random(2)] ?? "",
      ),
    () => agent.git(["add", "--", name]),
    () => agent.git(["add", "--all"]),
    () => agent.git(["add", "--intent-to-add", "--", name]),
    () => agent.git(["rm", "--quiet", "--cached", "-r", "--", name]),
    () => agent.git(["update-index", "--assume-unchanged", "--", name]),
    () => agent.git(["update-index", "--skip-worktree", "--", name]),
    () => agent.git(["update-index", "--index-version", random(2) === 0 ? "2" : "4"]),
    () => agent.git(["commit", "--quiet", "--all", "--allow-empty", "--message", "m"]),
    () => agent.git(["stash", "--include-untracked"]),
    () => agent.git(["stash", "pop"]),
    () => agent.git(["reset", "--quiet", "--hard", random(2) === 0 ? "HEAD" : "origin/main"]),
    () => agent.git(["checkout", "--quiet", "--force", "origin/main"]),
  ];
  try {
    acts[random(acts.length)]?.();
  } catch {
    // Many draws are impossible in the state they meet; the next batch is as good.
  }
}

function sameSizeEdit(path: string, random: Draw): void {
  const { atime, mtime } = lstatSync(path);
  const content = readFileSync(path);
  if (content.length > 0) content[random(content.length)] = 48 + random(10);
  writeFileSync(path, content);
  utimesSync(path, atime, mtime);
}

type Reference = (paths: string[]) => string;

/** Git's own tree of these files, hashed anew each time from raw bytes. */
function referenceOf({ checkout, home }: TestCheckout): Reference {
  const gitDir = join(home, "reference");
  const index = join(gitDir, "index");
  const env = { PATH: process.env["PATH"], GIT_DIR: gitDir, GIT_WORK_TREE: checkout.workTree };
  const options = { env, cwd: checkout.workTree };
  execFileSync("git", ["init", "--quiet", "--template=", "--bare", gitDir]);
  writeFiles(gitDir, { "info/attributes": "* -text -ident -filter -working-tree-encoding\n" });
  return function writeTree(paths) {
    rmSync(index, { force: true });
    const input = Buffer.from(paths.map((path) => `${path}\0`).join(""), "latin1");
    const update = ["update-index", "--add", "--replace", "-z", "--stdin"];
    execFileSync("git", update, { ...options, input });
    return execFileSync("git", ["write-tree"], options).toString().trim();
  };
}

/** The same two trees by other means: git lists and hashes, and a walk tells what exists. */
function rehash({ checkout, origin, agent }: TestCheckout, treeOf: Reference) {
  const base = listed(checkout.gitDir, ["ls-tree", "-r", "-z", "--name-only", origin.base]);
  const index = listed(join(agent.path, ".git"), ["ls-files", "-z"]);
  const wanted = new Set([...base.split("\0"), ...index.split("\0")]);
  const existing = walk(Buffer.from(checkout.workTree), "");
  return { tracked: treeOf(existing.filter((path) => wanted.has(path))), all: treeOf(existing) };
}

function listed(gitDir: string, args: string[]): string {
  return execFileSync("git", ["--git-dir", gitDir, ...args]).toString("latin1");
}

/** Files and links below a folder, as latin1 paths, without following anything. */
function walk(folder: Buffer, prefix: string): string[] {
  return readdirSync(folder, { withFileTypes: true, encoding: "buffer" }).flatMap((entry) => {
    const path = prefix + entry.name.toString("latin1");
    if (path === ".git") return [];
    if (!entry.isDirectory()) return [path];
    return walk(Buffer.concat([folder, Buffer.from("/"), entry.name]), `${path}/`);
  });
}
