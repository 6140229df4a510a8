// Replay (spec 1.5): the work so far stands on the new head, what does not fit is between markers, and a crash loses
// nothing.

import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  checkoutOf,
  createCheckout,
  ensureCheckout,
} from "../../../runners/repository/checkout.ts";
import { headOf } from "../../../runners/repository/commit.ts";
import { fetchHead } from "../../../runners/repository/head.ts";
import { openMirror } from "../../../runners/repository/mirror.ts";
import { publishWork } from "../../../runners/repository/publish-work.ts";
import { replayWork } from "../../../runners/repository/replay.ts";
import { readState, saveState } from "../../../runners/repository/saved-state.ts";
import {
  makeRepository,
  repositoryAt,
  temporaryFolder,
  writeFiles,
  type Files,
} from "../../fakes/repository.ts";

const mandateId = "m-7k3f";
const pull = 7;
const lines = "one\ntwo\nthree\nfour\nfive\n";
const files = { "a.txt": lines, "b.txt": "b\n", "gone.txt": "gone\n" };

/** A pull request from a fork, of which the repository has the pull ref alone, and a checkout of its head. */
async function pullRequest() {
  const source = makeRepository(files);
  const home = temporaryFolder();
  const place = { home, environment: {} };
  const repository = { id: "r1", source: source.path, defaultBranch: "main" };

  /** The fork's owner pushes a commit on top of another. */
  function push(changes: Files, on: string): string {
    const fork = repositoryAt(source.path);
    fork.git(["checkout", "--quiet", "--detach", on]);
    const commit = fork.commit(changes);
    fork.git(["checkout", "--quiet", "main"]);
    fork.git(["update-ref", `refs/pull/${pull}/head`, commit]);
    return commit;
  }

  const from = push({ "pull.txt": "pull\n" }, "main");
  const mirror = await openMirror({ home, repositoryId: "r1" });
  await fetchHead(mirror, { ...repository, head: { pull, commit: from } });
  const checkout = checkoutOf({ home, mandateId });
  await createCheckout(checkout, { mirror, base: from });

  function replay(to: string, at = from) {
    return replayWork(place, { mandateId, repository, from: at, to: { pull, commit: to } });
  }

  /** The checkout as the next turn finds it. */
  async function next() {
    await ensureCheckout(checkout, { mirror, base: from });
    const path = checkout.workTree;
    return {
      agent: repositoryAt(path),
      text: (name: string) => readFileSync(join(path, name), "utf8"),
    };
  }

  return { source, place, repository, from, mirror, checkout, push, replay, next };
}

type Pull = Awaited<ReturnType<typeof pullRequest>>;

async function work({ checkout }: Pull, changes: Files, deleted: readonly string[] = []) {
  writeFiles(checkout.workTree, changes);
  for (const name of deleted) rmSync(join(checkout.workTree, name));
  await saveState(checkout, { doneSteps: 1 });
}

