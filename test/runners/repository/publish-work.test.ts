// Publishing when the work is no longer on this machine (spec 5.1, 5.8): said, never taken for an empty result.

import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkoutOf, createCheckout, saveState } from "../../../runners/repository/checkout.ts";
import { fetchMirror, openMirror } from "../../../runners/repository/mirror.ts";
import { publishWork } from "../../../runners/repository/publish-work.ts";
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
  return { home, source, publish: () => publishWork(place, request) };
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
