// The contract of the forge port (spec 6.1) for forges behind a network, where other people and programs act beside us:
// heads that move, checks, releases, deliveries that fail. Follows capabilities, never a forge's name.
import { describe, expect, onTestFinished, test } from "vitest";
import type { Check, ForgeText, Person, RepositoryRef } from "../../app/forge/forge.ts";
import type { ForgeHarness } from "./forge.ts";

/** What people and other programs do there. */
export interface NetworkHarness extends ForgeHarness {
  /** One commit more on a branch, which begins at `main`; gives the commit. */
  readonly push: (branch: string) => Promise<string>;
  /** Nobody pushes there without a pull request from now on. */
  readonly protect: (branch: string) => Promise<void>;
  readonly openPull: (
    pull: { head: string; isFromFork: boolean },
    author: Person,
  ) => Promise<number>;
  readonly merge: (number: number, author: Person) => Promise<void>;
  /** Gives the text's id as the port has it. */
  readonly review: (number: number, body: string, author: Person) => Promise<string>;
  readonly inlineComment: (number: number, body: string, author: Person) => Promise<string>;
  readonly tag: (name: string, commit: string) => Promise<void>;
  readonly release: (release: { tag: string; isPrerelease: boolean }) => Promise<void>;
  readonly publishPackage: (name: string, version: string) => Promise<void>;
  /** Another program's; `null` has not ended. */
  readonly check: (commit: string, name: string, conclusion: string | null) => Promise<void>;
  readonly status: (commit: string, name: string, state: "pending" | "success") => Promise<void>;
  /** Ours, as everybody sees them. */
  readonly checksOn: (commit: string) => Promise<readonly SeenCheck[]>;
  readonly rename: (name: string) => Promise<void>;
  readonly archive: () => Promise<void>;
  /** The next deliveries do not arrive; redelivered ones do. */
  readonly failDeliveries: (count: number) => void;
  /** Deliveries that arrived, by GUID. */
  readonly arrived: () => Promise<string[]>;
  /** Whether the token opens the repository over git. */
  readonly opens: (token: string | null, use: "read" | "write") => Promise<boolean>;
}

export interface SeenCheck {
  readonly name: string;
  readonly conclusion: string | null;
  readonly title: string | null;
  readonly annotationCount: number;
}

type Begin = () => Promise<NetworkHarness>;

export function describeNetworkForge(name: string, makeForge: Begin): void {
  async function begin(): Promise<NetworkHarness> {
    const harness = await makeForge();
    onTestFinished(() => harness.close());
    return harness;
  }

  describe(`the forge port behind a network: ${name}`, () => {
    describePlaces(begin);
    describeHeads(begin);
    describeTexts(begin);
    describeChecks(begin);
    describeReleases(begin);
    describeDeliveries(begin);
  });
}

function describePlaces(begin: Begin): void {
  test("a repository is found by its id under the name it has now", async () => {
    const { forge, repository, admin, openIssue, rename, later } = await begin();
    const before = await forge.readRepository(repository);
    const number = await openIssue({ title: "A gap", body: "Close it." }, admin);
    await rename("gate");
    await later();
    const conversation = await forge.readConversation({ ...repository, number });
    expect(conversation).toMatchObject({ title: "A gap" });
    const [after] = await forge.listRepositories();
    expect(after).toMatchObject({ forgeId: before?.forgeId, account: before?.account });
    expect(after?.name).toBe(before?.name.replace("door", "gate"));
    expect(after?.source).toBe(before?.source.replace("door", "gate"));
  });

  test("a repository that was archived says so", async () => {
    const { forge, archive } = await begin();
    await archive();
    expect(await forge.listRepositories()).toMatchObject([{ isArchived: true }]);
  });

  test("a token opens the repository for its use alone, and each is another one", async () => {
    const { forge, repository, opens } = await begin();
    const reading = await forge.gitToken(repository, "read");
    const writing = await forge.gitToken(repository, "write");
    expect(await opens(null, "read")).toBe(false);
    expect(await opens(reading, "read")).toBe(true);
    expect(await opens(reading, "write")).toBe(false);
    expect(await opens(writing, "write")).toBe(true);
    expect(await forge.gitToken(repository, "write")).not.toBe(writing);
  });

  test("a token for what is not there is refused for good", async () => {
    const { forge, repository } = await begin();
    const asked = forge.gitToken({ ...repository, forgeId: "987654" }, "read");
    await expect(asked).rejects.toMatchObject({ code: "refused", retry: "never" });
  });
}

