// What GitHub does in its own way (spec 1.5, 5.8, 6.3), one call each: lists that only go forward, tags of tags, plans
// without drafts, forks of the same owner, checks that grow.
import nock from "nock";
import { expect, test } from "vitest";
import { openObserving } from "../../../../app/forge/github/observing.ts";
import { openPulls } from "../../../../app/forge/github/pulls.ts";
import { openTexts } from "../../../../app/forge/github/texts.ts";
import { api, door, mockGitHub, place, type Mocked } from "./mocked.ts";

const self = { id: "901", name: "holdfast[bot]", isBot: true };
const user = { id: 5, login: "ada", type: "User" };
const issue = { ...door, number: 1 };
const at = "2026-12-01T12:00:00Z";

function begin(): Mocked {
  const mocked = mockGitHub();
  mocked.mintAll();
  mocked.github.get("/repositories/42").reply(200, place);
  return mocked;
}

function comments(first: number, count: number): object[] {
  return Array.from({ length: count }, (_, index) => ({
    id: first + index,
    body: `comment ${first + index}`,
    user,
    html_url: "u",
    issue_url: `${api}/api/v3/repos/org/door/issues/1`,
    created_at: at,
    updated_at: at,
  }));
}

function opening(count: number): object {
  const written = { title: "t", body: "opening", user, html_url: "u", comments: count };
  return { id: 7, number: 1, ...written, created_at: at, updated_at: at };
}

const listing = "/repos/org/door/issues/1/comments?per_page=100&page=";

test.each([
  [5, 10, [1], 6],
  [250, 20, [3], 20],
  [250, 60, [2, 3], 60],
  [250, 300, [1, 2, 3], 251],
  [0, 10, [1], 1],
])("of %i comments the latest %i are read from pages %j", async (...row) => {
  const [count, limit, pages, expected] = row;
  const { client, github } = begin();
  github.get("/repos/org/door/issues/1").reply(200, opening(count));
  for (const page of pages) {
    const first = (page - 1) * 100;
    const rows = comments(first + 1, Math.min(100, count - first));
    github.get(`${listing}${page}`).reply(200, rows);
  }
  const texts = await openTexts(client, self).listTexts(issue, limit);
  expect(texts).toHaveLength(expected);
  expect(texts.at(-1)?.body).toBe(count === 0 ? "opening" : `comment ${count}`);
});

test("a list without end is left at a bound", async () => {
  const { client, github } = begin();
  for (let page = 1; page <= 10; page += 1) {
    github
      .get("/repos/org/door/issues/1/comments")
      .query({ since: "1970-01-01T00:00:00.000Z", per_page: 100, page })
      .reply(200, comments(page * 100, 100));
  }
  expect(await openTexts(client, self).listOwnComments(issue, 0)).toEqual([]);
});

test("a review without proof of its words counts as edited", async () => {
  const { client, github } = begin();
  const review = { id: 8, body: "creaks", user, html_url: "u", submitted_at: at };
  github.get("/repos/org/door/pulls/2/reviews/8").reply(200, review);
  const texts = openTexts(client, self);
  const ref = { ...door, kind: "review", id: "2/8" } as const;
  expect(await texts.readText(ref)).toMatchObject({ ref, number: 2, isEdited: true });
});

test.each(["", "8", "2/", "/8", "2/x", "a/b/c"])("%j is no review's id", async (id) => {
  const { client } = mockGitHub();
  expect(await openTexts(client, self).readText({ ...door, kind: "review", id })).toBeNull();
});

const commit = "c".repeat(40);

test.each([
  ["a commit", [{ type: "commit", sha: commit }], commit],
  [
    "an annotated tag",
    [
      { type: "tag", sha: "a" },
      { type: "commit", sha: commit },
    ],
    commit,
  ],
  [
    "a tag of a tag",
    [
      { type: "tag", sha: "a" },
      { type: "tag", sha: "b" },
      { type: "commit", sha: commit },
    ],
    commit,
  ],
  [
    "a tag of a file",
    [
      { type: "tag", sha: "a" },
      { type: "blob", sha: "d" },
    ],
    null,
  ],
])("%s is followed to its commit", async (_name, objects, expected) => {
  const { client, github } = begin();
  const [first, ...others] = objects;
  github
    .get("/repos/org/door/git/ref/tags%2Fv1")
    .reply(200, { ref: "refs/tags/v1", object: first });
  for (const [index, object] of others.entries()) {
    github.get(`/repos/org/door/git/tags/${objects[index]?.sha}`).reply(200, { object });
  }
  expect(await openObserving(client, 1).readRef(door, "refs/tags/v1")).toBe(expected);
});

test("a ref whose beginning alone is there is not there", async () => {
  const { client, github } = begin();
  const object = { type: "commit", sha: commit };
  github.get("/repos/org/door/git/ref/tags%2Fv1").reply(200, { ref: "refs/tags/v1.0", object });
  expect(await openObserving(client, 1).readRef(door, "refs/tags/v1")).toBeNull();
});

const pull = { title: "t", body: "b", head: "holdfast/x", base: "main" };
const row = {
  number: 5,
  html_url: "u",
  title: "t",
  state: "open",
  node_id: "PR_5",
  head: { ref: "holdfast/x", repo: { id: 42 } },
  base: { ref: "main", repo: { id: 42 } },
};

