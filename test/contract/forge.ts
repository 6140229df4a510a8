// The contract of the forge port (spec 6.1), one suite for all adapters and fakes: what a caller
// may rely on, with a harness that acts as the people. Follows capabilities, never a forge's name.
import { describe, expect, onTestFinished, test } from "vitest";
import type {
  ConversationRef,
  Forge,
  ForgeText,
  Person,
  RepositoryRef,
  TextRef,
} from "../../app/forge/forge.ts";

/** A forge with one empty repository, and its people's hands. */
export interface ForgeHarness {
  readonly forge: Forge;
  /** A second adapter of the same forge, as another process would have it. */
  readonly other: Forge;
  readonly repository: RepositoryRef;
  /** Somebody who may do everything here, and somebody who may do nothing. */
  readonly admin: Person;
  readonly stranger: Person;
  readonly openIssue: (text: { title: string; body: string }, author: Person) => Promise<number>;
  /** Gives the comment's id. */
  readonly writeComment: (number: number, body: string, author: Person) => Promise<string>;
  readonly editComment: (id: string, body: string, author: Person) => Promise<void>;
  /** Lets the forge's clock move on and gives an instant after all that was written so far. */
  readonly later: () => Promise<number>;
  readonly reactionsOn: (ref: TextRef) => Promise<string[]>;
  /** From now on the forge takes no write, and does none. */
  readonly breakDown: () => void;
  readonly close: () => Promise<void>;
}

interface Scene extends ForgeHarness {
  readonly issue: ConversationRef;
  readonly textOf: (kind: TextRef["kind"], id: string | number) => TextRef;
}

const unknownId = "987654";
const unknownNumber = 9876;
const unknownCommit = "f".repeat(40);
const pull = { title: "A door", body: "Opens.", head: "holdfast/m-1-a", base: "main" };
const changed = { title: "Changed", body: "changed", isDraft: false };
const refused = { name: "Failure", code: "refused", retry: "never" };

export function describeForge(name: string, makeForge: () => Promise<ForgeHarness>): void {
  async function begin(): Promise<Scene> {
    const harness = await makeForge();
    onTestFinished(() => harness.close());
    const { repository, admin } = harness;
    const number = await harness.openIssue({ title: "A gap", body: "Close it." }, admin);
    function textOf(kind: TextRef["kind"], id: string | number): TextRef {
      return { ...repository, kind, id: String(id) };
    }
    return { ...harness, issue: { ...repository, number }, textOf };
  }

  describe(`the forge port: ${name}`, () => {
    describeReading(begin);
    describeRepositories(begin);
    describeComments(begin);
    describeReactions(begin);
    describePulls(begin);
    describeFailures(begin);
  });
}

function bodies(texts: readonly Pick<ForgeText, "body">[]): string[] {
  return texts.map(({ body }) => body);
}

