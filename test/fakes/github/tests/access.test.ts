// Who may ask the fake GitHub what (spec 6.5, 8.4): JWTs, tokens, their narrowing and their ends.

import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  acceptPermissions,
  createAccount,
  removeFromInstallation,
  suspend,
  uninstall,
  unsuspend,
} from "../acts/accounts.ts";
import { openIssue } from "../acts/conversations.ts";
import { archiveRepository, createRepository } from "../acts/repositories.ts";
import type { World } from "../world.ts";
import { clientOf, door, jwtOf, openScene, refusalOf, type Claim } from "./scene.ts";

describe("the App's JWT", () => {
  test("is taken when it is right, with the App's id or its client id", async () => {
    const { github, world, app } = await openScene();
    expect((await app.rest.apps.getAuthenticated()).data?.slug).toBe(world.app.slug);
    const other = clientOf(github, jwtOf(world, { iss: world.app.clientId }));
    expect((await other.rest.apps.getAuthenticated()).data?.id).toBe(world.app.id);
  });

  test.each<[string, (now: number, world: World) => Claim]>([
    ["another App's", () => ({ iss: 1 })],
    ["one that has ended", (now) => ({ iat: now - 600, exp: now - 1 })],
    ["one for longer than ten minutes", (now) => ({ exp: now + 1200 })],
    ["one of the future", (now) => ({ iat: now + 300, exp: now + 500 })],
  ])("is not taken when it is %s", async (_, spoil) => {
    const { github, world } = await openScene();
    const claim = spoil(Math.floor(world.now() / 1000), world);
    const app = clientOf(github, jwtOf(world, claim));
    expect(await refusalOf(app.rest.apps.getAuthenticated())).toBe(401);
  });

  test("is not taken when somebody else signed it", async () => {
    const { github, world } = await openScene();
    const { privateKey } = generateKeyPairSync("rsa", {
      modulusLength: 2048,
      privateKeyEncoding: { type: "pkcs1", format: "pem" },
      publicKeyEncoding: { type: "spki", format: "pem" },
    });
    const app = clientOf(github, jwtOf(world, {}, privateKey));
    expect(await refusalOf(app.rest.apps.getAuthenticated())).toBe(401);
  });

  test("opens nothing in a repository, as a token opens nothing of the App", async () => {
    const { app, api } = await openScene();
    expect(await refusalOf(app.rest.repos.get(door))).toBe(401);
    expect(await refusalOf((await api()).rest.apps.getAuthenticated())).toBe(401);
  });
});

describe("an installation's token", () => {
  test("comes in the short and in the long format", async () => {
    const { github, world, token } = await openScene();
    expect(await token()).toMatch(/^ghs_[A-Za-z0-9]{36}$/);
    github.makeLongTokens(true);
    const long = await token();
    expect(long).toMatch(new RegExp(`^ghs_${world.app.id}_[\\w-]+\\.[\\w-]+\\.[\\w-]+$`));
    expect(long.length).toBeGreaterThan(450);
    expect((await clientOf(github, long).rest.repos.get(door)).status).toBe(200);
  });

  test("ends after an hour of the fake's clock, and when it is revoked", async () => {
    const { github, api } = await openScene();
    const early = await api();
    await early.rest.repos.get(door);
    github.advance(60 * 60 * 1000);
    expect(await refusalOf(early.rest.repos.get(door))).toBe(401);
    const late = await api();
    github.revokeTokens();
    expect(await refusalOf(late.rest.repos.get(door))).toBe(401);
    const own = await api();
    await own.rest.apps.revokeInstallationAccessToken();
    expect(await refusalOf(own.rest.repos.get(door))).toBe(401);
  });

  test("narrowed to a repository knows no other", async () => {
    const { github, world, org, app, door: first, installation } = await openScene();
    createRepository(world, { owner: org, name: "wall" });
    const wish = { installation_id: installation.id, repository_ids: [first.id] };
    const { data } = await app.rest.apps.createInstallationAccessToken(wish);
    expect(data.repositories?.map(({ name }) => name)).toEqual(["door"]);
    const api = clientOf(github, data.token);
    await api.rest.repos.get(door);
    expect(await refusalOf(api.rest.repos.get({ ...door, repo: "wall" }))).toBe(404);
    const listed = await api.rest.apps.listReposAccessibleToInstallation();
    expect(listed.data.total_count).toBe(1);
  });

  test("narrowed to permissions may do no more", async () => {
    const { world, ada, door: repository, api } = await openScene();
    openIssue(world, { repository, by: ada });
    const reader = await api({ issues: "read" });
    const issue = { ...door, issue_number: 1 };
    await reader.rest.issues.get(issue);
    expect(await refusalOf(reader.rest.issues.createComment({ ...issue, body: "a" }))).toBe(403);
    expect(await refusalOf(reader.rest.pulls.list(door))).toBe(403);
  });

  test("is not minted for more than the installation has", async () => {
    const { app, installation, token, world } = await openScene();
    expect(await refusalOf(token({ workflows: "write" }))).toBe(422);
    acceptPermissions(world, installation, { metadata: "read", issues: "read" });
    expect(await refusalOf(token({ issues: "write" }))).toBe(422);
    const wish = { installation_id: installation.id, repositories: ["elsewhere"] };
    expect(await refusalOf(app.rest.apps.createInstallationAccessToken(wish))).toBe(422);
  });

  test("opens nothing while the installation is suspended, and is dead after it", async () => {
    const { world, installation, api, token } = await openScene();
    const client = await api();
    suspend(world, installation);
    expect(await refusalOf(client.rest.repos.get(door))).toBe(403);
    expect(await refusalOf(token())).toBe(403);
    unsuspend(world, installation);
    await client.rest.repos.get(door);
    uninstall(world, installation);
    expect(await refusalOf(client.rest.repos.get(door))).toBe(401);
    expect(await refusalOf(token())).toBe(404);
  });

  test("loses a repository that leaves the installation", async () => {
    const { world, installation, door: repository, api, app } = await openScene();
    const client = await api();
    await app.rest.apps.getRepoInstallation(door);
    removeFromInstallation(world, installation, repository);
    expect(await refusalOf(client.rest.repos.get(door))).toBe(404);
    expect(await refusalOf(app.rest.apps.getRepoInstallation(door))).toBe(404);
  });

  test("reads an archived repository and writes nothing there", async () => {
    const { world, ada, door: repository, api } = await openScene();
    openIssue(world, { repository, by: ada });
    archiveRepository(world, repository, { by: ada });
    const client = await api();
    expect((await client.rest.repos.get(door)).data.archived).toBe(true);
    const comment = { ...door, issue_number: 1, body: "late" };
    expect(await refusalOf(client.rest.issues.createComment(comment))).toBe(403);
  });

  test("reaches nothing of an account without an installation", async () => {
    const { world, api } = await openScene();
    createRepository(world, { owner: createAccount(world, "else"), name: "shed" });
    const client = await api();
    expect(await refusalOf(client.rest.repos.get({ owner: "else", repo: "shed" }))).toBe(404);
  });
});
