// The local forge (spec 6.1): the port's contract on a ledger in memory and in a file, and what
// only it has: people who write through the ledger, each text with exactly one delivery (I4).
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ConversationRef, Person } from "../../../app/forge/forge.ts";
import {
  closeIssue,
  editLocalComment,
  openIssue,
  reopenIssue,
  writeComment,
} from "../../../app/forge/local-writing.ts";
import { openLocalForge } from "../../../app/forge/local.ts";
import { saveRepository } from "../../../app/ledger/conversations.ts";
import { listIssues, reactionsIn } from "../../../app/ledger/issues.ts";
import type { Ledger, Tx } from "../../../app/ledger/ledger.ts";
import { openSqlite } from "../../../app/ledger/sqlite/sqlite.ts";
import { Failure } from "../../../policies/failure.ts";
import { describeForge, type ForgeHarness } from "../../contract/forge.ts";
import { allDeliveries } from "../../fakes/ledger.ts";
import { temporaryFolder } from "../../fakes/repository.ts";

const owner: Person = { id: "1", name: "ada", isBot: false };
const self: Person = { id: "2", name: "holdfast", isBot: true };
const stranger: Person = { id: "3", name: "eve", isBot: false };
const repositoryRowId = "r-1";
const repository = { connection: "local", forgeId: "path-1" };
const startAt = 1_700_000_000_000;

async function openLedger(file: string, clock = { at: startAt }): Promise<Ledger> {
  const ledger = openSqlite({ file, now: () => clock.at });
  const names = { name: "door", source: "/srv/door", defaultBranch: "main" };
  await ledger.write((tx) => saveRepository(tx, { id: repositoryRowId, ...repository, ...names }));
  return ledger;
}

function openForge(ledger: Ledger, baseUrl: string | null = null) {
  return openLocalForge({ ledger, owner, self, pageOf: () => baseUrl });
}

/** The ledger as it is on a full disk, from the moment it is told so. */
function fragile(ledger: Ledger, disk: { isFull: boolean }): Ledger {
  function write<T>(change: (tx: Tx) => Promise<T>): Promise<T> {
    const message = "the disk is full";
    if (!disk.isFull) return ledger.write(change);
    return Promise.reject(new Failure("persistence-unavailable", "later", { message }));
  }
  return {
    read: (question) => ledger.read(question),
    write,
    append: write,
    now: () => ledger.now(),
    revision: () => ledger.revision(),
    close: () => ledger.close(),
  };
}

async function makeHarness(file: string): Promise<ForgeHarness> {
  const clock = { at: startAt };
  const disk = { isFull: false };
  const ledger = fragile(await openLedger(file, clock), disk);
  // Another process has its own connection; a ledger in memory has only the one.
  const second = file === ":memory:" ? ledger : openSqlite({ file, now: () => clock.at });
  const forge = openForge(ledger);
  let requests = 0;
  function request(author: Person) {
    requests += 1;
    return { repositoryId: repositoryRowId, author, requestKey: `test ${requests}` };
  }
  return {
    forge,
    other: openForge(second),
    repository,
    admin: owner,
    stranger,
    openIssue: async (text, author) =>
      accepted(await openIssue(ledger, { ...request(author), ...text })).number,
    writeComment: async (number, body, author) =>
      accepted(await writeComment(ledger, { ...request(author), number, body })).commentId,
    editComment: async (commentId, body, author) => {
      accepted(await editLocalComment(ledger, { ...request(author), commentId, body }));
    },
    later: async () => {
      clock.at += 1_000;
      return clock.at;
    },
    reactionsOn: async (ref) => {
      const number = (await forge.readText(ref))?.number ?? 0;
      const place = { repositoryId: repositoryRowId, number };
      const reactions = await ledger.read((sql) => reactionsIn(sql, place));
      const target = `${ref.kind}:${ref.id}`;
      return reactions.filter((one) => one.target === target).map(({ content }) => content);
    },
    breakDown: () => {
      disk.isFull = true;
    },
    close: async () => {
      if (second !== ledger) await second.close();
      await ledger.close();
    },
  };
}

function accepted<Answer extends { ok: boolean }>(answer: Answer): Answer & { ok: true } {
  expect(answer).toMatchObject({ ok: true });
  return answer as Answer & { ok: true };
}

describeForge("local, in memory", () => makeHarness(":memory:"));
describeForge("local, in a file", () => makeHarness(join(temporaryFolder(), "ledger.db")));

interface Scene {
  readonly ledger: Ledger;
  readonly issue: ConversationRef;
  readonly clock: { at: number };
}

const by = { repositoryId: repositoryRowId, author: owner };
const place = { repositoryId: repositoryRowId, number: 1 };
const pull = { title: "t", body: "", head: "b", base: "main", isDraft: false };

/** A ledger with issue #1, whose delivery is the only one. */
async function begin(): Promise<Scene> {
  const clock = { at: startAt };
  const ledger = await openLedger(":memory:", clock);
  onTestFinished(() => ledger.close());
  const issue = { ...by, title: "A gap", body: "Close it.", requestKey: "k-issue" };
  expect(await openIssue(ledger, issue)).toEqual({ ok: true, number: 1 });
  return { ledger, issue: { ...repository, number: 1 }, clock };
}

