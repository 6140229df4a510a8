// Fingerprints (spec 5.2): equal content, equal hash; any tracked change, another; nothing hides a change.

import { execFileSync } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fingerprint, storeTree } from "../../runners/fingerprint.ts";
import { makeCheckout, type TestCheckout } from "../fakes/checkout.ts";
import { repositoryAt, writeFiles } from "../fakes/repository.ts";

const files = {
  "a.txt": "aaaa\n",
  "dir/b.txt": "bbbb\n",
  "dir/c.txt": "cccc\n",
  ".gitignore": "*.log\n",
};

async function tracked({ checkout }: TestCheckout): Promise<string> {
  return (await fingerprint(checkout, { untracked: "count" })).tracked;
}

/** A repository with one commit inside the checkout, as a submodule that is checked out. */
function plantRepository(folder: string): ReturnType<typeof repositoryAt> {
  mkdirSync(folder, { recursive: true });
  const inner = repositoryAt(folder);
  inner.git(["init", "--quiet", "--initial-branch=main", "--template="]);
  inner.commit({ "inner.txt": "inner" });
  return inner;
}

describe("a change of tracked content is seen", () => {
  const edits: Record<string, (at: (name: string) => string) => void> = {
    "an edit": (at) => writeFileSync(at("a.txt"), "other"),
    "an edit of the same size with the time put back": (at) => {
      const { atime, mtime } = lstatSync(at("a.txt"));
      writeFileSync(at("a.txt"), "aaab\n");
      utimesSync(at("a.txt"), atime, mtime);
    },
    "a mode": (at) => chmodSync(at("a.txt"), 0o755),
    "a deletion": (at) => rmSync(at("a.txt")),
    "a file that became a link to the same content": (at) => {
      renameSync(at("a.txt"), at("kept.log"));
      symlinkSync("kept.log", at("a.txt"));
    },
    "a folder that became a link to itself elsewhere": (at) => {
      renameSync(at("dir"), at("dir.log"));
      symlinkSync("dir.log", at("dir"));
    },
    "a file that became a FIFO": (at) => {
      rmSync(at("a.txt"));
      execFileSync("mkfifo", [at("a.txt")]);
    },
    "a file that became a folder": (at) => {
      rmSync(at("a.txt"));
      mkdirSync(at("a.txt"));
    },
  };

  test.each(Object.entries(edits))("%s", async (_, edit) => {
    const made = await makeCheckout(files);
    const before = await tracked(made);
    edit((name) => join(made.checkout.workTree, name));
    expect(await tracked(made)).not.toBe(before);
  });

  test.each([
    ["assume-unchanged", [["update-index", "--assume-unchanged", "a.txt"]]],
    ["skip-worktree", [["update-index", "--skip-worktree", "a.txt"]]],
    ["rm --cached", [["rm", "--quiet", "--cached", "a.txt"]]],
    ["an emptied index", [["read-tree", "--empty"]]],
    ["an ignore rule", [["config", "core.excludesFile", "/dev/null"]]],
    ["fileMode and ignoreCase in its config", [["config", "core.fileMode", "false"]]],
  ])("%s by the agent hides nothing", async (_, commands) => {
    const made = await makeCheckout(files);
    const before = await tracked(made);
    for (const args of commands) made.agent.git(args);
    expect(await tracked(made)).toBe(before);
    writeFiles(made.checkout.workTree, { "a.txt": "aaab\n" });
    expect(await tracked(made)).not.toBe(before);
  });

  test.each([
    ["forged", Buffer.from("DIRC nonsense that is long enough to be looked at")],
    ["empty", Buffer.alloc(0)],
  ])("with a %s index the base's files still count and an event tells", async (_, bytes) => {
    const made = await makeCheckout(files);
    const before = await tracked(made);
    writeFileSync(join(made.checkout.workTree, ".git/index"), bytes);
    const after = await fingerprint(made.checkout, { untracked: "count" });
    expect(after.tracked).toBe(before);
    expect(after.events.join()).toContain("agent-index-unreadable");
  });
});

describe("what is no change of content", () => {
  test("times, a rewrite with the same bytes, and attributes that would convert", async () => {
    const made = await makeCheckout({ ...files, "crlf.txt": "a\r\n" });
    const before = await tracked(made);
    writeFiles(made.checkout.workTree, { "a.txt": "aaaa\n" });
    utimesSync(join(made.checkout.workTree, "dir/b.txt"), 1, 1);
    expect(await tracked(made)).toBe(before);
    writeFiles(made.checkout.workTree, { ".gitattributes": "* text=auto eol=lf ident filter=x\n" });
    expect(await tracked(made)).toBe(before);
  });

  test("ignored files", async () => {
    const made = await makeCheckout(files);
    const before = await fingerprint(made.checkout, { untracked: "count" });
    writeFiles(made.checkout.workTree, { "debug.log": "x" });
    expect(await fingerprint(made.checkout, { untracked: "count" })).toEqual(before);
  });

  test("a commit of the agent's that leaves the files alone", async () => {
    const made = await makeCheckout(files);
    const before = await tracked(made);
    made.agent.git(["commit", "--quiet", "--allow-empty", "--message", "nothing"]);
    expect(await tracked(made)).toBe(before);
  });
});

