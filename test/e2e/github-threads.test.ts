// What went wrong with bots in public, as tests: each is named after the thread where people met it, and says what
// Holdfast does instead (spec 1.3-1.7, 6.2-6.4). On a GitHub whose webhooks and answers go wrong.
import { describe, expect, test } from "vitest";
import { reconcile } from "../../app/intake/reconcile.ts";
import { parseComment } from "../../policies/commands/comment.ts";
import { openGitHubSpine, policy, type GitHubSpine } from "../fakes/github-spine.ts";
import { createAccount, createApp, uninstall } from "../fakes/github/acts/accounts.ts";
import {
  comment,
  deleteComment,
  deleteIssue,
  editComment,
  lockIssue,
  openIssue,
} from "../fakes/github/acts/conversations.ts";
import { openPull } from "../fakes/github/acts/pulls.ts";
import { allow, pushTo, renameRepository } from "../fakes/github/acts/repositories.ts";
import { isPull, type Issue } from "../fakes/github/world.ts";

const build = "@holdfast run build";
const createComment = "POST /repos/{owner}/{repo}/issues/{issue_number}/comments";

interface Scene extends GitHubSpine {
  readonly issue: Issue;
  readonly ask: (body?: string) => Promise<void>;
}

async function begin(options: Parameters<typeof openGitHubSpine>[0] = {}): Promise<Scene> {
  const spine = await openGitHubSpine(options);
  const { github, ada, door, rest } = spine;
  const issue = openIssue(github.world, { repository: door, by: ada });
  await rest();
  async function ask(body = build): Promise<void> {
    comment(github.world, { issue, by: ada, body });
    await rest();
  }
  return { ...spine, issue, ask };
}

/** Our comments by the key in their marker: each key must be there once. */
function keysOf({ github }: GitHubSpine): string[] {
  return github.world.comments
    .filter(({ author, isDeleted }) => author === github.world.app.bot && !isDeleted)
    .map(({ body }) => /<!-- holdfast:(\S+?):/.exec(body)?.[1]?.replace(/m-\w+/, "m") ?? "none");
}

async function statuses(spine: GitHubSpine): Promise<string[]> {
  return (await spine.mandates()).map(({ status }) => status);
}

describe("said once, done once", () => {
  test("probot#921: a comment that was made although GitHub answered 502 is not made again", async () => {
    const scene = await begin();
    scene.github.fault({ on: createComment, kind: "5xx-after", times: 2 });
    await scene.ask();
    expect(keysOf(scene).toSorted()).toEqual(["result/m", "status/m"]);
  });

  test.each(["timeout-after", "reset-after"] as const)(
    "probot#921: nor one whose answer never came (%s)",
    async (kind) => {
      const scene = await begin();
      scene.github.fault({ on: createComment, kind, times: 1 });
      await scene.ask();
      expect(keysOf(scene).toSorted()).toEqual(["result/m", "status/m"]);
    },
    60_000,
  );

  test("a comment that GitHub did not take is made later", async () => {
    const scene = await begin();
    scene.github.fault({ on: createComment, kind: "5xx-before", times: 3 });
    scene.github.fault({ on: createComment, kind: "reset-before", times: 1 });
    await scene.ask();
    expect(keysOf(scene).toSorted()).toEqual(["result/m", "status/m"]);
  });

  test("elithrar/dotfiles#19: a pull request that was made although the answer was lost is adopted", async () => {
    const scene = await begin();
    scene.github.fault({ on: "POST /repos/{owner}/{repo}/pulls", kind: "5xx-after" });
    await scene.ask();
    expect(scene.github.world.issues.filter(isPull)).toHaveLength(1);
    expect(await statuses(scene)).toEqual(["completed"]);
  }, 120_000);

  test("go-githubapp#59, all-contributors#79: the same delivery twice is one mandate and one answer", async () => {
    const scene = await begin();
    scene.github.webhookFault({ kind: "duplicate", on: "issue_comment.created", times: 2 });
    await scene.ask();
    await scene.ask("@holdfast status");
    expect(await statuses(scene)).toEqual(["completed"]);
    expect(keysOf(scene)).toHaveLength(3);
  });

  test("woodpecker#110, Archon#1951: two hooks with their own GUIDs are one mandate", async () => {
    const scene = await begin();
    scene.github.webhookFault({ kind: "second-hook", on: "issue_comment.created" });
    await scene.ask();
    expect(await statuses(scene)).toEqual(["completed"]);
  });

  test("a delivery that somebody sends again days later by hand starts nothing", async () => {
    const scene = await begin();
    await scene.ask();
    const told = scene.github.deliveries.filter(({ event }) => event === "issue_comment");
    for (const { id } of told) scene.github.redeliver(id);
    await scene.rest();
    expect(await statuses(scene)).toEqual(["completed"]);
    expect(keysOf(scene)).toHaveLength(2);
  });
});