describe("work that fits", () => {
  test("stands on the new head, with changed, new and deleted files", async () => {
    const made = await pullRequest();
    await work(made, { "a.txt": lines.replace("one", "ONE"), "new.txt": "new\n" }, ["gone.txt"]);
    const to = made.push({ "a.txt": lines.replace("five", "FIVE"), "c.txt": "c\n" }, made.from);
    expect(await made.replay(to)).toEqual({ kind: "replayed" });
    const { agent, text } = await made.next();
    expect(await headOf(made.checkout)).toBe(to);
    expect(text("a.txt")).toBe(lines.replace("one", "ONE").replace("five", "FIVE"));
    expect(text("c.txt")).toBe("c\n");
    expect(agent.git(["status", "--porcelain"])).toBe("M  a.txt\nD  gone.txt\n?? new.txt");
    expect(agent.git(["rev-parse", "HEAD"])).toBe(to);
    expect(agent.git(["rev-parse", `origin/pull/${pull}/head`])).toBe(to);
    expect(await readState(made.checkout)).toMatchObject({ base: to, doneSteps: 1 });
  });

  test("stands on a head that was rewritten and shares nothing with the old one but the base", async () => {
    const made = await pullRequest();
    await work(made, { "b.txt": "B\n" });
    const to = made.push({ "pull.txt": "rewritten\n" }, "main");
    expect(await made.replay(to)).toEqual({ kind: "replayed" });
    const { text } = await made.next();
    expect([text("b.txt"), text("pull.txt")]).toEqual(["B\n", "rewritten\n"]);
  });

  test("is published as a commit on the new head alone", async () => {
    const made = await pullRequest();
    await work(made, { "b.txt": "B\n" });
    const to = made.push({ "c.txt": "c\n" }, made.from);
    await made.replay(to);
    made.source.git(["branch", "feature", to]);
    const published = await publishWork(made.place, {
      ...publication(made, to),
      branch: "feature",
      publishedCommit: to,
    });
    expect(published).toMatchObject({ kind: "published", files: ["b.txt"] });
    expect(made.source.git(["rev-parse", "feature^@"])).toBe(to);
  });

  test("joins what was published before on a branch of its own", async () => {
    const made = await pullRequest();
    await work(made, { "b.txt": "B\n" });
    const first = await publishWork(made.place, publication(made, made.from));
    const publishedCommit = first.kind === "published" ? first.commit : "";
    const to = made.push({ ".github/workflows/x.yml": "on: push\n" }, made.from);
    await made.replay(to);
    const again = { ...publication(made, to), publishedCommit };
    const second = await publishWork(made.place, again);
    expect(second).toMatchObject({ kind: "published", files: ["b.txt"] });
    const { branch } = again;
    expect(made.source.git(["rev-parse", `${branch}^1`, `${branch}^2`])).toBe(
      `${publishedCommit}\n${to}`,
    );
    expect(made.source.git(["diff", "--name-only", to, branch])).toBe("b.txt");
  });
});

describe("work that does not fit", () => {
  test("is left between markers, and named", async () => {
    const made = await pullRequest();
    await work(made, { "a.txt": lines.replace("two", "mine"), "b.txt": "B\n" });
    const to = made.push({ "a.txt": lines.replace("two", "theirs") }, made.from);
    expect(await made.replay(to)).toEqual({ kind: "conflicts", files: ["a.txt"] });
    const { text } = await made.next();
    expect(text("a.txt")).toBe(
      lines.replace("two\n", "<<<<<<< new-head\ntheirs\n=======\nmine\n>>>>>>> work-so-far\n"),
    );
    expect(text("b.txt")).toBe("B\n");
  });

  test("keeps a file that one side deleted and the other changed", async () => {
    const made = await pullRequest();
    await work(made, { "b.txt": "B\n" }, ["gone.txt"]);
    made.source.git(["checkout", "--quiet", "--detach", made.from]);
    made.source.git(["rm", "--quiet", "b.txt"]);
    const to = made.push({ "gone.txt": "still here\n" }, made.from);
    expect(await made.replay(to)).toEqual({
      kind: "conflicts",
      files: ["b.txt", "gone.txt"],
    });
    const { text } = await made.next();
    expect([text("b.txt"), text("gone.txt")]).toEqual(["B\n", "still here\n"]);
  });

  test("names a new file that both made", async () => {
    const made = await pullRequest();
    await work(made, { "new ä.txt": "mine\n" });
    const to = made.push({ "new ä.txt": "theirs\n" }, made.from);
    expect(await made.replay(to)).toEqual({ kind: "conflicts", files: ["new ä.txt"] });
  });
});

describe("nothing to move", () => {
  test("is said of a checkout without changes, which goes on from the new head", async () => {
    const made = await pullRequest();
    await work(made, {});
    const to = made.push({ "c.txt": "c\n" }, made.from);
    expect(await made.replay(to)).toEqual({ kind: "nothing" });
    expect((await made.next()).text("c.txt")).toBe("c\n");
    expect(await headOf(made.checkout)).toBe(to);
  });

  test("is said where nothing is kept here", async () => {
    const made = await pullRequest();
    for (const name of ["work", "shadow"]) rmSync(join(made.place.home, name), { recursive: true });
    const to = made.push({ "c.txt": "c\n" }, made.from);
    expect(await made.replay(to)).toEqual({ kind: "nothing" });
  });
});