async function payloadsOf(ledger: Ledger): Promise<unknown[]> {
  return (await allDeliveries(ledger)).map(({ payload }) => payload);
}

const told = { kind: "text", text: { ...repository, kind: "issue", id: "1" }, number: 1 };

describe("what people write", () => {
  test("an issue is stored with the delivery a webhook would have made, due at once", async () => {
    const { ledger } = await begin();
    const [delivery] = await allDeliveries(ledger);
    expect(delivery).toMatchObject({ connection: "local", payload: told, nextAt: startAt });
  });

  test("a comment is stored with its delivery", async () => {
    const { ledger } = await begin();
    const comment = { ...by, number: 1, body: "hello", requestKey: "k-1" };
    const { commentId } = accepted(await writeComment(ledger, comment));
    const text = { ...repository, kind: "comment", id: commentId };
    expect(await payloadsOf(ledger)).toEqual([told, { kind: "text", text, number: 1 }]);
  });

  test("I4: a repeated request is the same text and no second delivery", async () => {
    const { ledger, issue } = await begin();
    const comment = { ...by, number: 1, body: "hello", requestKey: "k-1" };
    const [first, ...others] = await Promise.all(
      [1, 2, 3].map(() => writeComment(ledger, comment)),
    );
    expect(others).toEqual([first, first]);
    const again = { ...by, title: "A gap", body: "Close it.", requestKey: "k-issue" };
    expect(await openIssue(ledger, again)).toEqual({ ok: true, number: 1 });
    expect(await allDeliveries(ledger)).toHaveLength(2);
    expect(await openForge(ledger).listTexts(issue, 10)).toHaveLength(2);
    expect(await ledger.read((sql) => listIssues(sql, repositoryRowId, 10))).toHaveLength(1);
  });

  test("I4: a request whose delivery's body is dropped opens no second issue", async () => {
    const { ledger } = await begin();
    await ledger.write((tx) => tx.run("UPDATE delivery SET payload_json = 'null'"));
    const again = { ...by, title: "A gap", body: "Close it.", requestKey: "k-issue" };
    expect(await openIssue(ledger, again)).toMatchObject({ ok: false, reason: "request-used" });
    expect(await ledger.read((sql) => listIssues(sql, repositoryRowId, 10))).toHaveLength(1);
  });

  test("issue and comment may have the same request key: they are different writes", async () => {
    const { ledger } = await begin();
    await writeComment(ledger, { ...by, number: 1, body: "hello", requestKey: "k-issue" });
    expect(await allDeliveries(ledger)).toHaveLength(2);
  });

  test.each([
    ["empty", ""],
    ["empty", " \n\t"],
    ["too-long", "x".repeat(65_537)],
    ["nul-character", "a\0b"],
  ])("a text that is %s is refused and leaves nothing", async (reason, body) => {
    const { ledger, issue } = await begin();
    const request = { ...by, requestKey: "k-1" };
    const { id: commentId } = await openForge(ledger).createComment(issue, "ours");
    for (const answer of [
      await writeComment(ledger, { ...request, number: 1, body }),
      await openIssue(ledger, { ...request, title: "t", body }),
      await openIssue(ledger, { ...request, title: body, body: "b" }),
      await editLocalComment(ledger, { ...request, commentId, body }),
    ]) {
      expect(answer).toMatchObject({ ok: false, reason });
    }
    expect(await allDeliveries(ledger)).toHaveLength(1);
  });

  test("the longest text is taken, and a comment on what does not exist refused", async () => {
    const { ledger } = await begin();
    const comment = { ...by, body: "x".repeat(65_536) };
    accepted(await writeComment(ledger, { ...comment, number: 1, requestKey: "k-1" }));
    const lost = await writeComment(ledger, { ...comment, number: 7, requestKey: "k-2" });
    const wanted = "an issue or pull request that exists";
    expect(lost).toEqual({ ok: false, reason: "unknown-conversation", seen: "#7", wanted });
    expect(await allDeliveries(ledger)).toHaveLength(2);
  });
});

