// Git over HTTP on the fake GitHub (spec 5.1, 6.5, 8.4): real pushes by the real program, and what follows from them.

import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../repository.ts";
import { createAccount } from "../acts/accounts.ts";
import { mergePull, openPull } from "../acts/pulls.ts";
import { createRepository, fork, protectBranch, pushTo } from "../acts/repositories.ts";
import { namesOf, openScene, receiveWebhooks, type Scene } from "./scene.ts";

interface Ended {
  readonly code: number;
  readonly output: string;
}

/** Runs git and never asks anybody; a password goes into the address, as no test looks for it. */
function git(cwd: string, args: readonly string[]): Promise<Ended> {
  const who = { GIT_AUTHOR_NAME: "A", GIT_AUTHOR_EMAIL: "a@example.org" };
  const env = {
    PATH: process.env["PATH"] ?? "",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_TERMINAL_PROMPT: "0",
    ...who,
    GIT_COMMITTER_NAME: who.GIT_AUTHOR_NAME,
    GIT_COMMITTER_EMAIL: who.GIT_AUTHOR_EMAIL,
  };
  return new Promise((resolve) => {
    execFile("git", args, { cwd, env }, (error, stdout, stderr) => {
      const code = typeof error?.code === "number" ? error.code : 0;
      resolve({ code, output: `${stdout}${stderr}`.trim() });
    });
  });
}

function addressOf({ github }: Scene, token: string, name = "org/door"): string {
  return `${github.origin.replace("//", `//x-access-token:${token}@`)}/${name}.git`;
}

async function clone(scene: Scene): Promise<string> {
  const folder = join(temporaryFolder(), "clone");
  const address = addressOf(scene, await scene.token());
  const { code, output } = await git(dirname(folder), ["clone", "--quiet", address, folder]);
  expect([code, output]).toEqual([0, ""]);
  return folder;
}

async function commit(folder: string, path = "new.txt"): Promise<string> {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), `${Math.random()}`);
  await git(folder, ["add", "--all"]);
  await git(folder, ["commit", "--quiet", "--message", "new"]);
  return (await git(folder, ["rev-parse", "HEAD"])).output;
}

async function push(folder: string, address: string, ref: string): Promise<Ended> {
  return git(folder, ["push", "--quiet", address, `HEAD:${ref}`]);
}

test("a push arrives, is told, and moves the head of its pull request", async () => {
  const scene = await openScene();
  const { world, ada, door: repository, github } = scene;
  const before = pushTo(world, { repository, by: ada, branch: "work" });
  const issue = openPull(world, { repository, by: ada, head: "work" });
  const received = await receiveWebhooks(github);
  const folder = await clone(scene);
  await git(folder, ["checkout", "--quiet", "work"]);
  const after = await commit(folder);
  const address = addressOf(scene, await scene.token());
  expect(await push(folder, address, "refs/heads/work")).toMatchObject({ code: 0 });
  expect(await push(folder, address, "refs/heads/other")).toMatchObject({ code: 0 });
  await github.settled();
  expect(namesOf(received)).toEqual(["push", "pull_request.synchronize", "push", "create"]);
  const [, synchronize] = received.map(({ body }) => JSON.parse(body) as object);
  expect(synchronize).toMatchObject({ before, after, sender: { id: world.app.bot.id } });
  expect(issue.pull.headSha).toBe(after);
  expect(repository.git.resolve(`refs/pull/${issue.number}/head`)).toBe(after);
});

test("a pull request of a fork is fetched from the base, and merged there", async () => {
  const scene = await openScene();
  const { world, ada, door: repository } = scene;
  const copy = fork(world, repository, ada);
  const head = pushTo(world, {
    repository: copy,
    by: ada,
    branch: "work",
    files: { "a.txt": "a" },
  });
  const issue = openPull(world, { repository, by: ada, head: "work", from: copy });
  const folder = await clone(scene);
  const fetched = await git(folder, ["fetch", "--quiet", "origin", "refs/pull/1/head"]);
  expect(fetched.code).toBe(0);
  expect((await git(folder, ["rev-parse", "FETCH_HEAD"])).output).toBe(head);
  const merged = mergePull(world, issue, ada);
  expect(repository.git.resolve("main")).toBe(merged);
  expect(repository.git.git(["show", "main:a.txt"])).toBe("a");
});

describe("a push is refused", () => {
  test.each<[string, (scene: Scene) => Promise<string>, RegExp]>([
    ["without a token", async (scene) => addressOf(scene, "ghs_no"), /Authentication failed/],
    [
      "with a token that only reads",
      async (scene) => addressOf(scene, await scene.token({ contents: "read" })),
      /403/,
    ],
    [
      "to a repository outside the token",
      async (scene) => {
        createRepository(scene.world, { owner: scene.ada, name: "shed" });
        return addressOf(scene, await scene.token(), "ada/shed");
      },
      /403/,
    ],
    [
      "to a fork",
      async (scene) => {
        fork(scene.world, scene.door, createAccount(scene.world, "eve"));
        return addressOf(scene, await scene.token(), "eve/door");
      },
      /403/,
    ],
    [
      "to a protected branch",
      async (scene) => {
        protectBranch(scene.door, "main");
        return addressOf(scene, await scene.token());
      },
      /protected branch/i,
    ],
  ])("%s", async (_, arrange, words) => {
    const scene = await openScene();
    const folder = await clone(scene);
    await commit(folder);
    const before = scene.door.git.resolve("main");
    const { code, output } = await push(folder, await arrange(scene), "refs/heads/main");
    expect(code).not.toBe(0);
    expect(output).toMatch(words);
    expect(scene.door.git.resolve("main")).toBe(before);
  });

  test("with a workflow in it, or into the refs of pull requests", async () => {
    const scene = await openScene();
    const folder = await clone(scene);
    await commit(folder, ".github/workflows/ci.yml");
    const address = addressOf(scene, await scene.token());
    const workflow = await push(folder, address, "refs/heads/work");
    expect(workflow.output).toMatch(/workflows permission/);
    await git(folder, ["reset", "--quiet", "--hard", "HEAD^"]);
    await commit(folder);
    expect((await push(folder, address, "refs/pull/7/head")).code).not.toBe(0);
    expect([...scene.door.git.refs().keys()]).toEqual(["refs/heads/main"]);
  });
});

test("a push that was taken but not answered is there", async () => {
  const scene = await openScene();
  const folder = await clone(scene);
  const made = await commit(folder);
  scene.github.fault({
    on: ({ path, method }) => method === "POST" && path.endsWith("git-receive-pack"),
    kind: "reset-after",
  });
  const { code } = await push(folder, addressOf(scene, await scene.token()), "refs/heads/work");
  expect(code).not.toBe(0);
  expect(scene.door.git.resolve("refs/heads/work")).toBe(made);
});