describe("nothing is lost on the way", () => {
  test("gascity#5827, octokit#185: a delivery that did not arrive is asked for again", async () => {
    const scene = await begin();
    scene.github.webhookFault({ kind: "drop", on: "issue_comment.created" });
    await scene.ask();
    expect(await statuses(scene)).toEqual([]);
    await reconcile(scene.host, { isStart: true });
    await scene.rest();
    expect(await statuses(scene)).toEqual(["completed"]);
  });

  test("test-infra#4770: what no delivery ever told of is found by looking", async () => {
    const scene = await begin();
    scene.github.webhookFault({ kind: "lose", on: "issue_comment.created" });
    await scene.ask();
    expect(await statuses(scene)).toEqual([]);
    await reconcile(scene.host, { isStart: true });
    await scene.rest();
    expect(await statuses(scene)).toEqual(["completed"]);
  });

  test("deliveries that overtake each other are accepted all the same", async () => {
    const scene = await begin();
    const { github, ada, issue } = scene;
    github.webhookFault({ kind: "reorder", on: "issue_comment.created", times: 2 });
    comment(github.world, { issue, by: ada, body: build });
    comment(github.world, { issue, by: ada, body: "@holdfast run wait" });
    await scene.rest();
    expect((await statuses(scene)).toSorted()).toEqual(["completed", "waiting"]);
  });

  test("octokit.js#900: a comment that GitHub cannot find yet is looked for again", async () => {
    const scene = await begin();
    scene.github.fault({
      on: "GET /repos/{owner}/{repo}/issues/comments/{comment_id}",
      kind: "404-lag",
      times: 2,
    });
    await scene.ask();
    expect(await statuses(scene)).toEqual(["completed"]);
  });

  test("plugin-throttling#108: a limit becomes a later delivery, not a loop and not a loss", async () => {
    const scene = await begin();
    const limit = { on: createComment, kind: "secondary-limit", retryAfter: 1 } as const;
    scene.github.fault({ ...limit, times: 2 });
    await scene.ask();
    expect(keysOf(scene).toSorted()).toEqual(["result/m", "status/m"]);
    const posts = scene.github.requests.filter(({ route }) => route === createComment);
    expect(posts).toHaveLength(4);
  });

  test("prflow#487: a token that GitHub stops taking is minted anew, and the work goes on", async () => {
    const scene = await begin();
    await scene.ask();
    scene.github.revokeTokens();
    await scene.ask();
    expect(await statuses(scene)).toEqual(["completed", "completed"]);
  });
});

describe("who and what is obeyed", () => {
  test("all-contributors#266, cla-bot#87: what we write ourselves never commands us", async () => {
    const scene = await begin();
    const { github, issue } = scene;
    comment(github.world, { issue, by: github.world.app.bot, body: build });
    await scene.rest();
    expect(await scene.mandates()).toEqual([]);
    expect(keysOf(scene)).toEqual(["none"]);
  });

  test("asyncapi#110: none of our own texts holds a command for our own parser", async () => {
    const scene = await begin();
    for (const body of [
      build,
      "@holdfast help",
      "@holdfast status",
      "@holdfast run nothing",
      "@holdfast extend m-none 3d",
      "@holdfast stpo",
      "@holdfast run build by yesterday",
      "@holdfast wait until pigs fly",
    ]) {
      await scene.ask(body);
    }
    const bodies = scene.ours(scene.issue).map(({ body }) => body);
    expect(bodies.length).toBeGreaterThan(7);
    for (const body of bodies) {
      const parsed = parseComment(body, { mention: "holdfast" });
      expect(parsed).toMatchObject({ commands: [], errors: [] });
    }
  });

  test("prow#431, #432: another bot that quotes our help starts nothing", async () => {
    const scene = await begin();
    const other = createApp(scene.github.world, "helper");
    allow(scene.door, other.bot, "write");
    await scene.ask("@holdfast help");
    const { body = "" } = scene.ours(scene.issue).at(-1) ?? {};
    for (const said of [body, build]) {
      comment(scene.github.world, { issue: scene.issue, by: other.bot, body: said });
    }
    await scene.rest();
    expect(await scene.mandates()).toEqual([]);
  });

  test("openclaw#58789: two bots that thank each other stop after one", async () => {
    const scene = await begin();
    const { github, door, issue, ada } = scene;
    const bots = ["one", "two"].map((slug) => createApp(github.world, slug).bot);
    const allowed = `${policy}\nallowBots: [${bots.map(({ id }) => id).join(", ")}]\n`;
    pushTo(github.world, {
      repository: door,
      by: ada,
      branch: "main",
      files: { ".holdfast.yml": allowed },
    });
    for (let turn = 0; turn < 4; turn += 1) {
      const by = bots[turn % 2] ?? ada;
      comment(github.world, { issue, by, body: build });
      await scene.rest();
    }
    expect(await statuses(scene)).toEqual(["completed"]);
  });

  test("hacktricks-cloud#301: a name that ends in [bot], or is ours, is only a name", async () => {
    const scene = await begin();
    for (const login of [`${scene.github.world.app.slug}-bot`, "dependabot"]) {
      const by = createAccount(scene.github.world, login);
      comment(scene.github.world, { issue: scene.issue, by, body: build });
    }
    await scene.rest();
    expect(await scene.mandates()).toEqual([]);
  });

  test("homu#79, rustc-perf#283: an edit never runs anything, and one hint says what to do", async () => {
    const scene = await begin();
    const { github, issue, ada } = scene;
    const said = comment(github.world, { issue, by: ada, body: "thanks" });
    await scene.rest();
    for (const body of [build, `${build} again`]) {
      editComment(github.world, said, { by: ada, body });
      await scene.rest();
    }
    expect(await scene.mandates()).toEqual([]);
    expect(keysOf(scene)).toHaveLength(1);
  });

  test("a comment that somebody else edits before we read it runs nothing", async () => {
    const scene = await begin();
    scene.github.webhookFault({
      kind: "edited-between",
      on: "issue_comment.created",
      body: "@holdfast run wait",
    });
    await scene.ask();
    expect(await scene.mandates()).toEqual([]);
  });

  test("a deletion cancels nothing", async () => {
    const scene = await begin();
    const { github, issue, ada } = scene;
    const said = comment(github.world, { issue, by: ada, body: "@holdfast run wait" });
    await scene.rest();
    deleteComment(github.world, said, ada);
    await scene.rest();
    expect(await statuses(scene)).toEqual(["waiting"]);
  });

  test.each([
    ["knative#764: in a comment of HTML", "<!-- \n@holdfast run build\n-->"],
    ["software-agent-sdk#1188: in a quoted reply", "> @holdfast run build\n\nlook"],
    [
      "opencode#1523: in code and addresses",
      "```\n@holdfast run build\n```\nhttps://x.example/holdfast run",
    ],
    [
      "in a list, a heading and a table",
      "- @holdfast run build\n\n# @holdfast run build\n\n| a |\n|-|\n| @holdfast run build |",
    ],
  ])("%s a command is none", async (_, body) => {
    const scene = await begin();
    await scene.ask(body);
    expect(await scene.mandates()).toEqual([]);
  });

  test("koan#2029, loopover#970: a thousand refused comments get one answer and few calls", async () => {
    const scene = await begin();
    const mallory = createAccount(scene.github.world, "mallory");
    for (let count = 0; count < 200; count += 1) {
      comment(scene.github.world, { issue: scene.issue, by: mallory, body: `${build} ${count}` });
    }
    await scene.rest();
    expect(keysOf(scene)).toHaveLength(1);
    const perComment = scene.github.requests.length / 200;
    expect(perComment).toBeLessThan(6);
  }, 120_000);
});