describe("edits", () => {
  test("an edit is told once, and not when nothing changes", async () => {
    const { ledger, issue, clock } = await begin();
    const comment = { ...by, number: 1, body: "hello", requestKey: "k-1" };
    const { commentId } = accepted(await writeComment(ledger, comment));
    clock.at += 5_000;
    accepted(
      await editLocalComment(ledger, { ...by, commentId, body: "hello", requestKey: "e-0" }),
    );
    for (const body of ["hello there", "hello there", "stale words"]) {
      accepted(await editLocalComment(ledger, { ...by, commentId, body, requestKey: "e-1" }));
    }
    const text = { ...repository, kind: "comment", id: commentId };
    const [, , ...edits] = await payloadsOf(ledger);
    expect(edits).toEqual([{ kind: "edited", text, number: 1 }]);
    const [, seen] = await openForge(ledger).listTexts(issue, 10);
    expect(seen).toMatchObject({ body: "hello there", isEdited: true, createdAt: startAt });
  });

  test("nobody edits another's comment, Holdfast neither", async () => {
    const { ledger, issue } = await begin();
    const forge = openForge(ledger);
    const { id: ours } = await forge.createComment(issue, "ours");
    const comment = { ...by, number: 1, body: "theirs", requestKey: "k-1" };
    const { commentId: theirs } = accepted(await writeComment(ledger, comment));
    const edit = { ...by, commentId: ours, body: "x", requestKey: "e-1" };
    const foreign = { ok: false, reason: "foreign-comment" };
    expect(await editLocalComment(ledger, edit)).toMatchObject(foreign);
    await expect(forge.editComment(issue, theirs, "x")).rejects.toMatchObject({ code: "refused" });
  });

  test.each(["0", "2", "1e0", " 1", "01", "1.0", "", "9".repeat(30)])(
    "%o is no id of a text, however numbers are read",
    async (id) => {
      const { ledger, issue } = await begin();
      const forge = openForge(ledger);
      expect((await forge.createComment(issue, "the comment 1")).id).toBe("1");
      const edit = { ...by, commentId: id, body: "x", requestKey: "e-1" };
      const answer = await editLocalComment(ledger, edit);
      expect(answer).toMatchObject({ ok: false, reason: "unknown-comment" });
      for (const kind of ["comment", "issue"] as const) {
        expect(await forge.readText({ ...repository, kind, id })).toBeNull();
      }
      expect(await forge.editComment(issue, id, "x")).toBeNull();
    },
  );
});

describe("closing and reopening", () => {
  test("a conversation is closed and opened again, as often as one likes", async () => {
    const { ledger, issue } = await begin();
    const forge = openForge(ledger);
    for (const [change, state] of [
      [closeIssue, "closed"],
      [closeIssue, "closed"],
      [reopenIssue, "open"],
      [reopenIssue, "open"],
    ] as const) {
      expect(await change(ledger, place)).toEqual({ ok: true });
      expect((await forge.readConversation(issue))?.state).toBe(state);
    }
  });

  test("a closed pull request frees its head and cannot take it back from the next", async () => {
    const { ledger } = await begin();
    const forge = openForge(ledger);
    const first = await forge.createPull(repository, pull);
    await closeIssue(ledger, { ...place, number: first.number });
    expect(await forge.findPull(repository, pull.head)).toBeNull();
    const next = await forge.createPull(repository, pull);
    const answer = await reopenIssue(ledger, { ...place, number: first.number });
    expect(answer).toMatchObject({
      ok: false,
      reason: "head-taken",
      seen: `#${next.number} is open`,
    });
  });

  test("what is merged stays merged", async () => {
    const { ledger, issue } = await begin();
    await ledger.write((tx) => tx.run("UPDATE local_issue SET state = 'merged'"));
    expect(await reopenIssue(ledger, place)).toMatchObject({ ok: false, reason: "merged" });
    expect(await closeIssue(ledger, place)).toEqual({ ok: true });
    expect((await openForge(ledger).readConversation(issue))?.state).toBe("merged");
  });

  test("what does not exist is neither closed nor opened", async () => {
    const { ledger } = await begin();
    for (const change of [closeIssue, reopenIssue]) {
      const answer = await change(ledger, { ...place, number: 7 });
      expect(answer).toMatchObject({ ok: false, reason: "unknown-conversation" });
    }
  });
});

describe("what Holdfast writes", () => {
  test("causes no delivery", async () => {
    const { ledger, issue } = await begin();
    const forge = openForge(ledger);
    const { id } = await forge.createComment(issue, "@holdfast status");
    await forge.editComment(issue, id, "@holdfast stop");
    await forge.react({ ...repository, kind: "issue", id: "1" }, "eyes");
    const { number } = await forge.createPull(repository, pull);
    await forge.editPull(repository, number, { title: "t", body: "/holdfast do", isDraft: true });
    expect(await payloadsOf(ledger)).toEqual([told]);
  });

  test("is found at the page where one is served, else by number", async () => {
    const { ledger, issue } = await begin();
    const served = openForge(ledger, "http://127.0.0.1:4700");
    const { id, url } = await served.createComment(issue, "x");
    expect(url).toBe(`http://127.0.0.1:4700/c/1#comment-${id}`);
    expect((await served.readConversation(issue))?.url).toBe("http://127.0.0.1:4700/c/1");
    expect((await openForge(ledger).createComment(issue, "y")).url).toBe("#1");
    expect((await openForge(ledger).readConversation(issue))?.url).toBe("#1");
  });

  test("a comment is edited only where it is", async () => {
    const { ledger, issue } = await begin();
    const forge = openForge(ledger);
    const { id } = await forge.createComment(issue, "x");
    const { number } = await forge.createPull(repository, pull);
    expect(await forge.editComment({ ...repository, number }, id, "y")).toBeNull();
  });
});
