// `kill -9` between a write to GitHub and its commit (spec 6.4, 8.4; I5): at each kind of write, once when GitHub had
// applied it and once when it had not. The process is the real one, GitHub stays and tells what came of it.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { policy, webhookSecret } from "../fakes/github-spine.ts";
import { createAccount, install } from "../fakes/github/acts/accounts.ts";
import { comment, openIssue } from "../fakes/github/acts/conversations.ts";
import { allow, createRepository } from "../fakes/github/acts/repositories.ts";
import type { SeenRequest } from "../fakes/github/faults.ts";
import { startGitHub, type GitHub } from "../fakes/github/github.ts";
import { isPull } from "../fakes/github/world.ts";
import { temporaryFolder } from "../fakes/repository.ts";
import { longTestMs, quickTiming, until } from "./process.ts";

const program = fileURLToPath(new URL("../../app/main.ts", import.meta.url));
const createComment = "POST /repos/{owner}/{repo}/issues/{issue_number}/comments";

/** Each write of a mandate's life, by which request it is. */
const points: readonly (readonly [string, (request: SeenRequest) => boolean])[] = [
  ["the first reaction", ({ route }) => route.endsWith("/comments/{comment_id}/reactions")],
  ["the status comment", ({ route, body }) => route === createComment && body.includes(":status/")],
  ["a token", ({ route }) => route.endsWith("/access_tokens")],
  ["the push", ({ method, path }) => method === "POST" && path.includes("git-receive-pack")],
  ["the pull request", ({ route }) => route === "POST /repos/{owner}/{repo}/pulls"],
  ["the result", ({ route, body }) => route === createComment && body.includes(":result/")],
  ["an edit", ({ method, route }) => method === "PATCH" && route.includes("/issues/comments/")],
];

interface Server {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
  said: string;
}

/** A GitHub with a request in it, and the product on a home of its own. */
async function begin() {
  const github = await startGitHub();
  onTestFinished(() => github.close());
  const { world } = github;
  const org = createAccount(world, "org", "Organization");
  const ada = createAccount(world, "ada");
  const files = { ".holdfast.yml": policy };
  const door = createRepository(world, { owner: org, name: "door", files });
  allow(door, ada, "write");
  install(world, { account: org, repositories: [door] });
  const home = join(temporaryFolder(), "home");
  mkdirSync(home);
  const writes = "{ perSecond: 100, perMinute: 1000, perHour: 10000 }";
  const settings = `repositories: [org/door]\ngithub: { writes: ${writes} }\n`;
  writeFileSync(join(home, "settings.yaml"), settings);
  const env = {
    PATH: process.env["PATH"],
    TZ: "UTC",
    HOLDFAST_HOME: home,
    HOLDFAST_MENTION: "holdfast",
    HOLDFAST_TIMING: JSON.stringify({ ...quickTiming, unreachableRetryMs: 200 }),
    APP_ID: String(world.app.id),
    PRIVATE_KEY: world.privateKey,
    WEBHOOK_SECRET: webhookSecret,
    GHE_HOST: github.host,
    GHE_PROTOCOL: "http",
  };

  async function start(): Promise<Server> {
    const child = spawn(process.execPath, [program, "start", "--port", "0"], { env, cwd: "/" });
    const server: Server = { child, ended: once(child, "close"), said: "" };
    onTestFinished(async () => {
      child.kill("SIGKILL");
      await server.ended;
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => (server.said += chunk.toString()));
    }
    const url = await until("it listens", async () => /http:\S+token=\w+/.exec(server.said)?.[0]);
    github.setHook({ url: `${new URL(url).origin}/api/github/webhooks`, secret: webhookSecret });
    return server;
  }

  return { github, ada, door, home, start };
}

/** Kills the process at a request, which GitHub then applies or not. */
function killAt(
  github: GitHub,
  server: Server,
  { isPoint, isApplied }: { isPoint: (request: SeenRequest) => boolean; isApplied: boolean },
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isDone = false;
  github.fault({
    on: (request) => {
      if (isDone || !isPoint(request)) return false;
      isDone = true;
      server.child.kill("SIGKILL");
      resolve();
      return !isApplied;
    },
    kind: "reset-before",
  });
  return promise;
}

function atRest(home: string): boolean {
  const database = new DatabaseSync(join(home, "ledger.sqlite"), {
    readOnly: true,
    timeout: 5_000,
  });
  const row = database
    .prepare(
      `SELECT (SELECT COUNT(*) FROM outbox WHERE state IN ('pending', 'sending', 'unsure'))
         + (SELECT COUNT(*) FROM delivery WHERE handled_at IS NULL)
         + (SELECT COUNT(*) FROM mandate WHERE ended_at IS NULL) AS open,
       (SELECT COUNT(*) FROM mandate) AS mandates`,
    )
    .get();
  database.close();
  return row?.["open"] === 0 && row["mandates"] === 1;
}

const cases = points.flatMap(([name, isPoint]) =>
  [true, false].map(
    (isApplied) => [name, isApplied ? "applied" : "not applied", { isPoint, isApplied }] as const,
  ),
);

test.each(cases)(
  "killed at %s, %s: nothing is doubled and nothing is lost",
  async (...[, , point]) => {
    const { github, ada, door, home, start } = await begin();
    const { world } = github;
    const first = await start();
    const killed = killAt(github, first, point);
    const issue = openIssue(world, { repository: door, by: ada });
    const asked = comment(world, { issue, by: ada, body: "@holdfast run build" });
    await killed;
    await first.ended;
    const second = await start();
    await until(
      "all is done",
      async () => atRest(home),
      () => second.said,
    );

    const ours = world.comments.filter(
      ({ author, isDeleted }) => author === world.app.bot && !isDeleted,
    );
    const kinds = ours.map(({ body }) => /<!-- holdfast:(\w+)/.exec(body)?.[1] ?? "none");
    expect(kinds.toSorted()).toEqual(["result", "status"]);
    expect(world.issues.filter(isPull)).toHaveLength(1);
    const branches = [...door.git.refs().keys()].filter((name) =>
      name.startsWith("refs/heads/holdfast/"),
    );
    expect(branches).toHaveLength(1);
    const reactions = world.reactions.filter(({ subject }) => subject === asked);
    expect(reactions.map(({ content }) => content).toSorted()).toEqual(["eyes", "rocket"]);
  },
  longTestMs,
);
