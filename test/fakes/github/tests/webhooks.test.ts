// What the fake GitHub tells (spec 6.2, 8.4): signed, in order, listed with its result, and spoiled where a test wants.

import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import * as accounts from "../acts/accounts.ts";
import * as checks from "../acts/checks.ts";
import * as conversations from "../acts/conversations.ts";
import * as pulls from "../acts/pulls.ts";
import * as releases from "../acts/releases.ts";
import * as repositories from "../acts/repositories.ts";
import type { WebhookFault } from "../webhooks.ts";
import { namesOf, openScene, receiveWebhooks, secret, type Received, type Scene } from "./scene.ts";

function openIssue({ world, ada, door: repository }: Scene) {
  return conversations.openIssue(world, { repository, by: ada });
}

function comment(scene: Scene, body: string) {
  const [issue = openIssue(scene)] = scene.world.issues;
  return conversations.comment(scene.world, { issue, by: scene.ada, body });
}

function openPull({ world, ada, door: repository }: Scene) {
  repositories.pushTo(world, { repository, by: ada, branch: "work" });
  return pulls.openPull(world, { repository, by: ada, head: "work" });
}

function isSigned({ headers, body }: Received): boolean {
  const proof = createHmac("sha256", secret).update(body).digest("hex");
  return headers["x-hub-signature-256"] === `sha256=${proof}`;
}

