// Checkouts (spec 5.1): made whole, saved on the shadow's private ref, restored from it, retired by rename.

import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fingerprint } from "../../../runners/fingerprint.ts";
import {
  checkoutOf,
  createCheckout,
  ensureCheckout,
  isForeign,
  refreshAgentRefs,
  retireCheckout,
} from "../../../runners/repository/checkout.ts";
import { fetchMirror, resolve } from "../../../runners/repository/mirror.ts";
import { saveState } from "../../../runners/repository/saved-state.ts";
import { makeCheckout } from "../../fakes/checkout.ts";
import { repositoryAt, writeFiles } from "../../fakes/repository.ts";

const files = { "a.txt": "a\n", "src/b.txt": "b\n", ".gitignore": "*.log\n" };

describe("a new checkout", () => {
  test("has the base's files and a clean repository of the agent's own", async () => {
    const { checkout, origin, agent } = await makeCheckout(files);
    expect(readFileSync(join(checkout.workTree, "src/b.txt"), "utf8")).toBe("b\n");
    expect(agent.git(["status", "--porcelain=v2", "--branch"])).toBe(
      `# branch.oid ${origin.base}\n# branch.head holdfast/m-7k3f-demo`,
    );
    expect(agent.git(["rev-parse", "origin/main"])).toBe(origin.base);
    expect(agent.git(["log", "--oneline", "--format=%s"])).toBe("begin");
  });

  test("lets the agent diff and commit, which moves nothing of the host's", async () => {
    const { checkout, origin, agent, source } = await makeCheckout(files);
    const commit = agent.commit({ "a.txt": "changed\n" }, "work");
    expect(agent.git(["diff", "--stat", "origin/main"])).toContain("1 file changed");
    expect(await resolve(checkout, commit)).toBeNull();
    expect(await resolve(origin.mirror, commit)).toBeNull();
    expect(source.git(["rev-parse", "main"])).toBe(origin.base);
  });

  test("takes files as they are, whatever attributes say", async () => {
    const raw = {
      ".gitattributes": "* text eol=crlf ident\n*.bin filter=lfs diff=lfs merge=lfs -text\n",
      "a.txt": "a $Id$\n",
      "big.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    };
    const { checkout, origin, agent } = await makeCheckout(raw);
    expect(readFileSync(join(checkout.workTree, "a.txt"), "utf8")).toBe("a $Id$\n");
    expect(readFileSync(join(checkout.workTree, "big.bin"), "utf8")).toBe(raw["big.bin"]);
    expect(agent.git(["status", "--porcelain"])).toBe("");
    const { tracked } = await fingerprint(checkout, { untracked: "commit" });
    expect(await treeOf(origin.mirror.gitDir, origin.base)).toBe(tracked);
  });

  test("leaves submodules as empty folders", async () => {
    const { source, origin, home } = await makeCheckout(files);
    const linked = "1".repeat(40);
    source.git(["update-index", "--add", "--cacheinfo", `160000,${linked},sub`]);
    source.git(["commit", "--quiet", "--message", "link"]);
    await fetchMirror(origin.mirror, { source: source.path });
    const checkout = checkoutOf({ home, mandateId: "m-2" });
    const base = source.git(["rev-parse", "HEAD"]);
    await createCheckout(checkout, { mirror: origin.mirror, base });
    expect(lstatSync(join(checkout.workTree, "sub")).isDirectory()).toBe(true);
    const { tracked } = await fingerprint(checkout, { untracked: "commit" });
    expect(tracked).toBe(await treeOf(origin.mirror.gitDir, base));
  });

  test("of a commit the mirror does not have is a failure with nothing left behind", async () => {
    const { home, origin } = await makeCheckout(files);
    const checkout = checkoutOf({ home, mandateId: "m-2" });
    const making = createCheckout(checkout, { mirror: origin.mirror, base: "2".repeat(40) });
    await expect(making).rejects.toMatchObject({ code: "no-such-commit" });
    expect(existsSync(checkout.workTree)).toBe(false);
  });
});

describe("saving and restoring", () => {
  test("everything but ignored files comes back, and equal content is an equal fingerprint", async () => {
    const { checkout, origin, agent } = await makeCheckout(files);
    const odd = {
      "new\nline.txt": "n",
      "dir/added.txt": "added",
      "debug.log": "x",
      "forced.log": "f",
    };
    writeFiles(checkout.workTree, { ...odd, "a.txt": "edited" });
    agent.git(["add", "--force", "forced.log", "dir/added.txt"]);
    rmSync(join(checkout.workTree, "src/b.txt"));
    symlinkSync("a.txt", join(checkout.workTree, "link"));
    chmodSync(join(checkout.workTree, "a.txt"), 0o755);
    const before = await fingerprint(checkout, { untracked: "count" });
    const saved = await saveState(checkout);
    expect(saved.tree).toBe(before.all);

    await retireCheckout(checkout, { keepState: true });
    expect(await ensureCheckout(checkout, origin)).toBe("restored");
    const after = await fingerprint(checkout, { untracked: "count" });
    expect(after).toEqual(before);
    expect(readlinkSync(join(checkout.workTree, "link"))).toBe("a.txt");
    expect(existsSync(join(checkout.workTree, "debug.log"))).toBe(false);
    expect(agent.git(["diff", "HEAD", "--stat"])).toContain("4 files changed");
    expect(agent.git(["status", "--porcelain", "-z"])).toContain("?? new\nline.txt");
    expect(agent.git(["fsck", "--strict"])).not.toContain("missing");
  });

  test("the same state is the same commit, on a ref the mirror does not have", async () => {
    const { checkout, origin } = await makeCheckout(files);
    writeFiles(checkout.workTree, { "n.txt": "n" });
    const first = await saveState(checkout);
    expect(await saveState(checkout)).toEqual(first);
    expect(await resolve(checkout, checkout.stateRef)).toBe(first.commit);
    expect(await resolve(origin.mirror, first.commit)).toBeNull();
  });

  test("names that are no UTF-8 survive byte for byte", async () => {
    const { checkout, origin } = await makeCheckout(files);
    const name = Buffer.from([0x63, 0x61, 0x66, 0xe9]);
    const place = Buffer.concat([Buffer.from(`${checkout.workTree}/`), name]);
    mkdirSync(place);
    writeFiles(checkout.workTree, { "ca\u0301.txt": "decomposed" });
    renameSync(
      join(checkout.workTree, "a.txt"),
      Buffer.concat([place, Buffer.from("/\xff", "latin1")]),
    );
    const saved = await saveState(checkout);
    await retireCheckout(checkout, { keepState: true });
    await ensureCheckout(checkout, origin);
    expect(existsSync(Buffer.concat([place, Buffer.from([0x2f, 0xff])]))).toBe(true);
    expect((await saveState(checkout)).tree).toBe(saved.tree);
  });

  test("a checkout that is there is kept, one without state begins again", async () => {
    const { checkout, origin } = await makeCheckout(files);
    writeFiles(checkout.workTree, { "n.txt": "n" });
    expect(await ensureCheckout(checkout, origin)).toBe("kept");
    expect(existsSync(join(checkout.workTree, "n.txt"))).toBe(true);
    rmSync(checkout.workTree, { recursive: true });
    expect(await ensureCheckout(checkout, origin)).toBe("created");
    expect(existsSync(join(checkout.workTree, "n.txt"))).toBe(false);
  });

  test("a making that was cut off begins again", async () => {
    const { checkout, origin } = await makeCheckout(files);
    rmSync(checkout.gitDir, { recursive: true });
    rmSync(checkout.workTree, { recursive: true });
    mkdirSync(checkout.gitDir);
    expect(await ensureCheckout(checkout, origin)).toBe("created");
    expect(await saveState(checkout)).toMatchObject({ events: [] });
  });

  test("locks of a killed git do not stop the next turn", async () => {
    const { checkout, origin } = await makeCheckout(files);
    writeFiles(checkout.gitDir, { [`${checkout.stateRef}.lock`]: "", "HEAD.lock": "" });
    await ensureCheckout(checkout, origin);
    await expect(saveState(checkout)).resolves.toMatchObject({ events: [] });
  });
});

describe("what is not ours", () => {
  test("a folder or link somebody put at the place is foreign and gives way to the saved state", async () => {
    const { checkout, origin, home } = await makeCheckout(files);
    await saveState(checkout);
    expect(await isForeign(checkout)).toBe(false);
    const elsewhere = join(home, "elsewhere");
    renameSync(checkout.workTree, elsewhere);
    symlinkSync(elsewhere, checkout.workTree);
    expect(await isForeign(checkout)).toBe(true);
    expect(await ensureCheckout(checkout, origin)).toBe("restored");
    expect(lstatSync(checkout.workTree).isDirectory()).toBe(true);
    expect(existsSync(join(elsewhere, "a.txt"))).toBe(true);
  });

  test("an id that is no plain name is a bug", () => {
    expect(() => checkoutOf({ home: "/h", mandateId: "../m" })).toThrow("plain file name");
  });
});

describe("the agent's refs", () => {
  test("follow the mirror, beside its own", async () => {
    const { checkout, origin, agent, source } = await makeCheckout(files);
    agent.git(["branch", "mine"]);
    agent.git(["pack-refs", "--all"]);
    const next = source.commit({ "c.txt": "c" });
    source.git(["tag", "-a", "v1", "-m", "one"]);
    await fetchMirror(origin.mirror, { source: source.path });
    await refreshAgentRefs(checkout, origin);
    expect(agent.git(["rev-parse", "origin/main", "v1^{commit}"])).toBe(`${next}\n${next}`);
    expect(agent.git(["rev-parse", "mine", "HEAD"])).toBe(`${origin.base}\n${origin.base}`);
  });

  test.each([
    ["missing", (path: string) => rmSync(path, { recursive: true })],
    [
      "replaced by a link to a folder of the host",
      (path: string) => {
        rmSync(path, { recursive: true });
        symlinkSync("/tmp", path);
      },
    ],
  ])("come back with a new repository when `.git` is %s", async (_, damage) => {
    const { checkout, origin, agent } = await makeCheckout(files);
    writeFiles(checkout.workTree, { "a.txt": "edited" });
    damage(join(checkout.workTree, ".git"));
    await refreshAgentRefs(checkout, origin);
    expect(lstatSync(join(checkout.workTree, ".git")).isDirectory()).toBe(true);
    expect(agent.git(["status", "--porcelain"])).toBe(" M a.txt");
    expect(existsSync("/tmp/packed-refs")).toBe(false);
  });

  test("a packed-refs file that is a link is replaced, not followed", async () => {
    const { checkout, origin, home } = await makeCheckout(files);
    const victim = join(home, "victim");
    writeFiles(home, { victim: "safe" });
    const packed = join(checkout.workTree, ".git/packed-refs");
    rmSync(packed);
    symlinkSync(victim, packed);
    await refreshAgentRefs(checkout, origin);
    expect(readFileSync(victim, "utf8")).toBe("safe");
    expect(lstatSync(packed).isFile()).toBe(true);
  });
});

test("retiring takes the folders away at once and deletes them in the background", async () => {
  const { checkout } = await makeCheckout(files);
  const { deleted } = await retireCheckout(checkout);
  expect([checkout.workTree, checkout.gitDir].map((path) => existsSync(path))).toEqual([
    false,
    false,
  ]);
  await deleted;
  await expect(retireCheckout(checkout)).resolves.toBeDefined();
});

async function treeOf(gitDir: string, commit: string): Promise<string> {
  return repositoryAt(gitDir).git(["rev-parse", `${commit}^{tree}`]);
}
