// Pull request heads in the mirror (spec 1.5, 5.1): from forks too, pinned by hash, wherever the head is now.

import { expect, test } from "vitest";
import { fetchHead } from "../../../runners/repository/head.ts";
import { openMirror, resolve } from "../../../runners/repository/mirror.ts";
import { serveGit } from "../../fakes/git-server.ts";
import { makeRepository, temporaryFolder } from "../../fakes/repository.ts";

const password = "ghs_secret";

/** A repository with a pull request of two commits that no branch has, as paths and behind http. */
async function pullRequest() {
  const source = makeRepository({ a: "a" });
  const main = source.git(["rev-parse", "main"]);
  const [first, second] = ["first", "second"].map((message) =>
    source.git(["commit-tree", "main^{tree}", "-p", main, "-m", message]),
  );
  const bare = makeRepository({}, { bare: true });
  source.git(["push", "--quiet", bare.path, "main", `${first}:refs/pull/7/head`]);
  const mirror = await openMirror({ home: temporaryFolder(), repositoryId: "1" });
  const server = await serveGit({ path: bare.path, password });
  async function token() {
    return password;
  }
  function move(): void {
    source.git(["push", "--quiet", "--force", bare.path, `${second}:refs/pull/7/head`]);
  }
  return { bare, mirror, main, first: first ?? "", second: second ?? "", move, server, token };
}

test("a head that no branch has comes along with the branches", async () => {
  const { bare, mirror, main, first } = await pullRequest();
  await fetchHead(mirror, { source: bare.path, head: { pull: 7, commit: first } });
  expect(await resolve(mirror, "refs/pull/7/head")).toBe(first);
  expect(await resolve(mirror, "refs/heads/main")).toBe(main);
});

test("a head that moved stays what it was, also where it was never fetched before", async () => {
  const made = await pullRequest();
  made.move();
  for (const remote of [
    { source: made.server.url, token: made.token },
    { source: made.bare.path },
  ]) {
    const mirror = await openMirror({ home: temporaryFolder(), repositoryId: "1" });
    await fetchHead(mirror, { ...remote, head: { pull: 7, commit: made.first } });
    expect(await resolve(mirror, made.first)).toBe(made.first);
    expect(await resolve(mirror, "refs/pull/7/head")).toBe(made.second);
    expect(await resolve(mirror, "refs/heads/main")).toBe(made.main);
  }
});

test("a commit that is there is enough where the pull ref is gone", async () => {
  const { bare, mirror, first } = await pullRequest();
  const head = { pull: 7, commit: first };
  await fetchHead(mirror, { source: bare.path, head });
  bare.git(["update-ref", "-d", "refs/pull/7/head"]);
  await fetchHead(mirror, { source: bare.path, head });
  expect(await resolve(mirror, first)).toBe(first);
});

test("a commit that nobody has is gone, and is told from a remote that is gone", async () => {
  const { bare, mirror, server, token } = await pullRequest();
  const head = { pull: 8, commit: "1".repeat(40) };
  for (const remote of [{ source: bare.path }, { source: server.url, token }]) {
    await expect(fetchHead(mirror, { ...remote, head })).rejects.toMatchObject({
      code: "head-gone",
    });
  }
  const away = fetchHead(mirror, { source: "/no/such/repository", head });
  await expect(away).rejects.toMatchObject({ code: "git-failed" });
});

test("without a head asked for a repository needs no such refs", async () => {
  const source = makeRepository({ a: "a" });
  const mirror = await openMirror({ home: temporaryFolder(), repositoryId: "1" });
  await fetchHead(mirror, { source: source.path, head: null });
  expect(await resolve(mirror, "main")).toBe(source.git(["rev-parse", "main"]));
});