function describeReading(begin: () => Promise<Scene>): void {
  test("what does not exist reads as null or nothing", async () => {
    const { forge, issue, repository, textOf } = await begin();
    const nowhere = { ...issue, number: unknownNumber };
    for (const kind of ["issue", "comment", "review", "inline-comment"] as const) {
      expect(await forge.readText(textOf(kind, unknownId))).toBeNull();
    }
    expect(await forge.readConversation(nowhere)).toBeNull();
    expect(await forge.listTexts(nowhere, 10)).toEqual([]);
    expect(await forge.listOwnComments(nowhere, 0)).toEqual([]);
    expect(await forge.findPull(repository, "no-such-branch")).toBeNull();
  });

  test("a repository that is not there holds nothing and gives no right", async () => {
    const { forge, issue, admin, textOf } = await begin();
    const elsewhere = { connection: issue.connection, forgeId: unknownId };
    const { number } = issue;
    expect(await forge.readText({ ...textOf("issue", number), ...elsewhere })).toBeNull();
    expect(await forge.readConversation({ ...elsewhere, number })).toBeNull();
    expect(await forge.permissionOf(elsewhere, admin.id)).toBe("none");
    expect(await forge.findPull(elsewhere, pull.head)).toBeNull();
  });

  test("an issue is read as conversation and as text", async () => {
    const { forge, issue, admin, textOf } = await begin();
    const { number } = issue;
    const seen = await forge.readConversation(issue);
    const expected = { number, kind: "issue", title: "A gap", body: "Close it.", state: "open" };
    expect(seen).toMatchObject(expected);
    expect(seen?.author).toEqual(admin);
    const text = await forge.readText(textOf("issue", number));
    expect(text).toMatchObject({ number, body: "Close it.", author: admin, isEdited: false });
    expect(text?.ref).toEqual(textOf("issue", number));
  });

  test("a person's comment is read as it is now, and says that it was edited", async () => {
    const { forge, issue, admin, later, textOf, writeComment, editComment } = await begin();
    const body = "@holdfast do it\n\n`código` 🦀\r\nend ";
    const ref = textOf("comment", await writeComment(issue.number, body, admin));
    const text = await forge.readText(ref);
    expect(text).toMatchObject({ ref, number: issue.number, body, author: admin, isEdited: false });
    await later();
    await editComment(ref.id, "other words", admin);
    expect(await forge.readText(ref)).toMatchObject({ body: "other words", isEdited: true });
  });

  test("texts come oldest first with the issue's own, and a limit keeps the latest", async () => {
    const { forge, issue, admin, later, writeComment } = await begin();
    for (const body of ["one", "two"]) {
      await later();
      await writeComment(issue.number, body, admin);
    }
    await later();
    await forge.createComment(issue, "three");
    const all = ["Close it.", "one", "two", "three"];
    expect(bodies(await forge.listTexts(issue, 10))).toEqual(all);
    expect(bodies(await forge.listTexts(issue, 4))).toEqual(all);
    expect(bodies(await forge.listTexts(issue, 2))).toEqual(["two", "three"]);
  });

  test("rights go by id: an admin's name gives none to somebody else", async () => {
    const { forge, repository, admin, stranger } = await begin();
    expect(await forge.permissionOf(repository, admin.id)).toBe("admin");
    expect(await forge.permissionOf(repository, stranger.id)).toBe("none");
    expect(await forge.permissionOf(repository, admin.name)).toBe("none");
    expect(await forge.permissionOf(repository, unknownId)).toBe("none");
  });
}

function describeRepositories(begin: () => Promise<Scene>): void {
  test("every repository that is reached is listed as it is read by its id", async () => {
    const { forge, other, repository } = await begin();
    const seen = await forge.readRepository(repository);
    expect(seen).toMatchObject({ forgeId: repository.forgeId, isArchived: false });
    expect(await other.listRepositories()).toEqual([seen]);
    const elsewhere = { ...repository, forgeId: unknownId };
    expect(await forge.readRepository(elsewhere)).toBeNull();
  });

  test("where git goes holds no credential, whatever git is given beside", async () => {
    const { forge, repository } = await begin();
    const seen = await forge.readRepository(repository);
    expect(seen?.source).not.toContain("@");
    for (const use of ["read", "write"] as const) {
      const token = await forge.gitToken(repository, use);
      if (token !== null) expect(seen?.source).not.toContain(token);
    }
  });

  test("everybody has an address of their own, the same for all", async () => {
    const { forge, other, admin, stranger } = await begin();
    expect(forge.emailOf(admin)).toMatch(/^[^@\s]+@[^@\s]+$/);
    expect(other.emailOf(admin)).toBe(forge.emailOf(admin));
    expect(forge.emailOf(stranger)).not.toBe(forge.emailOf(admin));
  });

  test("what the forge has none of reads as nothing, and is refused to be written", async () => {
    const { forge, repository } = await begin();
    const { checks, releases, deliveryListing } = forge.capabilities;
    const check = { commit: unknownCommit, name: "n", title: "t", summary: "s", annotations: [] };
    if (!checks) {
      const write = forge.writeCheck(repository, { ...check, conclusion: "success" });
      await expect(write).rejects.toMatchObject(refused);
    }
    if (!releases) expect(await forge.listReleases(repository)).toEqual([]);
    if (!deliveryListing) expect(await forge.failedDeliveries(0)).toEqual([]);
    await expect(forge.redeliver(unknownId)).rejects.toMatchObject(refused);
    expect(await forge.readChecks(repository, unknownCommit)).toEqual([]);
    expect(await forge.listPackageVersions(repository, "no-such-package")).toEqual([]);
    expect(await forge.readRef(repository, "refs/heads/no-such-branch")).toBeNull();
    expect(await forge.readPull({ ...repository, number: unknownNumber })).toBeNull();
  });
}

