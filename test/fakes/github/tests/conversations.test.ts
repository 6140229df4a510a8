// Conversations on the fake GitHub (spec 6.2, 6.3, 8.4), driven by a plain Octokit.

import { describe, expect, test } from "vitest";
import { createAccount, createApp } from "../acts/accounts.ts";
import {
  comment,
  deleteComment,
  deleteIssue,
  editComment,
  lockIssue,
  openIssue,
  transferIssue,
} from "../acts/conversations.ts";
import { inlineComment, openPull, review } from "../acts/pulls.ts";
import { allow, createRepository, pushTo, renameRepository } from "../acts/repositories.ts";
import { instant } from "../shapes/accounts.ts";
import { door, openScene, refusalOf, type Scene } from "./scene.ts";

function startIssue({ world, ada, door: repository }: Scene) {
  return openIssue(world, { repository, by: ada, body: "It squeaks" });
}

const commentRoute: string = "POST /repos/{owner}/{repo}/issues/{issue_number}/comments";
const first = { ...door, issue_number: 1 };

describe("comments", () => {
  test("are made, read and changed, and say who wrote them through which App", async () => {
    const scene = await openScene();
    startIssue(scene);
    const { issues } = (await scene.api()).rest;
    const made = await issues.createComment({ ...first, body: "on it" });
    const { app } = scene.world;
    expect(made.data.performed_via_github_app?.id).toBe(app.id);
    expect(made.data.user).toMatchObject({ id: app.bot.id, type: "Bot" });
    const comment_id = made.data.id;
    await issues.updateComment({ ...door, comment_id, body: "done" });
    expect((await issues.getComment({ ...door, comment_id })).data.body).toBe("done");
    await issues.deleteComment({ ...door, comment_id });
    expect(await refusalOf(issues.getComment({ ...door, comment_id }))).toBe(404);
    expect(scene.github.created.map(({ kind, body }) => [kind, body])).toEqual([
      ["issue", "It squeaks"],
      ["comment", "on it"],
    ]);
  });

  test("of people and of other Apps do not look like ours", async () => {
    const scene = await openScene();
    const issue = startIssue(scene);
    const helper = createApp(scene.world, "helper");
    comment(scene.world, { issue, by: scene.ada, body: "one" });
    comment(scene.world, { issue, by: helper.bot, body: "two" });
    const { data } = await (await scene.api()).rest.issues.listComments(first);
    const seen = data.map(({ user, performed_via_github_app: app }) => [user?.type, app?.id]);
    expect(seen).toEqual([
      ["User", undefined],
      ["Bot", helper.id],
    ]);
  });

  test("come in pages, which lead to one another", async () => {
    const scene = await openScene();
    const issue = startIssue(scene);
    const bodies = ["one", "two", "three", "four", "five"];
    for (const body of bodies) comment(scene.world, { issue, by: scene.ada, body });
    const api = await scene.api();
    const page = await api.rest.issues.listComments({ ...first, per_page: 2, page: 2 });
    expect(page.data.map(({ body }) => body)).toEqual(["three", "four"]);
    expect(page.headers.link).toContain('rel="next"');
    const all = await api.paginate(api.rest.issues.listComments, { ...first, per_page: 2 });
    expect(all.map(({ body }) => body)).toEqual(bodies);
  });

  test("of a whole repository come by when they changed", async () => {
    const scene = await openScene();
    const { world, ada, github } = scene;
    const issue = startIssue(scene);
    const early = comment(world, { issue, by: ada, body: "early" });
    github.advance(5000);
    comment(world, { issue, by: ada, body: "middle" });
    github.advance(5000);
    const since = instant(world.now());
    editComment(world, early, { by: ada, body: "early, changed" });
    const { issues } = (await scene.api()).rest;
    const wish = { ...door, sort: "updated", direction: "asc" } as const;
    const all = await issues.listCommentsForRepo(wish);
    expect(all.data.map(({ body }) => body)).toEqual(["middle", "early, changed"]);
    const late = await issues.listCommentsForRepo({ ...wish, since });
    expect(late.data.map(({ body }) => body)).toEqual(["early, changed"]);
  });

  test("are refused when they are too long, empty, or where nobody may write", async () => {
    const scene = await openScene();
    const { world, ada } = scene;
    const issue = startIssue(scene);
    const { issues } = (await scene.api()).rest;
    await issues.createComment({ ...first, body: "x".repeat(65_536) });
    const long = issues.createComment({ ...first, body: "x".repeat(65_537) });
    expect(await refusalOf(long)).toBe(422);
    expect(await refusalOf(issues.createComment({ ...first, body: " " }))).toBe(422);
    lockIssue(world, issue, ada);
    expect(await refusalOf(issues.createComment({ ...first, body: "a" }))).toBe(403);
    deleteIssue(world, issue, ada);
    expect(await refusalOf(issues.createComment({ ...first, body: "a" }))).toBe(410);
    const nowhere = issues.createComment({ ...door, issue_number: 99, body: "a" });
    expect(await refusalOf(nowhere)).toBe(404);
    const made = comment(world, { issue: startIssue(scene), by: ada, body: "gone" });
    deleteComment(world, made, ada);
    const edit = issues.updateComment({ ...door, comment_id: made.id, body: "a" });
    expect(await refusalOf(edit)).toBe(404);
  });
});

