// Publishing (spec 5.8, 6.4): one commit, one ref moved from a known value, and a repeat finds its own work.

import { chmodSync, existsSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { branchAt, publish, type Publication } from "../../../runners/repository/publish.ts";
import { makeCheckout, type TestCheckout } from "../../fakes/checkout.ts";
import { serveGit } from "../../fakes/git-server.ts";
import { makeRepository, writeFiles } from "../../fakes/repository.ts";

const branch = "holdfast/m-7k3f-demo";
const files = { "a.txt": "a\n", "dir/b.txt": "b\n" };

function publicationOf(
  { checkout, source }: TestCheckout,
  more: Partial<Publication> = {},
): Publication {
  return {
    checkout,
    target: source.path,
    branch,
    message: "Fix the login\n\nAs asked.",
    trailers: ["Co-authored-by: Ann <ann@example.org>", "Holdfast-Record: m-7k3f\nInjected: no"],
    author: { name: "holdfast[bot]", email: "bot@example.org", at: 1_700_000_123_456 },
    expectedOld: null,
    ...more,
  };
}

function edit({ checkout }: TestCheckout): void {
  writeFiles(checkout.workTree, { "a.txt": "edited\n", "new file.txt": "new\n" });
  rmSync(join(checkout.workTree, "dir/b.txt"));
}

describe("a first publication", () => {
  test("is one commit of everything on a new branch of the source", async () => {
    const made = await makeCheckout(files);
    edit(made);
    const published = await publish(publicationOf(made));
    const commit = made.source.git(["rev-parse", branch]);
    expect(published).toEqual({
      outcome: "published",
      commit,
      files: ["a.txt", "dir/b.txt", "new file.txt"],
      remoteCommit: commit,
    });
    expect(
      made.source.git(["show", "--name-status", "--format=%an <%ae> %at%n%P%n%B", branch]),
    ).toBe(
      [
        "holdfast[bot] <bot@example.org> 1700000123",
        made.origin.base,
        "Fix the login\n\nAs asked.\n",
        "Co-authored-by: Ann <ann@example.org>",
        "Holdfast-Record: m-7k3f Injected: no\n",
        "",
        "M\ta.txt\nD\tdir/b.txt\nA\tnew file.txt",
      ].join("\n"),
    );
    expect(made.source.git(["rev-parse", "main"])).toBe(made.origin.base);
    expect(made.source.git(["status", "--porcelain"])).toBe("");
  });

  test("with nothing changed is empty, whatever the agent committed and reverted", async () => {
    const made = await makeCheckout(files);
    made.agent.commit({ "a.txt": "edited\n" });
    made.agent.commit({ "a.txt": "a\n" });
    expect(await publish(publicationOf(made))).toEqual({ outcome: "empty" });
    expect(await branchAt({ target: made.source.path, branch })).toBeNull();
  });

  test("leaves untracked files out where policy says so", async () => {
    const made = await makeCheckout(files);
    edit(made);
    await publish(publicationOf(made, { untracked: "count" }));
    expect(made.source.git(["ls-tree", "--name-only", branch])).toBe("a.txt");
  });

  test("shows each change with its size to the rule, and pushes nothing that it refuses", async () => {
    const made = await makeCheckout(files);
    edit(made);
    const seen: unknown[] = [];
    const refused = await publish(
      publicationOf(made, {
        refuse(changes) {
          seen.push(...changes);
          return ["a.txt"];
        },
      }),
    );
    expect(refused).toEqual({ outcome: "refused", why: "files", list: ["a.txt"] });
    expect(seen).toEqual([
      { kind: "changed", path: "a.txt", bytes: 7 },
      { kind: "deleted", path: "dir/b.txt", bytes: 0 },
      { kind: "added", path: "new file.txt", bytes: 4 },
    ]);
    expect(await branchAt({ target: made.source.path, branch })).toBeNull();
  });

  test("is refused when a scan could not take everything", async () => {
    const made = await makeCheckout(files);
    symlinkSync("a.txt", join(made.checkout.workTree, ".gitmodules"));
    expect(await publish(publicationOf(made))).toEqual({
      outcome: "refused",
      why: "files",
      list: ["link-refused: .gitmodules"],
    });
  });
});

describe("a repeat", () => {
  test("after a crash behind the push adopts the same commit", async () => {
    const made = await makeCheckout(files);
    edit(made);
    const first = await publish(publicationOf(made));
    expect(await publish(publicationOf(made))).toEqual(first);
    expect(made.source.git(["rev-list", "--count", branch])).toBe("2");
  });

  test("with more work goes on from the commit before", async () => {
    const made = await makeCheckout(files);
    edit(made);
    const first = await publish(publicationOf(made));
    const expectedOld = first.outcome === "published" ? first.commit : "";
    expect(await publish(publicationOf(made, { expectedOld }))).toEqual({ outcome: "empty" });
    writeFiles(made.checkout.workTree, { "a.txt": "again\n" });
    const second = await publish(publicationOf(made, { expectedOld }));
    expect(second).toMatchObject({ outcome: "published", files: ["a.txt"] });
    expect(made.source.git(["rev-parse", `${branch}^`])).toBe(expectedOld);
  });
});

/** The host's memory of what it was about to push. */
function intentions() {
  const intended: string[] = [];
  async function intend(commit: string) {
    intended.push(commit);
  }
  return { intended, intend };
}

describe("a push whose answer was lost", () => {
  test("is adopted when the work went on, and built upon", async () => {
    const made = await makeCheckout(files);
    const { intended, intend } = intentions();
    edit(made);
    await publish(publicationOf(made, { intend }));
    const [intendedCommit = ""] = intended;
    expect(made.source.git(["rev-parse", branch])).toBe(intendedCommit);
    writeFiles(made.checkout.workTree, { "a.txt": "again\n" });
    const next = await publish(publicationOf(made, { intendedCommit, intend }));
    expect(next).toEqual({
      outcome: "published",
      commit: intended[1],
      remoteCommit: intended[1],
      files: ["a.txt", "dir/b.txt", "new file.txt"],
    });
    expect(made.source.git(["rev-parse", `${branch}^`])).toBe(intendedCommit);
  });

  test("is adopted when only the time is another, and nothing is pushed", async () => {
    const made = await makeCheckout(files);
    const { intended, intend } = intentions();
    edit(made);
    const first = await publish(publicationOf(made, { intend }));
    const [intendedCommit = ""] = intended;
    const author = { name: "bot", email: "bot@example.org", at: 1_800_000_000_000 };
    const repeat = publicationOf(made, { intendedCommit, intend, author });
    expect(await publish(repeat)).toEqual(first);
    expect(intended).toEqual([intendedCommit]);
  });

  test("is adopted below one that was intended and did not arrive", async () => {
    const made = await makeCheckout(files);
    const { intended, intend } = intentions();
    edit(made);
    await publish(publicationOf(made, { intend }));
    const [first = ""] = intended;
    writeFiles(made.checkout.workTree, { "a.txt": "again\n" });
    await publish(publicationOf(made, { intendedCommit: first, intend }));
    made.source.git(["update-ref", `refs/heads/${branch}`, first]);
    const intendedCommit = intended[1] ?? "";
    const third = await publish(publicationOf(made, { intendedCommit, intend }));
    expect(third).toMatchObject({ outcome: "published", commit: intendedCommit });
    expect(made.source.git(["rev-parse", branch])).toBe(intendedCommit);
  });

  test("is no excuse to take a commit of somebody else for ours", async () => {
    const made = await makeCheckout(files);
    const { intended, intend } = intentions();
    edit(made);
    await publish(publicationOf(made, { intend }));
    for (const other of ["on top", "instead"]) {
      const tree = `${made.origin.base}^{tree}`;
      const parent = other === "on top" ? branch : made.origin.base;
      const commit = made.source.git(["commit-tree", tree, "-p", parent, "-m", other]);
      made.source.git(["update-ref", `refs/heads/${branch}`, commit]);
      const repeat = publicationOf(made, { intendedCommit: intended[0], intend });
      expect(await publish(repeat)).toMatchObject({ outcome: "refused", why: "remote-moved" });
    }
    made.source.git(["update-ref", `refs/heads/${branch}`, made.origin.base]);
    const repeat = publicationOf(made, { intendedCommit: intended[0], intend });
    expect(await publish(repeat)).toMatchObject({ outcome: "refused", why: "remote-moved" });
  });
});

describe("the branch of a pull request", () => {
  test("is moved forward from its pinned head, and from nowhere else", async () => {
    const made = await makeCheckout(files);
    made.source.git(["branch", "feature"]);
    edit(made);
    const onFeature = publicationOf(made, { branch: "feature", expectedOld: made.origin.base });
    expect(await publish(onFeature)).toMatchObject({ outcome: "published" });
    expect(made.source.git(["rev-parse", "feature^"])).toBe(made.origin.base);
    const top = made.source.git(["commit-tree", "feature^{tree}", "-p", "feature", "-m", "top"]);
    made.source.git(["update-ref", "refs/heads/feature", top]);
    const refused = { outcome: "refused", why: "remote-moved", list: [top] };
    expect(await publish(onFeature)).toEqual(refused);
  });
});

describe("what the server refuses for good", () => {
  async function token() {
    return "ghs_secret";
  }

  /** A bare repository to be put behind a server, with a hook. */
  async function hooked(script: string) {
    const made = await makeCheckout(files);
    edit(made);
    const bare = makeRepository({}, { bare: true });
    made.source.git(["push", "--quiet", bare.path, "main"]);
    writeFiles(join(bare.path, "hooks"), { "pre-receive": `#!/bin/sh\n${script}\n` });
    chmodSync(join(bare.path, "hooks/pre-receive"), 0o755);
    return { made, bare };
  }

  test("is told in its words, on one line and without the token", async () => {
    const { made, bare } = await hooked(
      "echo 'GH006: Protected branch update failed.' >&2; echo '  token ghs_secret' >&2; exit 1",
    );
    const server = await serveGit({ path: bare.path, password: "ghs_secret" });
    expect(await publish(publicationOf(made, { target: server.url, token }))).toEqual({
      outcome: "refused",
      why: "not-allowed",
      list: ["GH006: Protected branch update failed. token *** pre-receive hook declined"],
    });
  });

  test("a push that is forbidden is not tried for ever", async () => {
    const { made, bare } = await hooked("exit 0");
    const server = await serveGit({
      path: bare.path,
      password: "ghs_secret",
      instead: ({ url = "" }) =>
        url.endsWith("git-receive-pack") ? { status: 403, body: "no" } : null,
    });
    const refused = await publish(publicationOf(made, { target: server.url, token }));
    expect(refused).toMatchObject({ outcome: "refused", why: "not-allowed" });
  });
});

describe("what is in the way", () => {
  test("a branch that somebody else made or moved stays as it is", async () => {
    const made = await makeCheckout(files);
    edit(made);
    made.source.git(["branch", branch]);
    const refused = { outcome: "refused", why: "remote-moved", list: [made.origin.base] };
    expect(await publish(publicationOf(made))).toEqual(refused);
    const other = publicationOf(made, { expectedOld: "3".repeat(40) });
    expect(await publish(other)).toEqual(refused);
    expect(made.source.git(["rev-parse", branch])).toBe(made.origin.base);
  });

  test("a branch that vanished is not made again", async () => {
    const made = await makeCheckout(files);
    edit(made);
    const expectedOld = made.origin.base;
    const published = await publish(publicationOf(made, { expectedOld }));
    expect(published).toEqual({ outcome: "refused", why: "remote-moved", list: [] });
  });

  test.each([["refuse"], ["ignore"], ["updateInstead"]])(
    "a branch that is checked out is left alone, also with denyCurrentBranch=%s",
    async (setting) => {
      const made = await makeCheckout(files);
      edit(made);
      made.source.git(["config", "receive.denyCurrentBranch", setting]);
      const onMain = publicationOf(made, { branch: "main", expectedOld: made.origin.base });
      expect(await publish(onMain)).toEqual({
        outcome: "refused",
        why: "checked-out",
        list: ["main"],
      });
      expect(made.source.git(["rev-parse", "main"])).toBe(made.origin.base);
    },
  );

  test("a branch that cannot exist beside another is a failure that moved nothing", async () => {
    const made = await makeCheckout(files);
    edit(made);
    made.source.git(["branch", "holdfast"]);
    await expect(publish(publicationOf(made))).rejects.toMatchObject({ code: "git-failed" });
  });

  test("no hook of the target runs", async () => {
    const made = await makeCheckout(files);
    edit(made);
    const marker = join(made.home, "fired");
    const hooks = join(made.source.path, ".git/hooks");
    const hookNames = [
      "pre-receive",
      "update",
      "post-receive",
      "post-update",
      "reference-transaction",
    ];
    for (const name of hookNames) {
      writeFiles(hooks, { [name]: `#!/bin/sh\necho ${name} >> '${marker}'\nexit 1\n` });
      chmodSync(join(hooks, name), 0o755);
    }
    expect(await publish(publicationOf(made))).toMatchObject({ outcome: "published" });
    expect(existsSync(marker)).toBe(false);
    expect(() => made.source.git(["update-ref", "refs/heads/x", "main"])).toThrow("aborted");
    expect(existsSync(marker)).toBe(true);
  });

  test("a bare target is as good, one that is gone is a failure", async () => {
    const made = await makeCheckout(files);
    edit(made);
    const bare = makeRepository({}, { bare: true });
    const target = bare.path;
    await expect(publish(publicationOf(made, { target }))).resolves.toMatchObject({
      outcome: "published",
    });
    writeFileSync(join(target, "HEAD"), "broken");
    await expect(publish(publicationOf(made, { target }))).rejects.toMatchObject({
      code: "git-failed",
    });
  });
});