describe("when the ground moves", () => {
  test("a renamed repository goes on under its new name", async () => {
    const scene = await begin();
    const { github, ada, door } = scene;
    await scene.ask("@holdfast run wait");
    renameRepository(github.world, door, { by: ada, name: "gate" });
    scene.later();
    await scene.ask();
    expect((await statuses(scene)).toSorted()).toEqual(["completed", "waiting"]);
    const [pull] = github.world.issues.filter(isPull);
    expect(pull?.repository.name).toBe("gate");
  });

  test("an App that is uninstalled stops its work, and writes nothing more", async () => {
    const scene = await begin();
    await scene.ask("@holdfast run wait");
    const [installation] = scene.github.world.installations;
    if (installation === undefined) throw new Error("it is not installed");
    uninstall(scene.github.world, installation);
    await expect.poll(() => statuses(scene), { timeout: 10_000 }).toEqual(["stopped"]);
  });

  test("an issue that is deleted stops its work", async () => {
    const scene = await begin();
    await scene.ask("@holdfast run wait");
    deleteIssue(scene.github.world, scene.issue, scene.ada);
    await expect.poll(() => statuses(scene), { timeout: 10_000 }).toEqual(["stopped"]);
  });

  test("policy-bot#881, gating by a moved head: what is asked for names the commit it works on", async () => {
    const onHead = `${policy}\n  shape:\n    on: head\n    steps: [{ run: touch shaped }]\n`;
    const scene = await begin({ files: { ".holdfast.yml": onHead } });
    const { github, ada, door } = scene;
    const head = pushTo(github.world, {
      repository: door,
      by: ada,
      branch: "topic",
      files: { a: "a" },
    });
    const pull = openPull(github.world, { repository: door, by: ada, head: "topic" });
    comment(github.world, { issue: pull, by: ada, body: "@holdfast run shape" });
    await scene.rest();
    const [status] = github.created.filter(
      ({ kind, number, body }) =>
        kind === "comment" && number === pull.number && body.includes("status/"),
    );
    expect(status?.body).toContain(head.slice(0, 12));
  });

  test("a locked issue takes no comment: the work is blocked and says where it could", async () => {
    const scene = await begin();
    lockIssue(scene.github.world, scene.issue, scene.ada);
    await scene.ask();
    expect(keysOf(scene)).toEqual([]);
    expect(await statuses(scene)).not.toContain("queued");
  });
});

test("prow, triagebot: a release webhook wakes the wait that listens for it, others do not", async () => {
  const scene = await begin();
  await scene.ask("@holdfast run wait");
  const [before] = await scene.mandates();
  pushTo(scene.github.world, { repository: scene.door, by: scene.ada, branch: "other" });
  await scene.rest();
  expect((await scene.mandates())[0]?.counters.turns).toBe(before?.counters.turns);
});
