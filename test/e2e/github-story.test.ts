// The story of the product on GitHub, with signed deliveries over HTTP, a real clone and real pushes (spec 8.4).
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openGitHubSpine, policy, type GitHubSpine } from "../fakes/github-spine.ts";
import { createAccount } from "../fakes/github/acts/accounts.ts";
import { comment, openIssue } from "../fakes/github/acts/conversations.ts";
import { inlineComment, openPull, review } from "../fakes/github/acts/pulls.ts";
import { allow, fork, protectBranch, pushTo } from "../fakes/github/acts/repositories.ts";
import { isPull, type Issue } from "../fakes/github/world.ts";

const onHead = `${policy}
  shape:
    on: head
    steps:
      - run: echo shaped > shaped.txt
`;
const files = { "README.md": "A door.\n", "hinge.txt": "old\n", ".holdfast.yml": onHead };

function pullsOf({ github }: GitHubSpine) {
  return github.world.issues.filter(isPull);
}

function reactionsOn({ github }: GitHubSpine, subject: object): string[] {
  return github.world.reactions.filter((one) => one.subject === subject).map((one) => one.content);
}

/** Kinds of our new comments in an issue, by their hidden markers. */
function kindsOf(spine: GitHubSpine, issue: Issue): string[] {
  return spine.ours(issue).map(({ body }) => /<!-- holdfast:(\w+)/.exec(body)?.[1] ?? "none");
}

describe("in an issue", () => {
  test("a comment becomes a mandate, a branch, a draft pull request and a result", async () => {
    const spine = await openGitHubSpine();
    const { github, ada, door, rest } = spine;
    const issue = openIssue(github.world, { repository: door, by: ada, title: "Build it" });
    const asked = comment(github.world, { issue, by: ada, body: "@holdfast run build" });
    await rest();
    const [mandate] = await spine.mandates();
    expect(mandate).toMatchObject({ status: "completed", title: "run build" });
    const [pull] = pullsOf(spine);
    expect(pull?.pull).toMatchObject({ isDraft: true, baseRef: "main" });
    expect(pull?.author).toBe(github.world.app.bot);
    expect(pull?.body).toContain("> run build");
    const commit = door.git.resolve(`refs/heads/${mandate?.branch}`);
    expect(pull?.pull.headSha).toBe(commit);
    expect(door.git.git(["show", "--stat", "--format=%an <%ae>%n%b", commit ?? ""])).toBe(
      `${github.world.app.bot.login} <${github.world.app.bot.id}+${github.world.app.bot.login}@users.noreply.127.0.0.1>\n` +
        `> The task build is done: its one step ended with exit code 0.\n\n` +
        `Co-authored-by: ada <${ada.id}+ada@users.noreply.127.0.0.1>\n` +
        `Holdfast-Mandate: ${mandate?.id}\n\n\n made.txt | 1 +\n 1 file changed, 1 insertion(+)`,
    );
    expect(kindsOf(spine, issue)).toEqual(["status", "result"]);
    expect(spine.ours(issue)[1]?.body).toContain("@ada");
    expect(reactionsOn(spine, asked).toSorted()).toEqual(["eyes", "rocket"]);
  });

  test("the body of a new issue counts, its title and a pull request's body do not", async () => {
    const spine = await openGitHubSpine();
    const { github, ada, door, rest } = spine;
    const body = "@holdfast run build";
    openIssue(github.world, { repository: door, by: ada, body });
    openIssue(github.world, { repository: door, by: ada, title: body });
    pushTo(github.world, { repository: door, by: ada, branch: "topic", files: { "a.txt": "a" } });
    openPull(github.world, { repository: door, by: ada, head: "topic", body, title: body });
    await rest();
    expect((await spine.mandates()).map(({ conversationId }) => conversationId)).toEqual([
      `github-${door.id}#1`,
    ]);
  });

  test("a stranger gets one short answer a day, and nothing runs", async () => {
    const spine = await openGitHubSpine();
    const { github, ada, door, rest } = spine;
    const mallory = createAccount(github.world, "mallory");
    const issue = openIssue(github.world, { repository: door, by: ada });
    for (const body of ["@holdfast run build", "@holdfast stop", "@holdfast do evil"]) {
      comment(github.world, { issue, by: mallory, body });
    }
    await rest();
    expect(await spine.mandates()).toEqual([]);
    expect(kindsOf(spine, issue)).toEqual(["refusal"]);
  });
});