describe("new files", () => {
  test.each([
    ["ignore", false, false],
    ["count", false, true],
    ["commit", true, true],
  ] as const)("under %s they change tracked: %s, all: %s", async (untracked, inTracked, inAll) => {
    const made = await makeCheckout(files);
    const before = await fingerprint(made.checkout, { untracked });
    writeFiles(made.checkout.workTree, { "new.txt": "new" });
    const after = await fingerprint(made.checkout, { untracked });
    expect(after.tracked !== before.tracked).toBe(inTracked);
    expect(after.all !== before.all).toBe(inAll);
  });

  test("staged by the agent they are tracked", async () => {
    const made = await makeCheckout(files);
    writeFiles(made.checkout.workTree, { "new.txt": "new" });
    const before = await tracked(made);
    made.agent.git(["add", "new.txt"]);
    expect(await tracked(made)).not.toBe(before);
  });

  test("beyond the limit the first by path count, with an event", async () => {
    const made = await makeCheckout(files);
    const many = Object.fromEntries(Array.from({ length: 5_003 }, (_, at) => [`n/${at}`, ""]));
    writeFiles(made.checkout.workTree, many);
    const { files: count, events } = await fingerprint(made.checkout, { untracked: "count" });
    expect(count).toBe(5_004);
    expect(events).toEqual(["untracked-over-limit"]);
  });

  test("a FIFO as ignore file cannot hold the host up: what is tracked counts, an event tells", async () => {
    const made = await makeCheckout(files);
    const before = await tracked(made);
    mkdirSync(join(made.checkout.workTree, "trap"));
    execFileSync("mkfifo", [join(made.checkout.workTree, "trap/.gitignore")]);
    writeFiles(made.checkout.workTree, { "trap/x": "x" });
    const options = { untracked: "count", listDeadlineMs: 300 } as const;
    const after = await fingerprint(made.checkout, options);
    expect(after.tracked).toBe(before);
    expect(after.events).toEqual(["untracked-unlisted: git-timeout"]);
  });

  test("a link in place of .gitmodules is left out with an event", async () => {
    const made = await makeCheckout(files);
    symlinkSync("a.txt", join(made.checkout.workTree, ".gitmodules"));
    const { events } = await fingerprint(made.checkout, { untracked: "count" });
    expect(events).toEqual(["link-refused: .gitmodules"]);
  });
});

describe("submodules and repositories inside", () => {
  test("the head of a submodule counts, loose, packed or detached; its inner changes do not", async () => {
    const made = await makeCheckout(files);
    const folder = join(made.checkout.workTree, "sub");
    const inner = plantRepository(folder);
    made.agent.git(["-c", "advice.addEmbeddedRepo=false", "add", "sub"]);
    const first = await tracked(made);
    writeFiles(folder, { "inner.txt": "dirty", "new.txt": "new" });
    expect(await tracked(made)).toBe(first);
    inner.git(["pack-refs", "--all"]);
    expect(await tracked(made)).toBe(first);
    inner.git(["checkout", "--quiet", "--detach"]);
    expect(await tracked(made)).toBe(first);
    inner.commit({ "more.txt": "more" });
    expect(await tracked(made)).not.toBe(first);
  });

  test("a repository the agent made is left out with an event", async () => {
    const made = await makeCheckout(files);
    const before = await fingerprint(made.checkout, { untracked: "count" });
    plantRepository(join(made.checkout.workTree, "clone"));
    const after = await fingerprint(made.checkout, { untracked: "count" });
    expect(after).toEqual({ ...before, events: ["embedded-repository: clone/"] });
  });

  test("a HEAD that points out of the checkout is unknown, not read", async () => {
    const made = await makeCheckout(files);
    const folder = join(made.checkout.workTree, "sub");
    plantRepository(folder);
    made.agent.git(["-c", "advice.addEmbeddedRepo=false", "add", "sub"]);
    const before = await tracked(made);
    rmSync(join(folder, ".git"), { recursive: true });
    writeFileSync(join(folder, ".git"), `gitdir: ${made.source.path}/.git\n`);
    const after = await fingerprint(made.checkout, { untracked: "count" });
    expect(after.tracked).toBe(before);
    expect(after.events).toEqual(["submodule-unknown: sub"]);
  });
});

test("a stored tree has every blob, big and empty ones and any name", async () => {
  const made = await makeCheckout(files);
  const big = Buffer.alloc(3_000_000, "0123456789");
  writeFiles(made.checkout.workTree, { big, empty: "", 'q"uo\\te\n': "q", "dir/b.txt": "edited" });
  symlinkSync("nowhere", join(made.checkout.workTree, "dangling"));
  const { all } = await storeTree(made.checkout, { untracked: "commit" });
  const shadow = repositoryAt(made.checkout.gitDir);
  expect(Number(shadow.git(["cat-file", "-s", `${all}:big`]))).toBe(big.length);
  expect(shadow.git(["cat-file", "blob", `${all}:dangling`])).toBe("nowhere");
  expect(shadow.git(["rev-list", "--objects", "--missing=print", all])).not.toContain("?");
});

test("the event loop is not held up while a checkout is hashed", async () => {
  const many = Object.fromEntries(
    Array.from({ length: 2_000 }, (_, at) => [`d${at % 50}/f${at}`, `${at}`]),
  );
  const made = await makeCheckout(many);
  await fingerprint(made.checkout, { untracked: "commit" });
  let ticks = 0;
  const ticker = setInterval(() => (ticks += 1), 1);
  await fingerprint(made.checkout, { untracked: "commit" });
  clearInterval(ticker);
  expect(ticks).toBeGreaterThan(3);
});
