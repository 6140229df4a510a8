// A saved state goes from one home to another (spec 5.1, 7.1), both real: what arrives is what was left, and what is not
// to be had is never taken for something older.

import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hasState, packState, unpackState } from "../../../runners/repository/carrying.ts";
import { checkoutOf, ensureCheckout } from "../../../runners/repository/checkout.ts";
import { openMirror } from "../../../runners/repository/mirror.ts";
import { saveState } from "../../../runners/repository/saved-state.ts";
import type { CarriedState } from "../../../runners/runner.ts";
import { makeCheckout } from "../../fakes/checkout.ts";
import { temporaryFolder, writeFiles } from "../../fakes/repository.ts";

const repositoryId = "local/demo";
const mandateId = "m-7k3f";

/** A mandate's work in one home, and another home that has never heard of it. */
async function begin(readme = "hello\n") {
  const first = await makeCheckout({ "README.md": readme, "src/a.txt": "a\n" });
  const { source, origin } = first;
  const repository = { id: repositoryId, source: source.path, defaultBranch: "main" };
  const home = temporaryFolder();
  const place = { home, environment: process.env };
  const checkout = checkoutOf({ home, mandateId });
  return {
    home,
    first,
    source,
    checkout,
    pack: () => packState({ home: first.home, environment: process.env }, mandateId),
    unpack: (state: CarriedState | null) =>
      unpackState(place, { mandateId, repository, pull: null, state }),
    open: async () => {
      const mirror = await openMirror({ home, repositoryId });
      return ensureCheckout(checkout, { mirror, base: origin.base });
    },
  };
}

function textAt(folder: string, path: string): string {
  return readFileSync(join(folder, path), "utf8");
}

test("changed, new and deleted files arrive, and only what the repository does not have is carried", async () => {
  const { first, checkout, pack, unpack, open } = await begin();
  writeFiles(first.checkout.workTree, { "README.md": "changed\n", "new/b.txt": "b\n" });
  const { commit } = await saveState(first.checkout);
  const state = await pack();
  expect(state).toMatchObject({ commit, base: first.origin.base });
  expect(state?.pack.length).toBeLessThan(2_000);
  await unpack(state);
  expect(await open()).toBe("restored");
  expect(textAt(checkout.workTree, "README.md")).toBe("changed\n");
  expect(textAt(checkout.workTree, "new/b.txt")).toBe("b\n");
  expect(textAt(checkout.workTree, "src/a.txt")).toBe("a\n");
  expect(await saveState(checkout)).toMatchObject({ commit });
});

test("what was here before of the mandate gives way", async () => {
  const { first, checkout, pack, unpack, open } = await begin();
  writeFiles(first.checkout.workTree, { "one.txt": "1\n" });
  await saveState(first.checkout);
  await unpack(await pack());
  await open();
  writeFiles(checkout.workTree, { "left-over.txt": "of a turn that was lost\n" });
  await saveState(checkout);
  writeFiles(first.checkout.workTree, { "two.txt": "2\n" });
  await saveState(first.checkout);
  await unpack(await pack());
  expect(await open()).toBe("restored");
  expect(textAt(checkout.workTree, "two.txt")).toBe("2\n");
  expect(existsSync(join(checkout.workTree, "left-over.txt"))).toBe(false);
});

test("a base that is on no branch any more is fetched by its hash, or else nothing stays", async () => {
  const { first, source, pack, unpack, open } = await begin();
  writeFiles(first.checkout.workTree, { "one.txt": "1\n" });
  await saveState(first.checkout);
  const state = await pack();
  source.git(["commit", "--quiet", "--amend", "--message", "another beginning"]);
  await unpack(state);
  expect(await open()).toBe("restored");
  const other = await begin("another repository");
  await other.unpack(state);
  expect(existsSync(other.checkout.gitDir)).toBe(false);
});

test("what could not be saved leaves nothing of the mandate here", async () => {
  const { first, checkout, pack, unpack, open } = await begin();
  expect(await pack()).toBeNull();
  await saveState(first.checkout);
  await unpack(await pack());
  await open();
  await unpack(null);
  expect(existsSync(checkout.workTree)).toBe(false);
  expect(existsSync(checkout.gitDir)).toBe(false);
});

test("what was saved here is known here, and what another saved after it is not", async () => {
  const { home, first, pack, unpack } = await begin();
  function has(at: string, { commit }: { commit: string }): Promise<boolean> {
    return hasState({ home: at, environment: process.env }, { mandateId, commit });
  }
  writeFiles(first.checkout.workTree, { "one.txt": "1\n" });
  const one = await saveState(first.checkout);
  await unpack(await pack());
  writeFiles(first.checkout.workTree, { "two.txt": "2\n" });
  const two = await saveState(first.checkout);
  expect(await has(first.home, one)).toBe(true);
  expect(await has(home, one)).toBe(true);
  expect(await has(home, two)).toBe(false);
  expect(await has(temporaryFolder(), one)).toBe(false);
});

test("more than can be carried stays where it is", async () => {
  const { first, pack } = await begin();
  writeFiles(first.checkout.workTree, { "large.bin": randomBytes(65 * 1024 * 1024) });
  await saveState(first.checkout);
  expect(await pack()).toBeNull();
});