describe("issues", () => {
  test("are listed with pull requests among them, deleted ones left out", async () => {
    const scene = await openScene();
    const { world, ada, door: repository } = scene;
    startIssue(scene);
    pushTo(world, { repository, by: ada, branch: "work" });
    openPull(world, { repository, by: ada, head: "work" });
    deleteIssue(world, startIssue(scene), ada);
    const { data } = await (await scene.api()).rest.issues.listForRepo({ ...door, state: "all" });
    const seen = data.map(({ number, pull_request: pull }) => [number, pull !== undefined]);
    expect(seen).toEqual(
      expect.arrayContaining([
        [1, false],
        [2, true],
      ]),
    );
    expect(data).toHaveLength(2);
  });

  test("move to another repository under another number", async () => {
    const scene = await openScene();
    const { world, org, ada } = scene;
    const issue = startIssue(scene);
    const to = createRepository(world, { owner: org, name: "wall" });
    const moved = transferIssue(world, issue, { by: ada, to });
    const { issues } = (await scene.api()).rest;
    const there = await issues.get({ owner: "org", repo: "wall", issue_number: moved.number });
    expect(there.data.body).toBe("It squeaks");
    expect(await refusalOf(issues.get(first))).toBe(410);
  });
});

describe("reactions", () => {
  test("of one kind are one on an issue, a comment and a comment on a line", async () => {
    const scene = await openScene();
    const { world, ada, door: repository } = scene;
    const issue = startIssue(scene);
    const { id } = comment(world, { issue, by: ada, body: "hi" });
    pushTo(world, { repository, by: ada, branch: "work" });
    const pull = openPull(world, { repository, by: ada, head: "work" });
    const line = inlineComment(world, { issue: pull, by: ada, body: "here" });
    const { reactions } = (await scene.api()).rest;
    const content = "eyes";
    const ways = [
      () => reactions.createForIssue({ ...first, content }),
      () => reactions.createForIssueComment({ ...door, comment_id: id, content }),
      () => reactions.createForPullRequestReviewComment({ ...door, comment_id: line.id, content }),
    ];
    for (const react of ways) {
      expect((await react()).status).toBe(201);
      expect((await react()).status).toBe(200);
    }
    const listed = await reactions.listForIssueComment({ ...door, comment_id: id });
    expect(listed.data).toHaveLength(1);
    expect(world.reactions).toHaveLength(3);
  });
});

describe("repositories and people", () => {
  test("a repository is found by its id, and by its former name with a detour", async () => {
    const scene = await openScene();
    const { world, ada, door: repository, github } = scene;
    startIssue(scene);
    renameRepository(world, repository, { by: ada, name: "gate" });
    const api = await scene.api();
    const byId = await api.request("GET /repositories/{id}", { id: repository.id });
    expect(byId.data).toMatchObject({ full_name: "org/gate" });
    expect((await api.rest.repos.get(door)).data.full_name).toBe("org/gate");
    expect(github.requests.map(({ status }) => status)).toContain(301);
    const stay = { ...first, body: "a", request: { redirect: "manual" } } as const;
    const { status } = await api.request(commentRoute, stay);
    expect(status).toBe(307);
    expect(world.comments).toEqual([]);
  });

  test.each([
    ["read", "read, read", { pull: true, triage: false, push: false }],
    ["triage", "read, triage", { pull: true, triage: true, push: false }],
    ["write", "write, write", { push: true, maintain: false }],
    ["maintain", "write, maintain", { push: true, maintain: true, admin: false }],
    ["admin", "admin, admin", { admin: true }],
    ["gardener", "write, gardener", { push: true, maintain: false }],
    [null, "none, ", { pull: false }],
  ])("the role %s is %s in the older and the newer field", async (role, names, flags) => {
    const { world, door: repository, api } = await openScene();
    world.customRoles.set("gardener", "write");
    allow(repository, createAccount(world, "eve"), role);
    const ask = { ...door, username: "eve" };
    const { data } = await (await api()).rest.repos.getCollaboratorPermissionLevel(ask);
    expect(`${data.permission}, ${data.role_name}`).toBe(names);
    expect(data.user?.permissions).toMatchObject(flags);
  });

  test("an account is found by login and by id, a bot by its brackets", async () => {
    const { world, ada, api } = await openScene();
    const client = await api();
    const { bot } = world.app;
    expect((await client.rest.users.getById({ account_id: ada.id })).data.login).toBe("ada");
    expect((await client.rest.users.getByUsername({ username: bot.login })).data.id).toBe(bot.id);
    expect(await refusalOf(client.rest.users.getByUsername({ username: "nobody" }))).toBe(404);
  });
});

