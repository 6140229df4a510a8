// Publishing when the work is no longer on this machine (spec 5.1, 5.8): said, never taken for an empty result.

import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkoutOf, createCheckout } from "../../../runners/repository/checkout.ts";
import { fetchMirror, openMirror } from "../../../runners/repository/mirror.ts";
import { publishWork } from "../../../runners/repository/publish-work.ts";
import { saveState } from "../../../runners/repository/saved-state.ts";
import type { PublishRequest } from "../../../runners/runner.ts";
import { makeRepository, temporaryFolder, writeFiles } from "../../fakes/repository.ts";

const mandateId = "m-7k3f";

/** A mandate whose turn has left a new file, and what publishes it. */
async function worked() {
  const source = makeRepository({ "README.md": "hello\n" });
  const home = temporaryFolder();
  const base = source.git(["rev-parse", "HEAD"]);
  const mirror = await openMirror({ home, repositoryId: "r1" });
  await fetchMirror(mirror, { source: source.path });
  const checkout = checkoutOf({ home, mandateId });
  await createCheckout(checkout, { mirror, base });
  writeFiles(checkout.workTree, { "new.txt": "new\n" });
  await saveState(checkout);
  const place = { home, environment: process.env };
  const request = {
    mandateId,
    repository: { id: "r1", source: source.path, defaultBranch: "main" },
    baseCommit: base,
    branch: `holdfast/${mandateId}-new`,
    title: "new",
    body: "",
    coAuthor: null,
    publishedCommit: null,
    paths: ["**"],
    untracked: "commit",
    filesLimit: 300,
    bytesLimit: 1_000_000,
    at: 1_700_000_000_000,
  } as const;
  function publishAs(more: Partial<PublishRequest> = {}) {
    return publishWork(place, { ...request, ...more });
  }
  return { home, source, checkout, base, publish: publishAs };
}

test("a lost checkout comes back from its saved state and is published", async () => {
  const { home, publish } = await worked();
  rmSync(join(home, "work"), { recursive: true });
  expect(await publish()).toMatchObject({ kind: "published", files: ["new.txt"] });
});

test("work that is lost with its saved state is said to be lost, and nothing is pushed", async () => {
  const { home, source, publish } = await worked();
  rmSync(join(home, "work"), { recursive: true });
  rmSync(join(home, "shadow"), { recursive: true });
  const lost = expect.objectContaining({ name: "Failure", code: "checkout-lost" });
  await expect(publish()).rejects.toThrow(lost);
  // The fresh checkout that was made meanwhile is not taken for the work either.
  await expect(publish()).rejects.toThrow(lost);
  expect(source.git(["branch", "--list", "holdfast/*"])).toBe("");
});

test("work of which files could not be saved is lost with its checkout", async () => {
  const { home, source, checkout, publish } = await worked();
  for (let number = 0; number <= 5_000; number += 1) {
    writeFiles(checkout.workTree, { [`many/${number}`]: "" });
  }
  await saveState(checkout);
  rmSync(join(home, "work"), { recursive: true });
  const lost = expect.objectContaining({ name: "Failure", code: "checkout-lost" });
  await expect(publish()).rejects.toThrow(lost);
  await expect(publish()).rejects.toThrow(lost);
  expect(source.git(["branch", "--list", "holdfast/*"])).toBe("");
});

test.each([
  [".github/workflows/ci.yml"],
  [".forgejo/workflows/deep/ci.yml"],
  [".gitea/workflows/ci.yml"],
])("%s is not published, whatever `publish.paths` names", async (path) => {
  const { source, checkout, publish } = await worked();
  writeFiles(checkout.workTree, { [path]: "on: push\n", ".github/other.yml": "x" });
  expect(await publish({ paths: ["**", path] })).toEqual({
    kind: "refused",
    why: "files",
    files: [path],
  });
  expect(source.git(["branch", "--list", "holdfast/*"])).toBe("");
});

test.each([
  [".gitignore", "**", true],
  [".github/other.yml", "**", true],
  ["src/.env.example", "src/**", true],
  [".github/other.yml", ".github/*", true],
  [".github/other.yml", "{.github,src}/**", true],
  [".github/other.yml", "src/**", false],
  ["src.txt", "src/**", false],
])("%s within %s may be published: %s", async (path, pattern, may) => {
  const { checkout, publish } = await worked();
  rmSync(join(checkout.workTree, "new.txt"));
  writeFiles(checkout.workTree, { [path]: "text\n" });
  const outcome = await publish({ paths: [pattern] });
  expect(outcome).toMatchObject({ kind: may ? "published" : "refused", files: [path] });
});

test("a link in place of the workflows is not published either", async () => {
  const { checkout, publish } = await worked();
  symlinkSync("elsewhere", join(checkout.workTree, ".github"));
  const refused = { kind: "refused", why: "files", files: [".github"] };
  expect(await publish({ paths: ["**", ".github"] })).toEqual(refused);
});

test("what an earlier checkout published is fetched to go on from it", async () => {
  const { source, base, publish } = await worked();
  const elsewhere = source.git(["commit-tree", `${base}^{tree}`, "-p", base, "-m", "published"]);
  source.git(["update-ref", `refs/heads/holdfast/${mandateId}-new`, elsewhere]);
  const published = await publish({ publishedCommit: elsewhere });
  expect(published).toMatchObject({ kind: "published", files: ["new.txt"] });
  expect(source.git(["rev-parse", `holdfast/${mandateId}-new^`])).toBe(elsewhere);
});

test("a commit is by whom the forge knows", async () => {
  const { source, publish } = await worked();
  await publish({ author: { name: "bot[bot]", email: "1+bot[bot]@example.org" } });
  expect(source.git(["log", "-1", "--format=%an <%ae> %cn", `holdfast/${mandateId}-new`])).toBe(
    "bot[bot] <1+bot[bot]@example.org> bot[bot]",
  );
});
