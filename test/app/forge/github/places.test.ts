// Where repositories are (spec 1.7): by id, under the name and the installation of now.
import { describe, expect, test } from "vitest";
import { minuteMs } from "../../../../policies/durations.ts";
import {
  createAccount,
  install,
  suspend,
  uninstall,
  unsuspend,
} from "../../../fakes/github/acts/accounts.ts";
import { openIssue } from "../../../fakes/github/acts/conversations.ts";
import { transferRepository } from "../../../fakes/github/acts/repositories.ts";
import { openScene } from "./harness.ts";
import { api, door, mockGitHub, place } from "./mocked.ts";

test("a name is kept for a minute", async () => {
  const { places, github, clock, mintAll } = mockGitHub();
  mintAll();
  github.get("/repositories/42").reply(200, place);
  const found = await places.find("42");
  expect(found).toEqual({
    forgeId: "42",
    name: "org/door",
    source: `${api}/org/door.git`,
    defaultBranch: "main",
    account: "7",
    isArchived: false,
  });
  clock.at += minuteMs - 1;
  expect(await places.find("42")).toBe(found);
  clock.at += 1;
  github.get("/repositories/42").reply(200, { ...place, full_name: "org/gate" });
  expect(await places.find("42")).toMatchObject({ name: "org/gate" });
});

test("where git goes is made of our own address, whatever GitHub's answer says", async () => {
  const { places, github, mintAll } = mockGitHub();
  mintAll();
  const urls = { clone_url: "https://evil.example/x.git", html_url: "https://evil.example" };
  github.get("/repositories/42").reply(200, { ...place, ...urls, full_name: "org/a b#c" });
  expect(await places.find("42")).toMatchObject({ source: `${api}/org/a%20b%23c.git` });
});

test("what a read does not find is looked for under its new name the next time", async () => {
  const { client, github, mintAll } = mockGitHub();
  mintAll();
  github.get("/repositories/42").reply(200, place);
  github.get("/repos/org/door/issues/1").reply(404, {});
  github.get("/repositories/42").reply(200, { ...place, full_name: "org/gate" });
  github.get("/repos/org/gate/issues/1").reply(200, { number: 1 });
  const seen: unknown[] = [];
  for (const _ of [1, 2]) {
    seen.push(
      await client.read(door, (octokit, at) => octokit.rest.issues.get({ ...at, issue_number: 1 })),
    );
  }
  expect(seen).toEqual([null, { number: 1 }]);
});

test("repositories are listed over all installations and pages, suspended ones left out", async () => {
  const { places, github, mintAll } = mockGitHub();
  github.get("/app/installations?per_page=100").reply(200, [
    { id: 7, suspended_at: null },
    { id: 8, suspended_at: "2026-01-01T00:00:00Z" },
    { id: 9, suspended_at: null },
  ]);
  mintAll();
  const listing = "/installation/repositories?per_page=100";
  const next = { link: `<${api}/api/v3${listing}&page=2>; rel="next"` };
  function page(...ids: number[]) {
    return { total_count: 3, repositories: ids.map((id) => ({ ...place, id })) };
  }
  github.get(listing).reply(200, page(1), next);
  github.get(`${listing}&page=2`).reply(200, page(2));
  github.get(listing).reply(200, page(3));
  const found = await places.list();
  expect(found.map(({ forgeId, account }) => [forgeId, account])).toEqual([
    ["1", "7"],
    ["2", "7"],
    ["3", "9"],
  ]);
});

describe("on the fake GitHub", () => {
  test("a repository that moves to an owner with the App goes on through that installation", async () => {
    const { github, ada, door: moved, installation, open } = await openScene();
    const { world } = github;
    const to = createAccount(world, "other", "Organization");
    const other = install(world, { account: to });
    openIssue(world, { repository: moved, by: ada, title: "A gap" });
    // The ledger knows only the installation of before.
    const { forge } = await open(async () => String(installation.id));
    const ref = { connection: "github", forgeId: String(moved.id), number: 1 };
    expect(await forge.readConversation(ref)).toMatchObject({ title: "A gap" });
    transferRepository(world, moved, { by: ada, to });
    github.advance(minuteMs);
    expect(await forge.readConversation(ref)).toMatchObject({ title: "A gap" });
    const found = await forge.readRepository(ref);
    expect(found).toMatchObject({ name: "other/door", account: String(other.id) });
    expect(await forge.createComment(ref, "still here")).toMatchObject({ id: expect.any(String) });
    expect(await forge.gitToken(ref, "write")).toMatch(/^ghs_/);
  });

  test("a suspended installation is waited for, one that is gone reads as nothing", async () => {
    const { github, door: repository, installation, open } = await openScene();
    const { world } = github;
    const { forge } = await open(async () => String(installation.id));
    const ref = { connection: "github", forgeId: String(repository.id), number: 1 };
    suspend(world, installation);
    const later = { code: "unavailable", retry: "later" };
    await expect(forge.readRepository(ref)).rejects.toMatchObject(later);
    await expect(forge.createComment(ref, "x")).rejects.toMatchObject(later);
    await expect(forge.gitToken(ref, "write")).rejects.toMatchObject(later);
    unsuspend(world, installation);
    expect(await forge.readRepository(ref)).toMatchObject({ name: "org/door" });
    uninstall(world, installation);
    github.advance(minuteMs);
    expect(await forge.readRepository(ref)).toBeNull();
    const refused = { code: "refused", retry: "never", isClosed: true };
    await expect(forge.createComment(ref, "x")).rejects.toMatchObject(refused);
  });

  test("a suspended installation is waited for with the token of before as well", async () => {
    const { github, ada, door: repository, installation, open } = await openScene();
    const { world } = github;
    openIssue(world, { repository, by: ada });
    const { forge } = await open(async () => String(installation.id));
    const ref = { connection: "github", forgeId: String(repository.id), number: 1 };
    await forge.createComment(ref, "here");
    suspend(world, installation);
    await expect(forge.readConversation(ref)).rejects.toMatchObject({ code: "unavailable" });
    await expect(forge.createComment(ref, "x")).rejects.toMatchObject({ code: "unavailable" });
  });
});