function describeHeads(begin: Begin): void {
  test("a pull request is read with its head, and with the next one when it moved", async () => {
    const { forge, repository, admin, push, openPull, merge } = await begin();
    const headCommit = await push("hinge");
    const number = await openPull({ head: "hinge", isFromFork: false }, admin);
    const seen = await forge.readPull({ ...repository, number });
    expect(seen).toEqual({
      number,
      state: "open",
      isDraft: false,
      author: admin,
      headCommit,
      headBranch: "hinge",
      isFork: false,
      isHeadProtected: false,
      baseBranch: "main",
    });
    const moved = await push("hinge");
    expect(await forge.readPull({ ...repository, number })).toEqual({ ...seen, headCommit: moved });
    await merge(number, admin);
    expect(await forge.readPull({ ...repository, number })).toMatchObject({ state: "merged" });
    const conversation = await forge.readConversation({ ...repository, number });
    expect(conversation).toMatchObject({ kind: "pull", state: "merged" });
  });

  test("a head in a fork, and a head that is protected, say that nobody pushes there", async () => {
    const { forge, repository, admin, stranger, push, openPull, protect } = await begin();
    await push("hinge");
    const foreign = await openPull({ head: "hinge", isFromFork: true }, stranger);
    const own = await openPull({ head: "hinge", isFromFork: false }, admin);
    await protect("hinge");
    const fork = await forge.readPull({ ...repository, number: foreign });
    expect(fork).toMatchObject({ isFork: true, isHeadProtected: false, author: stranger });
    const seen = await forge.readPull({ ...repository, number: own });
    expect(seen).toMatchObject({ isFork: false, isHeadProtected: true });
  });

  test("a fork's branch of the same name is not the pull request of ours", async () => {
    const { forge, repository, stranger, push, openPull } = await begin();
    await push("hinge");
    await openPull({ head: "hinge", isFromFork: true }, stranger);
    expect(await forge.findPull(repository, "hinge")).toBeNull();
  });

  test("an issue is no pull request", async () => {
    const { forge, repository, admin, openIssue } = await begin();
    const number = await openIssue({ title: "A gap", body: "Close it." }, admin);
    expect(await forge.readPull({ ...repository, number })).toBeNull();
  });

  test("a ref is read as its commit", async () => {
    const { forge, repository, push, tag } = await begin();
    const commit = await push("hinge");
    await tag("v1.0.0", commit);
    expect(await forge.readRef(repository, "refs/heads/hinge")).toBe(commit);
    expect(await forge.readRef(repository, "refs/tags/v1.0.0")).toBe(commit);
    expect(await forge.readRef(repository, "refs/tags/v1")).toBeNull();
  });
}

function describeTexts(begin: Begin): void {
  test("a review and a comment on a line are texts of their pull request", async () => {
    const { forge, repository, admin, push, openPull, ...hands } = await begin();
    await push("hinge");
    const number = await openPull({ head: "hinge", isFromFork: false }, admin);
    const reviewed = await hands.review(number, "creaks", admin);
    const inline = await hands.inlineComment(number, "here", admin);
    const review = { ...repository, kind: "review", id: reviewed } as const;
    const line = { ...repository, kind: "inline-comment", id: inline } as const;
    const about = { number, author: admin };
    expect(await forge.readText(review)).toMatchObject({ ...about, ref: review, body: "creaks" });
    expect(await forge.readText(line)).toMatchObject({ ...about, ref: line, body: "here" });
    await forge.react(line, "eyes");
    expect(await hands.reactionsOn(line)).toEqual(["eyes"]);
    await forge.react(review, "eyes");
  });

  test("texts since an instant are all that was made or changed, oldest first", async () => {
    const { forge, repository, admin, later, push, openPull, ...hands } = await begin();
    await push("hinge");
    const old = await hands.openIssue({ title: "old", body: "old" }, admin);
    const pull = await openPull({ head: "hinge", isFromFork: false }, admin);
    const edited = await hands.writeComment(old, "before", admin);
    const since = await later();
    const acts = [
      () => hands.writeComment(old, "a comment", admin),
      () => hands.openIssue({ title: "new", body: "an issue" }, admin),
      () => hands.inlineComment(pull, "a line", admin),
      () => hands.review(pull, "a review", admin),
      () => hands.editComment(edited, "after", admin),
    ];
    for (const act of acts) {
      await act();
      await later();
    }
    const all = await forge.textsSince(repository, since, 10);
    const expected = ["a comment", "an issue", "a line", "a review", "after"];
    expect(all.map(({ body }) => body)).toEqual(expected);
    for (const text of all) expect(await forge.readText(text.ref)).toMatchObject(identityOf(text));
    expect(await forge.textsSince(repository, since, 2)).toEqual(all.slice(0, 2));
    expect(await forge.textsSince(repository, await later(), 10)).toEqual([]);
    expect(await forge.textsSince(elsewhere(repository), since, 10)).toEqual([]);
  });
}

function identityOf({ ref, number, body, author }: ForgeText) {
  return { ref, number, body, author };
}

function elsewhere(repository: RepositoryRef): RepositoryRef {
  return { ...repository, forgeId: "987654" };
}

const finding = { path: ".holdfast.yml", line: 3, message: "no such key" };
const check: Omit<Check, "commit"> = {
  name: "holdfast/policy",
  conclusion: "failure",
  title: "One problem",
  summary: "See the line.",
  annotations: [finding],
};