describe("a repeat", () => {
  test("says the same and changes nothing more", async () => {
    const made = await pullRequest();
    await work(made, { "a.txt": lines.replace("two", "mine") });
    const to = made.push({ "a.txt": lines.replace("two", "theirs") }, made.from);
    const first = await made.replay(to);
    const state = await readState(made.checkout);
    expect(await made.replay(to)).toEqual(first);
    await made.next();
    expect(await made.replay(to)).toEqual(first);
    expect(await readState(made.checkout)).toEqual(state);
    expect((await made.next()).text("a.txt").match(/<<<<<<</g)).toHaveLength(1);
  });

  test("after a crash onto a third head begins from the work as it was", async () => {
    const made = await pullRequest();
    await work(made, { "a.txt": lines.replace("two", "mine") });
    const second = made.push({ "a.txt": lines.replace("two", "theirs") }, made.from);
    await made.replay(second);
    await made.next();
    const third = made.push({ "c.txt": "c\n" }, made.from);
    expect(await made.replay(third)).toEqual({ kind: "replayed" });
    const { text } = await made.next();
    expect(text("a.txt")).toBe(lines.replace("two", "mine"));
    expect(text("c.txt")).toBe("c\n");
  });

  test("after more work takes all of it along", async () => {
    const made = await pullRequest();
    await work(made, { "b.txt": "B\n" });
    const second = made.push({ "c.txt": "c\n" }, made.from);
    await made.replay(second);
    await made.next();
    await work(made, { "more.txt": "more\n" });
    const third = made.push({ "d.txt": "d\n" }, second);
    expect(await made.replay(third, second)).toEqual({ kind: "replayed" });
    const { text } = await made.next();
    expect(["b.txt", "more.txt", "c.txt", "d.txt"].map(text)).toEqual([
      "B\n",
      "more\n",
      "c\n",
      "d\n",
    ]);
  });
});

describe("a checkout that was not saved", () => {
  test("is taken along as it stands", async () => {
    const made = await pullRequest();
    await work(made, { "b.txt": "B\n" });
    writeFiles(made.checkout.workTree, { "late.txt": "late\n" });
    const to = made.push({ "c.txt": "c\n" }, made.from);
    await made.replay(to);
    expect((await made.next()).text("late.txt")).toBe("late\n");
  });

  test("with files that no state can hold stays where it is", async () => {
    const made = await pullRequest();
    await work(made, { "b.txt": "B\n" });
    for (let number = 0; number <= 5_000; number += 1) {
      writeFiles(made.checkout.workTree, { [`many/${number}`]: "" });
    }
    const to = made.push({ "c.txt": "c\n" }, made.from);
    await expect(made.replay(to)).rejects.toMatchObject({ code: "checkout-incomplete" });
    expect(existsSync(join(made.checkout.workTree, "many/5000"))).toBe(true);
    expect(await headOf(made.checkout)).toBe(made.from);
  });
});

test("a head that cannot be fetched is gone, and the work stays as it was", async () => {
  const made = await pullRequest();
  await work(made, { "b.txt": "B\n" });
  await expect(made.replay("1".repeat(40))).rejects.toMatchObject({ code: "head-gone" });
  expect((await made.next()).text("b.txt")).toBe("B\n");
  expect(await headOf(made.checkout)).toBe(made.from);
});

function publication({ repository }: Pull, baseCommit: string) {
  return {
    mandateId,
    repository,
    baseCommit,
    branch: `holdfast/${mandateId}-work`,
    title: "work",
    body: "",
    coAuthor: null,
    publishedCommit: null,
    paths: ["**"],
    untracked: "commit",
    filesLimit: 300,
    bytesLimit: 1_000_000,
    at: 1_700_000_000_000,
  } as const;
}