test("where a plan has no drafts the pull request is made without", async () => {
  const { client, github } = begin();
  github
    .post("/repos/org/door/pulls", { ...pull, draft: true })
    .reply(422, { message: "no drafts" });
  github.get("/repositories/42").reply(200, place);
  github.post("/repos/org/door/pulls", { ...pull, draft: false }).reply(201, row);
  const made = await openPulls(client).createPull(door, { ...pull, isDraft: true });
  expect(made).toMatchObject({ number: 5, isDraft: false });
});

test("one that exists already is refused, a draft or not", async () => {
  const { client, github } = begin();
  github.post("/repos/org/door/pulls").twice().reply(422, { message: "already exists" });
  github.get("/repositories/42").reply(200, place);
  const made = openPulls(client).createPull(door, { ...pull, isDraft: true });
  await expect(made).rejects.toMatchObject({ code: "refused" });
});

test("a pull request from a fork of the same owner is not the one of our branch", async () => {
  const { client, github } = begin();
  const fork = { ...row, number: 4, head: { ...row.head, repo: { id: 43 } } };
  const gone = { ...row, number: 3, head: { ...row.head, repo: null } };
  github
    .get("/repos/org/door/pulls?head=org%3Aholdfast%2Fx&state=open")
    .reply(200, [fork, gone, row]);
  expect(await openPulls(client).findPull(door, "holdfast/x")).toMatchObject({ number: 5 });
});

test.each([
  [true, "convertPullRequestToDraft"],
  [false, "markPullRequestReadyForReview"],
])("draft %s is asked for beside the API, on Enterprise Server too", async (isDraft, mutation) => {
  const { client, github } = begin();
  github.patch("/repos/org/door/pulls/5").reply(200, { ...row, draft: !isDraft });
  nock(api)
    .post("/api/graphql", (body: { query: string }) => body.query.includes(mutation))
    .reply(200, { data: {} });
  const change = { title: "t", body: "b", isDraft };
  await expect(openPulls(client).editPull(door, 5, change)).resolves.toBeUndefined();
});

test("one that is closed stays as it is, and so does one where there are no drafts", async () => {
  const { client, github } = begin();
  const change = { title: "t", body: "b", isDraft: true };
  github.patch("/repos/org/door/pulls/5").reply(200, { ...row, state: "closed" });
  await openPulls(client).editPull(door, 5, change);
  github.patch("/repos/org/door/pulls/5").reply(200, row);
  nock(api)
    .post("/api/graphql")
    .reply(200, { data: null, errors: [{ type: "UNPROCESSABLE" }] });
  await expect(openPulls(client).editPull(door, 5, change)).resolves.toBeUndefined();
});

test("a head whose repository is gone is a fork's", async () => {
  const { client, github } = begin();
  const head = { ref: "x", sha: commit, repo: null };
  github.get("/repos/org/door/pulls/5").reply(200, { ...row, head, user, merged: false });
  const seen = await openPulls(client).readPull({ ...door, number: 5 });
  expect(seen).toMatchObject({ isFork: true, isHeadProtected: false, headCommit: commit });
});

test("a check that is there is changed without adding its places once more", async () => {
  const { client, github } = begin();
  const annotations = [{ path: "a", line: 1, message: "m" }];
  const check = { commit, name: "n", conclusion: "failure", title: "t", annotations } as const;
  github
    .get(`/repos/org/door/commits/${commit}/check-runs?check_name=n&app_id=1`)
    .reply(200, { check_runs: [{ id: 9, output: { annotations_count: 1 } }] })
    .patch(
      "/repos/org/door/check-runs/9",
      (body: { output: { annotations: []; summary: string } }) => {
        const { output } = body;
        return output.annotations.length === 0 && output.summary.length === 65_535;
      },
    )
    .reply(200, { id: 9 });
  const write = openObserving(client, 1).writeCheck(door, {
    ...check,
    summary: "s".repeat(70_000),
  });
  await expect(write).resolves.toBeUndefined();
});

test("tags of a container stand for its versions", async () => {
  const { client, github } = begin();
  function path(type: string): string {
    return `/orgs/org/packages/${type}/door/versions?per_page=100`;
  }
  github.get(path("npm")).reply(404, {});
  github.get("/users/org/packages/npm/door/versions").reply(404, {});
  github.get("/repositories/42").twice().reply(200, place);
  github.get(path("container")).reply(200, [
    { name: "sha256:b", metadata: { container: { tags: ["1.1.0", "latest"] } } },
    { name: "sha256:a", metadata: { container: { tags: ["1.0.0"] } } },
  ]);
  const found = await openObserving(client, 1).listPackageVersions(door, "door");
  expect(found).toEqual(["1.1.0", "latest", "1.0.0"]);
});

test("packages that an App may not read are refused, not taken for none", async () => {
  const { client, github } = begin();
  github.get("/orgs/org/packages/npm/door/versions?per_page=100").reply(403, {});
  const found = openObserving(client, 1).listPackageVersions(door, "door");
  await expect(found).rejects.toMatchObject({ code: "refused" });
});