function describeChecks(begin: Begin): void {
  test("a check of ours is one per name and commit, and changed in place", async (context) => {
    const { forge, other, repository, push, checksOn } = await begin();
    if (!forge.capabilities.checks) context.skip("this forge has no checks");
    const commit = await push("hinge");
    await forge.writeCheck(repository, { ...check, commit });
    await forge.writeCheck(repository, { ...check, commit, name: "other" });
    await other.writeCheck(repository, { ...check, commit, conclusion: "success", title: "Good" });
    const seen = await checksOn(commit);
    expect(seen).toEqual([
      { name: check.name, conclusion: "success", title: "Good", annotationCount: 1 },
      { name: "other", conclusion: "failure", title: "One problem", annotationCount: 1 },
    ]);
  });

  test("at most 50 places are shown, and a check of an unknown commit is refused", async (context) => {
    const { forge, repository, push, checksOn } = await begin();
    if (!forge.capabilities.checks) context.skip("this forge has no checks");
    const commit = await push("hinge");
    const annotations = Array.from({ length: 70 }, () => finding);
    await forge.writeCheck(repository, { ...check, commit, annotations });
    expect(await checksOn(commit)).toMatchObject([{ annotationCount: 50 }]);
    const unknown = forge.writeCheck(repository, { ...check, commit: "f".repeat(40) });
    await expect(unknown).rejects.toMatchObject({ code: "refused" });
  });

  test("what other programs say of a commit is read, and ours is left out", async () => {
    const { forge, repository, push, status, ...hands } = await begin();
    const commit = await push("hinge");
    await hands.check(commit, "build", "success");
    await hands.check(commit, "lint", "cancelled");
    await hands.check(commit, "docs", "skipped");
    await hands.check(commit, "deploy", null);
    await status(commit, "ci", "pending");
    await status(commit, "ci/old", "success");
    if (forge.capabilities.checks) await forge.writeCheck(repository, { ...check, commit });
    const seen = await forge.readChecks(repository, commit);
    const states = Object.fromEntries(seen.map(({ name, state }) => [name, state]));
    expect(states).toEqual({
      build: "success",
      lint: "failure",
      docs: "success",
      deploy: "pending",
      ci: "pending",
      "ci/old": "success",
    });
  });

  test("many checks of one commit are read to the last", async () => {
    const { forge, repository, push, ...hands } = await begin();
    const commit = await push("hinge");
    for (let count = 1; count <= 120; count += 1) {
      await hands.check(commit, `check ${count}`, count === 120 ? "failure" : "success");
    }
    const seen = await forge.readChecks(repository, commit);
    expect(seen).toHaveLength(120);
    expect(seen.filter(({ state }) => state === "failure")).toHaveLength(1);
  });
}

function describeReleases(begin: Begin): void {
  test("releases and versions of packages come newest first", async (context) => {
    const { forge, repository, release, later, publishPackage } = await begin();
    if (!forge.capabilities.releases) context.skip("this forge has no releases");
    await release({ tag: "v1.0.0", isPrerelease: false });
    const since = await later();
    await release({ tag: "v2.0.0-rc.1", isPrerelease: true });
    const releases = await forge.listReleases(repository);
    expect(releases).toMatchObject([
      { tag: "v2.0.0-rc.1", isDraft: false, isPrerelease: true },
      { tag: "v1.0.0", isDraft: false, isPrerelease: false },
    ]);
    const [latest, first] = releases.map(({ publishedAt }) => publishedAt ?? 0);
    expect(latest).toBeGreaterThanOrEqual(Math.floor(since / 1_000) * 1_000);
    expect(first).toBeLessThan(since);
    await publishPackage("hinge", "1.0.0");
    await publishPackage("hinge", "1.1.0");
    expect(await forge.listPackageVersions(repository, "hinge")).toEqual(["1.1.0", "1.0.0"]);
  });
}

function describeDeliveries(begin: Begin): void {
  test("a delivery that failed is found, and comes again under its GUID", async (context) => {
    const { forge, admin, openIssue, failDeliveries, arrived, later } = await begin();
    if (!forge.capabilities.deliveryListing) context.skip("this forge lists no deliveries");
    const since = await later();
    await openIssue({ title: "told", body: "told" }, admin);
    const told = await arrived();
    failDeliveries(1);
    await openIssue({ title: "lost", body: "lost" }, admin);
    const failed = await forge.failedDeliveries(since);
    expect(failed).toHaveLength(1);
    const [{ id, guid } = { id: "", guid: "" }] = failed;
    expect(told).not.toContain(guid);
    await forge.redeliver(id);
    expect(await arrived()).toEqual([...told, guid]);
    expect(await forge.failedDeliveries(since)).toEqual([]);
  });

  test("deliveries that failed before the instant, and those that arrived later, are not told", async (context) => {
    const { forge, admin, openIssue, failDeliveries, later } = await begin();
    if (!forge.capabilities.deliveryListing) context.skip("this forge lists no deliveries");
    failDeliveries(1);
    await openIssue({ title: "lost", body: "lost" }, admin);
    await later();
    expect(await forge.failedDeliveries(await later())).toEqual([]);
    expect(await forge.failedDeliveries(0)).toHaveLength(1);
  });
}