function describeComments(begin: () => Promise<Scene>): void {
  test("what was written is there for every adapter, under our name", async () => {
    const { forge, other, issue, textOf } = await begin();
    const { id, url } = await forge.createComment(issue, "done");
    for (const reader of [forge, other]) {
      const text = await reader.readText(textOf("comment", id));
      expect(text).toMatchObject({ body: "done", url, number: issue.number, isEdited: false });
      expect(text?.author).toEqual(forge.self);
    }
    expect(forge.self.isBot).toBe(true);
  });

  test("two equal comments are two: nothing is merged or retried in the port", async () => {
    const { forge, issue } = await begin();
    const written = [await forge.createComment(issue, "x"), await forge.createComment(issue, "x")];
    expect(new Set(written.map(({ id }) => id)).size).toBe(2);
    expect(await forge.listOwnComments(issue, 0)).toHaveLength(2);
  });

  test("a comment is edited in place", async () => {
    const { forge, other, issue, later, textOf } = await begin();
    const written = await forge.createComment(issue, "running");
    // A forge may count whole seconds: what is changed within one does not show.
    await later();
    expect(await other.editComment(issue, written.id, "done")).toEqual(written);
    const text = await forge.readText(textOf("comment", written.id));
    expect(text).toMatchObject({ body: "done", isEdited: true });
  });

  test("an edit of a comment that is gone gives null", async () => {
    const { forge, issue } = await begin();
    expect(await forge.editComment(issue, unknownId, "done")).toBeNull();
  });

  test("our own comments since an instant are those made or changed from then on", async () => {
    const { forge, issue, admin, later, writeComment } = await begin();
    const old = await forge.createComment(issue, "old");
    const status = await forge.createComment(issue, "running");
    const since = await later();
    await forge.editComment(issue, status.id, "done");
    const made = await forge.createComment(issue, "new");
    await writeComment(issue.number, "a person's", admin);
    const found = await forge.listOwnComments(issue, since);
    expect(found).toEqual([
      { ...status, body: "done" },
      { ...made, body: "new" },
    ]);
    expect((await forge.listOwnComments(issue, 0)).map(({ id }) => id)).toContain(old.id);
    expect(await forge.listOwnComments(issue, await later())).toEqual([]);
  });

  test("whose comment it is goes by id: our name on a text does not make it ours", async () => {
    const { forge, issue, stranger, writeComment, textOf } = await begin();
    const author = { ...stranger, name: forge.self.name };
    const id = await writeComment(issue.number, "I am the bot", author);
    const text = await forge.readText(textOf("comment", id));
    expect(text?.author).toMatchObject({ id: stranger.id, isBot: false });
    expect(await forge.listOwnComments(issue, 0)).toEqual([]);
  });

  test("the longest comment is taken whole, a longer one refused", async () => {
    const { forge, issue } = await begin();
    const longest = "x".repeat(forge.commentLimit);
    const { id } = await forge.createComment(issue, longest);
    const [written] = await forge.listOwnComments(issue, 0);
    expect(written?.body).toBe(longest);
    await expect(forge.createComment(issue, `${longest}x`)).rejects.toMatchObject(refused);
    await expect(forge.editComment(issue, id, `${longest}x`)).rejects.toMatchObject(refused);
    expect(bodies(await forge.listOwnComments(issue, 0))).toEqual([longest]);
  });
}

function describeReactions(begin: () => Promise<Scene>): void {
  test("a reaction is there once, however often it is given", async (context) => {
    const { forge, other, issue, admin, textOf, writeComment, reactionsOn } = await begin();
    if (!forge.capabilities.reactions) context.skip("this forge has no reactions");
    const comment = textOf("comment", await writeComment(issue.number, "hello", admin));
    for (const ref of [comment, textOf("issue", issue.number)]) {
      await forge.react(ref, "eyes");
      await other.react(ref, "eyes");
      await forge.react(ref, "rocket");
      expect(await reactionsOn(ref)).toEqual(["eyes", "rocket"]);
    }
  });
}