test("a delivery is signed, and says what it is and whom it is for", async () => {
  const scene = await openScene();
  const received = await receiveWebhooks(scene.github);
  comment(scene, "hello");
  await scene.github.settled();
  const [, told] = received;
  expect(namesOf(received)).toEqual(["issues.opened", "issue_comment.created"]);
  expect(received.every(isSigned)).toBe(true);
  expect(told?.headers).toMatchObject({
    "content-type": "application/json",
    "user-agent": expect.stringMatching(/^GitHub-Hookshot\//),
    "x-github-delivery": expect.stringMatching(/^[0-9a-f-]{36}$/),
    "x-github-hook-installation-target-id": String(scene.world.app.id),
  });
  expect(JSON.parse(told?.body ?? "")).toMatchObject({
    action: "created",
    comment: { body: "hello", user: { id: scene.ada.id } },
    issue: { number: 1 },
    repository: { id: scene.door.id, full_name: "org/door" },
    organization: { login: "org" },
    sender: { id: scene.ada.id },
    installation: { id: scene.installation.id },
  });
});

test.each<[string, (scene: Scene) => void, string[]]>([
  [
    "an issue's life",
    (scene) => {
      const issue = openIssue(scene);
      conversations.editIssue(scene.world, issue, { by: scene.ada, body: "more" });
      conversations.closeIssue(scene.world, issue, scene.ada);
      conversations.reopenIssue(scene.world, issue, scene.ada);
      conversations.lockIssue(scene.world, issue, scene.ada);
      conversations.unlockIssue(scene.world, issue, scene.ada);
      conversations.deleteIssue(scene.world, issue, scene.ada);
    },
    ["opened", "edited", "closed", "reopened", "locked", "unlocked", "deleted"].map(
      (action) => `issues.${action}`,
    ),
  ],
  [
    "a comment's life",
    (scene) => {
      const made = comment(scene, "a");
      conversations.editComment(scene.world, made, { by: scene.ada, body: "b" });
      conversations.deleteComment(scene.world, made, scene.ada);
    },
    ["issues.opened", ...["created", "edited", "deleted"].map((a) => `issue_comment.${a}`)],
  ],
  [
    "a pull request's life",
    (scene) => {
      const { world, ada } = scene;
      const issue = openPull(scene);
      repositories.pushTo(world, { repository: scene.door, by: ada, branch: "work" });
      pulls.setDraft(world, issue, { by: ada, isDraft: true });
      pulls.review(world, { issue, by: ada, body: "hm" });
      const line = pulls.inlineComment(world, { issue, by: ada, body: "here" });
      pulls.editInlineComment(world, line, { by: ada, body: "there" });
      pulls.deleteInlineComment(world, line, ada);
      pulls.mergePull(world, issue, ada);
    },
    [
      "push",
      "create",
      "pull_request.opened",
      "push",
      "pull_request.synchronize",
      "pull_request.converted_to_draft",
      "pull_request_review.submitted",
      "pull_request_review_comment.created",
      "pull_request_review_comment.edited",
      "pull_request_review_comment.deleted",
      "push",
      "pull_request.closed",
    ],
  ],
  [
    "the loss of a branch",
    (scene) => {
      openPull(scene);
      const { world, door: repository, ada: by } = scene;
      repositories.deleteBranch(world, { repository, by, branch: "work" });
    },
    ["push", "create", "pull_request.opened", "push", "pull_request.closed"],
  ],
  [
    "what programs say",
    ({ world, door: repository, ada: by }) => {
      const app = accounts.createApp(world, "builder");
      const commit = repository.git.resolve("main") ?? "";
      checks.checkRun(world, { repository, app, commit, name: "build", conclusion: "success" });
      checks.setStatus(world, { repository, by, commit, state: "success" });
      checks.completeWorkflowRun(world, { repository, by, commit, branch: "main" });
      checks.setDeploymentStatus(world, { repository, by, commit, state: "success" });
      checks.dispatch(world, { repository, by, type: "go", payload: { a: 1 } });
    },
    [
      "check_run.created",
      "check_run.completed",
      "check_suite.completed",
      "status",
      "workflow_run.completed",
      "deployment_status.created",
      "repository_dispatch.go",
    ],
  ],
  [
    "a release and a package",
    ({ world, door: repository, ada: by }) => {
      const release = releases.createRelease(world, { repository, by, tag: "v1" });
      releases.editRelease(world, release, "notes");
      releases.publishPackageVersion(world, { repository, by, name: "a", version: "1" });
    },
    [
      "push",
      "create",
      "release.created",
      "release.published",
      "release.released",
      "release.edited",
      "registry_package.published",
    ],
  ],
  [
    "an installation's life",
    ({ world, installation, org }) => {
      const wall = repositories.createRepository(world, { owner: org, name: "wall" });
      accounts.removeFromInstallation(world, installation, wall);
      accounts.addToInstallation(world, installation, wall);
      accounts.suspend(world, installation);
      accounts.unsuspend(world, installation);
      accounts.acceptPermissions(world, installation, { metadata: "read" });
      accounts.uninstall(world, installation);
    },
    [
      "installation_repositories.removed",
      "installation_repositories.added",
      ...["suspend", "unsuspend", "new_permissions_accepted", "deleted"].map(
        (action) => `installation.${action}`,
      ),
    ],
  ],
  [
    "a repository's life",
    ({ world, door, ada: by }) => {
      repositories.renameRepository(world, door, { by, name: "gate" });
      repositories.archiveRepository(world, door, { by });
      const to = accounts.createAccount(world, "else");
      accounts.install(world, { account: to });
      repositories.transferRepository(world, door, { by, to });
      repositories.deleteRepository(world, door, { by });
    },
    [
      "repository.renamed",
      "repository.archived",
      "installation.created",
      "repository.transferred",
      "installation_repositories.removed",
      "repository.deleted",
    ],
  ],
])("%s is told act by act", async (_, act, names) => {
  const scene = await openScene();
  const received = await receiveWebhooks(scene.github);
  act(scene);
  await scene.github.settled();
  expect(namesOf(received)).toEqual(names);
  for (const { body } of received) expect(JSON.parse(body)).toHaveProperty("sender.login");
});

test("nothing is told of a repository that the App is not installed on", async () => {
  const scene = await openScene();
  const received = await receiveWebhooks(scene.github);
  const owner = accounts.createAccount(scene.world, "else");
  const repository = repositories.createRepository(scene.world, { owner });
  conversations.openIssue(scene.world, { repository, by: owner });
  await scene.github.settled();
  expect(received).toEqual([]);
  expect(scene.github.events.map(({ name }) => name)).toContain("issues");
});

describe("deliveries", () => {
  test("are listed newest first with their results, page by page", async () => {
    const scene = await openScene();
    await receiveWebhooks(scene.github, () => (scene.github.deliveries.length > 2 ? 500 : 202));
    ["a", "b", "c"].forEach((body) => comment(scene, body));
    await scene.github.settled();
    const route = "GET /app/hook/deliveries";
    const all = await scene.app.paginate(route, { per_page: 2 });
    const ids = scene.github.deliveries.map(({ id }) => id);
    expect(all.map(({ id }) => id)).toEqual(ids.toReversed());
    const { data } = await scene.app.request(route, { status: "failure" });
    expect(data.length).toBeGreaterThan(0);
    expect(data.every(({ status_code: code }) => code === 500)).toBe(true);
    const one = await scene.app.rest.apps.getWebhookDelivery({ delivery_id: ids[0] ?? 0 });
    expect(one.data.request.payload).toMatchObject({ action: "opened" });
  });

  test("are failed while nobody listens, and come again under the same GUID", async () => {
    const scene = await openScene();
    scene.github.setHook({ url: "http://127.0.0.1:9/hook", secret });
    openIssue(scene);
    await scene.github.settled();
    const [failed] = scene.github.deliveries;
    expect(failed?.status).toBe(502);
    const received = await receiveWebhooks(scene.github);
    const delivery_id = failed?.id ?? 0;
    await scene.app.rest.apps.redeliverWebhookDelivery({ delivery_id });
    await scene.github.settled();
    const [again] = received;
    expect(again?.headers["x-github-delivery"]).toBe(failed?.guid);
    expect(received.every(isSigned)).toBe(true);
    const { data } = await scene.app.rest.apps.listWebhookDeliveries();
    expect(data.map(({ redelivery, status }) => [redelivery, status])).toMatchObject([
      [true, "OK"],
      [false, expect.any(String)],
    ]);
  });
});

describe("faults", () => {
  async function tell(fault: WebhookFault) {
    const scene = await openScene();
    openIssue(scene);
    const received = await receiveWebhooks(scene.github);
    scene.github.webhookFault(fault);
    ["one", "two", "three"].forEach((body) => comment(scene, body));
    await scene.github.settled();
    function bodies(): string[] {
      return received.map(
        ({ body }) => (JSON.parse(body) as { comment: { body: string } }).comment.body,
      );
    }
    const guids = new Set(received.map(({ headers }) => headers["x-github-delivery"]));
    return { scene, received, bodies, guids };
  }

  test("duplicate: twice under one GUID", async () => {
    const { bodies, guids } = await tell({ kind: "duplicate" });
    expect(bodies()).toEqual(["one", "one", "two", "three"]);
    expect(guids.size).toBe(3);
  });

  test("second-hook: twice under two GUIDs", async () => {
    const { bodies, guids } = await tell({ kind: "second-hook", on: "issue_comment.created" });
    expect(bodies()).toEqual(["one", "one", "two", "three"]);
    expect(guids.size).toBe(4);
  });

  test("drop: lost and listed; lose: lost alone", async () => {
    const dropped = await tell({ kind: "drop" });
    expect(dropped.bodies()).toEqual(["two", "three"]);
    expect(dropped.scene.github.deliveries.map(({ status }) => status)).toEqual([502, 202, 202]);
    const lost = await tell({ kind: "lose", times: 2 });
    expect(lost.bodies()).toEqual(["three"]);
    expect(lost.scene.github.deliveries).toHaveLength(1);
  });

  test("reorder: the last first", async () => {
    expect((await tell({ kind: "reorder", times: 3 })).bodies()).toEqual(["three", "two", "one"]);
    expect((await tell({ kind: "reorder", times: 9 })).bodies()).toEqual(["three", "two", "one"]);
  });

  test("delay: held until it is let go", async () => {
    const { scene, bodies } = await tell({ kind: "delay", on: "issue_comment" });
    expect(bodies()).toEqual(["two", "three"]);
    scene.github.releaseDeliveries();
    await scene.github.settled();
    expect(bodies()).toEqual(["two", "three", "one"]);
  });

  test("edited-between: the event tells the old text, GitHub has the new one", async () => {
    const { scene, received, bodies } = await tell({ kind: "edited-between", body: "other" });
    expect(namesOf(received)[1]).toBe("issue_comment.edited");
    expect(bodies()).toEqual(["one", "other", "two", "three"]);
    expect(scene.world.comments[0]?.body).toBe("other");
  });

  test("wrong-signature: by somebody who does not know the secret", async () => {
    const { received } = await tell({ kind: "wrong-signature" });
    expect(received.map(isSigned)).toEqual([false, true, true]);
  });

  test("an event that a fault does not name passes", async () => {
    expect((await tell({ kind: "drop", on: "issues" })).bodies()).toEqual(["one", "two", "three"]);
  });
});