describe("in a pull request", () => {
  test("work on its head is pushed to its branch, and no second pull request is made", async () => {
    const spine = await openGitHubSpine({ files });
    const { github, ada, door, rest } = spine;
    const head = pushTo(github.world, {
      repository: door,
      by: ada,
      branch: "topic",
      files: { a: "a" },
    });
    const pull = openPull(github.world, { repository: door, by: ada, head: "topic" });
    comment(github.world, { issue: pull, by: ada, body: "@holdfast run shape" });
    await rest();
    expect((await spine.mandates()).map(({ status }) => status)).toEqual(["completed"]);
    const tip = door.git.resolve("refs/heads/topic");
    expect(door.git.git(["rev-parse", `${tip}^`])).toBe(head);
    expect(door.git.git(["show", `${tip}:shaped.txt`])).toBe("shaped");
    expect(pullsOf(spine)).toEqual([pull]);
    expect(spine.ours(pull)[0]?.body).toContain(`Works on the head of #${pull.number}`);
  });

  test("a review and an inline comment hold commands like any comment", async () => {
    const spine = await openGitHubSpine({ files });
    const { github, ada, door, rest } = spine;
    pushTo(github.world, { repository: door, by: ada, branch: "topic", files: { "a.txt": "a\n" } });
    const pull = openPull(github.world, { repository: door, by: ada, head: "topic" });
    review(github.world, { issue: pull, by: ada, body: "@holdfast run build" });
    inlineComment(github.world, {
      issue: pull,
      by: ada,
      path: "a.txt",
      line: 1,
      body: "@holdfast run wait",
    });
    await rest();
    expect((await spine.mandates()).map(({ title }) => title).toSorted()).toEqual([
      "run build",
      "run wait",
    ]);
  });

  test("a protected head is left alone: the work comes as a pull request into it", async () => {
    const spine = await openGitHubSpine({ files });
    const { github, ada, door, rest } = spine;
    const head = pushTo(github.world, {
      repository: door,
      by: ada,
      branch: "release",
      files: { a: "a" },
    });
    protectBranch(door, "release");
    const pull = openPull(github.world, { repository: door, by: ada, head: "release" });
    comment(github.world, { issue: pull, by: ada, body: "@holdfast run shape" });
    await rest();
    expect(door.git.resolve("refs/heads/release")).toBe(head);
    const [, made] = pullsOf(spine);
    expect(made?.pull.baseRef).toBe("release");
    expect(spine.ours(pull)[0]?.body).toContain("cannot be pushed to");
  });

  test("on a fork's head nothing runs without a sandbox; a task of the default branch does", async () => {
    const spine = await openGitHubSpine({ files });
    const { github, ada, door, rest } = spine;
    const bob = createAccount(github.world, "bob");
    const copy = fork(github.world, door, bob);
    pushTo(github.world, {
      repository: copy,
      by: bob,
      branch: "topic",
      files: { ".holdfast.yml": "tasks: { build: { steps: [{ run: touch stolen }] } }" },
    });
    const pull = openPull(github.world, { repository: door, by: bob, head: "topic", from: copy });
    comment(github.world, { issue: pull, by: ada, body: "@holdfast run shape" });
    await rest();
    expect(await spine.mandates()).toEqual([]);
    expect(spine.ours(pull)[0]?.body).toContain("lies in a fork");
    comment(github.world, { issue: pull, by: ada, body: "@holdfast run build" });
    await rest();
    const [mandate] = await spine.mandates();
    expect(mandate).toMatchObject({ status: "completed", pinnedHead: null });
    const tree = door.git.git(["ls-tree", "--name-only", mandate?.publishedCommit ?? ""]);
    expect(tree.split("\n")).toEqual([".holdfast.yml", "README.md", "hinge.txt", "made.txt"]);
  });

  test("a head that a writer moves while the work waits is pinned anew, and the work follows", async () => {
    const waiting = `${onHead}      - run: test -e go || exit 75
        wait: { every: 30m, for: 6h, signals: [push] }
`;
    const spine = await openGitHubSpine({ files: { ...files, ".holdfast.yml": waiting } });
    const { github, ada, door, rest } = spine;
    pushTo(github.world, { repository: door, by: ada, branch: "topic", files: { "a.txt": "a\n" } });
    const pull = openPull(github.world, { repository: door, by: ada, head: "topic" });
    comment(github.world, { issue: pull, by: ada, body: "@holdfast run shape" });
    await rest();
    expect((await spine.mandates())[0]?.status).toBe("waiting");
    const head = pushTo(github.world, {
      repository: door,
      by: ada,
      branch: "topic",
      files: { go: "" },
    });
    await rest();
    const [mandate] = await spine.mandates();
    expect(mandate).toMatchObject({ status: "completed", baseCommit: head });
    const tip = door.git.resolve("refs/heads/topic");
    expect(door.git.git(["rev-parse", `${tip}^`])).toBe(head);
    expect(door.git.git(["show", `${tip}:shaped.txt`])).toBe("shaped");
  });

  test("a head that is moved onto what the work touched blocks with the files named", async () => {
    const waiting = `${onHead}      - run: test -e go || exit 75
        wait: { every: 30m, for: 6h, signals: [push] }
`;
    const spine = await openGitHubSpine({ files: { ...files, ".holdfast.yml": waiting } });
    const { github, ada, door, rest } = spine;
    pushTo(github.world, { repository: door, by: ada, branch: "topic", files: { "a.txt": "a\n" } });
    const pull = openPull(github.world, { repository: door, by: ada, head: "topic" });
    comment(github.world, { issue: pull, by: ada, body: "@holdfast run shape" });
    await rest();
    const files2 = { "shaped.txt": "by hand\n", go: "" };
    pushTo(github.world, { repository: door, by: ada, branch: "topic", files: files2 });
    await rest();
    const [mandate] = await spine.mandates();
    expect(mandate).toMatchObject({ status: "blocked", reason: "head-moved" });
    expect(spine.ours(pull).at(-1)?.body).toContain("shaped.txt");
  });

  test("somebody who lost the right between asking and publishing publishes nothing", async () => {
    const spine = await openGitHubSpine();
    const { github, ada, door, rest } = spine;
    const gate = join(spine.home, "gate");
    const slow = `tasks: { slow: { steps: [{ run: "until test -e '${gate}'; do sleep 0.05; done; touch made" }] } }`;
    pushTo(github.world, {
      repository: door,
      by: ada,
      branch: "main",
      files: { ".holdfast.yml": slow },
    });
    const issue = openIssue(github.world, { repository: door, by: ada });
    comment(github.world, { issue, by: ada, body: "@holdfast run slow" });
    await expect
      .poll(async () => (await spine.mandates())[0]?.status, { timeout: 20_000 })
      .toBe("running");
    allow(door, ada, "read");
    // A right is kept in mind for a minute at most; the next look asks anew.
    spine.later();
    writeFileSync(gate, "");
    await rest();
    expect((await spine.mandates())[0]).toMatchObject({
      status: "blocked",
      reason: "authority-revoked",
      publishedCommit: null,
    });
    expect(pullsOf(spine)).toEqual([]);
  });
});
