// Commits and what is said about them on the fake GitHub (spec 3.4, 6.4, 8.4), driven by a plain Octokit.

import { describe, expect, test } from "vitest";
import { createApp } from "../acts/accounts.ts";
import { checkRun, completeCheckRun, setStatus } from "../acts/checks.ts";
import { createRelease, publishPackageVersion, publishRelease } from "../acts/releases.ts";
import { protectBranch, pushTag, pushTo } from "../acts/repositories.ts";
import { door, openScene, refusalOf, type Scene } from "./scene.ts";

const createRoute = "POST /repos/{owner}/{repo}/check-runs";

function tipOf({ door: repository }: Scene): string {
  return repository.git.resolve("main") ?? "";
}

describe("branches, refs and tags", () => {
  test("are read with slashes in their names", async () => {
    const scene = await openScene();
    const { world, ada, door: repository } = scene;
    const commit = pushTo(world, { repository, by: ada, branch: "holdfast/1-hinge" });
    const { repos, git } = (await scene.api()).rest;
    const branch = await repos.getBranch({ ...door, branch: "holdfast/1-hinge" });
    expect(branch.data).toMatchObject({ protected: false, commit: { sha: commit } });
    const ref = await git.getRef({ ...door, ref: "heads/holdfast/1-hinge" });
    expect(ref.data.object).toMatchObject({ sha: commit, type: "commit" });
    const matching = await git.listMatchingRefs({ ...door, ref: "heads/holdfast/" });
    expect(matching.data.map(({ ref: name }) => name)).toEqual(["refs/heads/holdfast/1-hinge"]);
    expect(await refusalOf(repos.getBranch({ ...door, branch: "none" }))).toBe(404);
    expect(await refusalOf(git.getRef({ ...door, ref: "heads/none" }))).toBe(404);
    const { author } = (await repos.getCommit({ ...door, ref: "holdfast/1-hinge" })).data;
    expect(author).toMatchObject({ id: ada.id });
    expect(await refusalOf(repos.getCommit({ ...door, ref: "none" }))).toBe(422);
  });

  test("say when they are protected, and tags are listed", async () => {
    const scene = await openScene();
    const { world, ada, door: repository } = scene;
    protectBranch(repository, "main");
    pushTag(world, { repository, by: ada, tag: "v1" });
    const { repos } = (await scene.api()).rest;
    expect((await repos.getBranch({ ...door, branch: "main" })).data.protected).toBe(true);
    const tags = await repos.listTags(door);
    expect(tags.data).toMatchObject([{ name: "v1", commit: { sha: tipOf(scene) } }]);
  });
});

describe("check runs", () => {
  test("are made and changed by the App that owns them", async () => {
    const scene = await openScene();
    const { checks } = (await scene.api()).rest;
    const head_sha = tipOf(scene);
    const made = await checks.create({ ...door, name: "holdfast", head_sha });
    expect(made.data).toMatchObject({ status: "queued", conclusion: null });
    const check_run_id = made.data.id;
    const output = { title: "policy file", summary: "line 3 is wrong" };
    const end = { ...door, check_run_id, conclusion: "failure", output } as const;
    await checks.update(end);
    const { data } = await checks.get({ ...door, check_run_id });
    expect(data).toMatchObject({ status: "completed", conclusion: "failure", output });
    const endless = { ...door, name: "endless", head_sha, status: "completed" } as const;
    expect(await refusalOf(scene.api().then((api) => api.request(createRoute, endless)))).toBe(422);
    const nowhere = checks.create({ ...door, name: "holdfast", head_sha: "0".repeat(40) });
    expect(await refusalOf(nowhere)).toBe(422);
  });

  test("of others are listed by commit, the latest of each name, and are not ours to change", async () => {
    const scene = await openScene();
    const { world, door: repository } = scene;
    const app = createApp(world, "builder");
    const commit = tipOf(scene);
    checkRun(world, { repository, app, commit, name: "build", conclusion: "failure" });
    const latest = checkRun(world, { repository, app, commit, name: "build" });
    completeCheckRun(world, latest, "success");
    const { checks } = (await scene.api()).rest;
    const { data } = await checks.listForRef({ ...door, ref: "main" });
    expect(data.check_runs).toMatchObject([{ conclusion: "success", app: { id: app.id } }]);
    const all = await checks.listForRef({ ...door, ref: commit, filter: "all" });
    expect(all.data.total_count).toBe(2);
    const change = checks.update({ ...door, check_run_id: latest.id, name: "mine" });
    expect(await refusalOf(change)).toBe(403);
  });
});

test("statuses come to one, the latest of each context counts", async () => {
  const scene = await openScene();
  const { world, ada, door: repository } = scene;
  const { repos } = (await scene.api()).rest;
  const commit = tipOf(scene);
  async function state(): Promise<string> {
    return (await repos.getCombinedStatusForRef({ ...door, ref: commit })).data.state;
  }
  expect(await state()).toBe("pending");
  setStatus(world, { repository, by: ada, commit, state: "failure" });
  expect(await state()).toBe("failure");
  setStatus(world, { repository, by: ada, commit, state: "success" });
  setStatus(world, { repository, by: ada, commit, state: "success", context: "lint" });
  expect(await state()).toBe("success");
});

describe("releases and packages", () => {
  test("a release makes its tag, a draft makes none and is for writers", async () => {
    const scene = await openScene();
    const { world, ada, door: repository } = scene;
    createRelease(world, { repository, by: ada, tag: "v1" });
    const draft = createRelease(world, { repository, by: ada, tag: "v2", isDraft: true });
    const { repos } = (await scene.api()).rest;
    const reader = (await scene.api({ contents: "read" })).rest.repos;
    expect((await repos.listReleases(door)).data.map(({ tag_name: tag }) => tag)).toEqual([
      "v2",
      "v1",
    ]);
    expect((await reader.listReleases(door)).data).toHaveLength(1);
    expect((await repos.getLatestRelease(door)).data.tag_name).toBe("v1");
    expect(await refusalOf(repos.getReleaseByTag({ ...door, tag: "v2" }))).toBe(404);
    publishRelease(world, draft);
    expect((await repos.getReleaseByTag({ ...door, tag: "v2" })).data.draft).toBe(false);
    expect((await repos.getRelease({ ...door, release_id: draft.id })).data.tag_name).toBe("v2");
    expect(repository.git.resolve("refs/tags/v2")).not.toBeNull();
  });

  test("versions of a package are listed for its owner, newest first", async () => {
    const scene = await openScene();
    const { world, ada, door: repository } = scene;
    const name = "hinge";
    publishPackageVersion(world, { repository, by: ada, name, version: "1.0.0" });
    publishPackageVersion(world, { repository, by: ada, name, version: "1.1.0" });
    const { packages } = (await scene.api()).rest;
    const wish = { org: "org", package_type: "npm", package_name: name } as const;
    const { data } = await packages.getAllPackageVersionsForPackageOwnedByOrg(wish);
    expect(data.map((version) => version.name)).toEqual(["1.1.0", "1.0.0"]);
    const none = packages.getAllPackageVersionsForPackageOwnedByOrg({ ...wish, package_name: "a" });
    expect(await refusalOf(none)).toBe(404);
  });
});