describe("pull requests", () => {
  test("are made once for a branch that is ahead", async () => {
    const { world, ada, door: repository, api } = await openScene();
    const client = await api();
    const wish = { ...door, head: "work", base: "main", title: "A hinge" };
    expect(await refusalOf(client.rest.pulls.create(wish))).toBe(422);
    repository.git.git(["branch", "work", "main"]);
    expect(await refusalOf(client.rest.pulls.create(wish))).toBe(422);
    const commit = pushTo(world, { repository, by: ada, branch: "work" });
    const made = await client.rest.pulls.create({ ...wish, draft: true });
    expect(made.data).toMatchObject({ draft: true, commits: 1, head: { sha: commit } });
    expect(await refusalOf(client.rest.pulls.create(wish))).toBe(422);
    const open = { ...door, head: "org:work", state: "open" } as const;
    expect((await client.rest.pulls.list(open)).data).toHaveLength(1);
    const { number: pull_number } = made.data;
    await client.rest.pulls.update({ ...door, pull_number, title: "Two", state: "closed" });
    expect((await client.rest.pulls.get({ ...door, pull_number })).data.title).toBe("Two");
    expect((await client.rest.pulls.list(open)).data).toEqual([]);
  });

  test("become drafts and ready by mutation alone", async () => {
    const { world, ada, door: repository, api, github } = await openScene();
    pushTo(world, { repository, by: ada, branch: "work" });
    const { pull } = openPull(world, { repository, by: ada, head: "work" });
    const client = await api();
    const { data } = await client.rest.pulls.get({ ...door, pull_number: 1 });
    async function mutate(name: string): Promise<void> {
      const input = "input: { pullRequestId: $id }";
      const query = `mutation($id: ID!) { ${name}(${input}) { pullRequest { id } } }`;
      await client.graphql(query, { id: data.node_id });
    }
    await mutate("convertPullRequestToDraft");
    expect(pull.isDraft).toBe(true);
    await mutate("markPullRequestReadyForReview");
    expect(pull.isDraft).toBe(false);
    expect(github.requests.at(-1)?.path).toBe("/api/graphql");
  });

  test("have reviews and comments on lines, each with an answer of its own", async () => {
    const { world, ada, door: repository, api } = await openScene();
    pushTo(world, { repository, by: ada, branch: "work" });
    const issue = openPull(world, { repository, by: ada, head: "work" });
    const { id } = review(world, { issue, by: ada, body: "no", state: "CHANGES_REQUESTED" });
    const line = inlineComment(world, { issue, by: ada, body: "here" });
    const { pulls } = (await api()).rest;
    const at = { ...door, pull_number: issue.number };
    expect((await pulls.getReview({ ...at, review_id: id })).data.state).toBe("CHANGES_REQUESTED");
    expect((await pulls.listReviews(at)).data.map(({ body }) => body)).toEqual(["no", ""]);
    await pulls.createReplyForReviewComment({ ...at, comment_id: line.id, body: "there" });
    const own = [{ path: "README.md", line: 1, body: "and this" }];
    await pulls.createReview({ ...at, event: "COMMENT", body: "well", comments: own });
    const { data } = await pulls.listReviewCommentsForRepo({ ...door, sort: "updated" });
    expect(data.map(({ body }) => body).toSorted()).toEqual(["and this", "here", "there"]);
    const one = await pulls.getReviewComment({ ...door, comment_id: line.id });
    expect(one.data.user?.login).toBe("ada");
  });
});
