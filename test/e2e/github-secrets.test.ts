// I11: no secret leaves (spec 6.5). Every token that was minted, in both formats, the App's key and the webhook secret
// are looked for wherever something is kept, said or handed on.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openGitHubSpine, webhookSecret } from "../fakes/github-spine.ts";
import { comment, openIssue } from "../fakes/github/acts/conversations.ts";

/** A task that tells all it can find: its environment, everybody's command line and environment, Git's configuration. */
const nosy = `
tasks:
  nosy:
    steps:
      - run: |
          env; git config --list --show-origin; git remote -v; cat .git/config
          for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; done 2>/dev/null
          ls -laR "$HOME"; env > found.txt; git config --list >> found.txt
      - run: touch done.txt
`;

/** Every file below a folder, as Latin-1, so that no byte is lost. */
function contentsOf(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
    .join("\n");
}

test.each([
  ["short", false],
  ["long", true],
])("with %s tokens", async (_, isLong) => {
  const spine = await openGitHubSpine({ files: { ".holdfast.yml": nosy } });
  const { github, ada, door, home, logged, rest } = spine;
  github.makeLongTokens(isLong);
  github.fault({ on: "POST /repos/{owner}/{repo}/pulls", kind: "5xx-before" });
  github.fault({ on: "GET /repos/{owner}/{repo}/issues/comments/{comment_id}", kind: "401" });
  const issue = openIssue(github.world, { repository: door, by: ada });
  comment(github.world, { issue, by: ada, body: "@holdfast run nosy" });
  await rest();
  const [mandate] = await spine.mandates();
  expect(mandate?.status).toBe("completed");

  const [keyLine = ""] = github.world.privateKey.split("\n").slice(3, 4);
  const secrets = [...github.tokens.map(({ value }) => value), webhookSecret, keyLine];
  expect(github.tokens.length).toBeGreaterThan(5);
  expect(github.tokens.some(({ value }) => value.length > 400)).toBe(isLong);
  const places = {
    "the data folder": contentsOf(home),
    "the log": logged.join("\n"),
    "what was written on the forge": github.created.map(({ body }) => body).join("\n"),
    "what was pushed": door.git.git(["log", "-p", "--all"]),
    "this process's environment": JSON.stringify(process.env),
    "addresses that were asked": github.requests.map(({ path }) => path).join("\n"),
  };
  const encoded = secrets.map((secret) =>
    Buffer.from(`x-access-token:${secret}`).toString("base64"),
  );
  const found = Object.entries(places).flatMap(([place, text]) =>
    [...secrets, ...encoded].filter((secret) => text.includes(secret)).map(() => place),
  );
  expect(found).toEqual([]);
});