function describePulls(begin: () => Promise<Scene>): void {
  test("a pull request is found by its head and read as a conversation", async () => {
    const { forge, other, repository } = await begin();
    const made = await forge.createPull(repository, { ...pull, isDraft: true });
    const { body, ...rest } = pull;
    expect(made).toEqual({ ...rest, number: made.number, url: made.url, isDraft: true });
    expect(await other.findPull(repository, pull.head)).toEqual(made);
    const ref = { ...repository, number: made.number };
    const seen = await forge.readConversation(ref);
    expect(seen).toMatchObject({ kind: "pull", title: pull.title, body, state: "open" });
    expect(seen?.author).toEqual(forge.self);
  });

  test("a head with an open pull request gets no second one, the first is adopted", async () => {
    const { forge, other, repository } = await begin();
    const made = await forge.createPull(repository, { ...pull, isDraft: false });
    const again = other.createPull(repository, { ...pull, title: "Again", isDraft: false });
    await expect(again).rejects.toMatchObject(refused);
    expect(await other.findPull(repository, pull.head)).toEqual(made);
    const next = await forge.createPull(repository, { ...pull, head: "b", isDraft: false });
    expect(next.number).not.toBe(made.number);
  });

  test("title, text and draft state of a pull request change together", async () => {
    const { forge, other, repository } = await begin();
    const made = await forge.createPull(repository, { ...pull, isDraft: true });
    const change = { title: "A wide door", body: "Opens wide.", isDraft: false };
    await other.editPull(repository, made.number, change);
    const expected = { ...made, title: change.title, isDraft: false };
    expect(await forge.findPull(repository, pull.head)).toEqual(expected);
    const seen = await forge.readConversation({ ...repository, number: made.number });
    expect(seen).toMatchObject({ title: change.title, body: change.body });
  });

  test("issues and pull requests share one sequence of numbers", async () => {
    const { forge, issue, repository, admin, openIssue } = await begin();
    const { number } = await forge.createPull(repository, { ...pull, isDraft: false });
    expect(number).toBe(issue.number + 1);
    expect(await openIssue({ title: "More", body: "more" }, admin)).toBe(number + 1);
  });
}

type Write = (scene: Scene) => Promise<unknown>;

function describeFailures(begin: () => Promise<Scene>): void {
  test.each<[string, Write]>([
    [
      "a comment",
      ({ forge, issue }) => forge.createComment({ ...issue, number: unknownNumber }, "x"),
    ],
    [
      "a change of a pull request",
      ({ forge, issue }) => forge.editPull(issue, unknownNumber, changed),
    ],
    [
      "a change of what is no pull",
      ({ forge, issue }) => forge.editPull(issue, issue.number, changed),
    ],
    ["a reaction", ({ forge, textOf }) => forge.react(textOf("comment", unknownId), "eyes")],
    ["an empty comment", ({ forge, issue }) => forge.createComment(issue, "")],
  ])("%s that cannot be is refused for good", async (_name, write) => {
    await expect(write(await begin())).rejects.toMatchObject(refused);
  });

  test.each<[string, Write]>([
    ["a comment", ({ forge, issue }) => forge.createComment(issue, "x")],
    ["an edit", ({ forge, issue }) => forge.editComment(issue, "1", "x")],
    [
      "a reaction",
      ({ forge, issue, textOf }) => forge.react(textOf("issue", issue.number), "eyes"),
    ],
    ["a pull", ({ forge, issue }) => forge.createPull(issue, { ...pull, isDraft: true })],
    ["a change of a pull", ({ forge, issue }) => forge.editPull(issue, 2, changed)],
  ])("%s on a forge that takes nothing now may be tried later", async (_name, write) => {
    const scene = await begin();
    scene.breakDown();
    const expected = { name: "Failure", code: "unavailable", retry: "later" };
    await expect(write(scene)).rejects.toMatchObject(expected);
    expect(await scene.forge.listOwnComments(scene.issue, 0)).toEqual([]);
  });
}
