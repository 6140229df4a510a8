// Environments (spec 5.7): an allow-list, so that what nobody thought of stays out too.

import { expect, test } from "vitest";
import { gitEnvironment, taskEnvironment } from "../../runners/environment.ts";

const host = {
  PATH: "/app/node_modules/.bin:/usr/bin:.:bin::/opt/node_modules/npm/bin:/bin",
  HOME: "/root",
  LANG: "de_DE.UTF-8",
  TZ: "Europe/Berlin",
  TERM: "xterm",
  GITHUB_TOKEN: "secret",
  ANTHROPIC_API_KEY: "secret",
  NODE_OPTIONS: "--require evil",
  npm_config_token: "secret",
  INIT_CWD: "/app",
  GIT_DIR: "/evil",
  LD_PRELOAD: "/evil.so",
  http_proxy: "http://me:secret@proxy",
};

test("a task gets place, language and what it was given, and nothing else", () => {
  expect(taskEnvironment(host, { TAG: "v1", HOME: "/home/m-7k3f" })).toEqual({
    PATH: "/usr/bin:/bin",
    HOME: "/home/m-7k3f",
    LANG: "de_DE.UTF-8",
    TZ: "Europe/Berlin",
    TERM: "xterm",
    TAG: "v1",
  });
});

test("without anything from the host there is still a path, and no home to find settings in", () => {
  expect(taskEnvironment({}, {})).toEqual({
    PATH: "/usr/local/bin:/usr/bin:/bin",
    HOME: "/nonexistent",
    LANG: "C.UTF-8",
    TERM: "dumb",
  });
});

test("git gets the fixed environment, with the one protocol this call needs", () => {
  const remote = gitEnvironment(host, { gitDir: "/h/shadow/m.git" });
  expect(remote).toMatchObject({ GIT_DIR: "/h/shadow/m.git", GIT_ALLOW_PROTOCOL: "https" });
  expect(JSON.stringify(remote)).not.toMatch(/secret|evil|root/);
  const local = gitEnvironment(host, {
    gitDir: "/g",
    workTree: "/w",
    indexFile: "/i",
    protocol: "file",
  });
  expect(local).toMatchObject({
    GIT_WORK_TREE: "/w",
    GIT_INDEX_FILE: "/i",
    GIT_ALLOW_PROTOCOL: "file",
  });
});
