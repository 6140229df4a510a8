// Git over http with a token (spec 6.5): it opens the door, and is seen in no argument, environment, file or complaint.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fetchMirror, openMirror, resolve } from "../../../runners/repository/mirror.ts";
import { readPolicy } from "../../../runners/repository/policy-source.ts";
import { branchAt, publish } from "../../../runners/repository/publish.ts";
import { protocolOf } from "../../../runners/repository/remote.ts";
import { saveState } from "../../../runners/repository/saved-state.ts";
import { makeCheckout } from "../../fakes/checkout.ts";
import { serveGit, type ServerRules } from "../../fakes/git-server.ts";
import { makeRepository, temporaryFolder, writeFiles } from "../../fakes/repository.ts";

const canary = "ghs_canary_5f0c1d";
const header = Buffer.from(`x-access-token:${canary}`).toString("base64");

/** A checkout whose repository is also behind a server that wants the canary. */
async function served(rules: Partial<ServerRules> = {}) {
  const made = await makeCheckout({ "a.txt": "a\n", ".holdfast.yml": "tasks: {}\n" });
  const bare = makeRepository({}, { bare: true });
  made.source.git(["push", "--quiet", bare.path, "main"]);
  const server = await serveGit({ path: bare.path, password: canary, ...rules });
  const uses: string[] = [];
  async function token(use: "read" | "write") {
    uses.push(use);
    return canary;
  }
  const remote = { source: server.url, token };
  const publication = {
    checkout: made.checkout,
    target: server.url,
    token,
    branch: "holdfast/m-7k3f-demo",
    message: "Work",
    trailers: [],
    author: { name: "bot", email: "bot@example.org", at: 0 },
    expectedOld: null,
  };
  return { ...made, bare, server, uses, remote, publication };
}

/** What the processes of this machine show of themselves to others of this account. */
function shownByProcesses(): string {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => [read(`/proc/${pid}/cmdline`), read(`/proc/${pid}/environ`)]).join();
}

function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return ""; // It has ended meanwhile.
  }
}

function contentsBelow(folder: string): string {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const files = names.map((name) => join(folder, name)).filter((path) => statSync(path).isFile());
  return files.map((path) => `${path}\n${read(path)}`).join("\n");
}

describe("with a token", () => {
  test("fetch, policy and push work, and nothing shows it while they do or after", async () => {
    const shown: string[] = [];
    const made = await served({
      instead() {
        shown.push(shownByProcesses());
        return null;
      },
    });
    const { home, remote, server, uses, publication, bare } = made;
    const repository = { id: "r2", defaultBranch: "main", ...remote };
    const policy = await readPolicy({ home, environment: {} }, repository);
    expect(policy.text).toBe("tasks: {}\n");
    writeFiles(made.checkout.workTree, { "a.txt": "edited\n" });
    await saveState(made.checkout);
    const published = await publish(publication);
    expect(published).toMatchObject({ outcome: "published", files: ["a.txt"] });
    expect(bare.git(["rev-parse", publication.branch])).toBe(
      published.outcome === "published" ? published.commit : "",
    );
    expect(server.served).toContain("git-receive-pack");
    expect(new Set(uses)).toEqual(new Set(["read", "write"]));
    expect(shown.length).toBeGreaterThan(3);
    expect(
      shown.every((text) => text.includes("git-remote-http") || text.includes("remote-http")),
    ).toBe(true);
    for (const text of [...shown, contentsBelow(home)]) {
      expect(text.includes(canary) || text.includes(header)).toBe(false);
    }
  });

  test("it is asked for anew at each use, and for writing only at the push", async () => {
    const { origin, remote, uses, publication, checkout } = await served();
    await fetchMirror(origin.mirror, remote);
    await branchAt(publication);
    expect(uses).toEqual(["read", "read"]);
    writeFiles(checkout.workTree, { "a.txt": "edited\n" });
    await publish(publication);
    expect(uses.filter((use) => use === "write")).toEqual(["write"]);
  });

  test("a repository on disk is not worth one", async () => {
    const { origin, source } = await makeCheckout({ a: "a" });
    let asked = 0;
    async function token() {
      asked += 1;
      return canary;
    }
    await fetchMirror(origin.mirror, { source: source.path, token });
    expect(await resolve(origin.mirror, "main")).toBe(origin.base);
    expect(asked).toBe(0);
  });
});

describe("what a server refuses", () => {
  async function failureOf(rules: Partial<ServerRules>, token: string | null = canary) {
    const { remote } = await served(rules);
    const mirror = await openMirror({ home: temporaryFolder(), repositoryId: "r3" });
    const fetching = fetchMirror(mirror, { ...remote, token: async () => token });
    return fetching.catch((error: unknown) => error);
  }

  test.each([
    ["no right", 403, "forge-refused-git"],
    ["no repository", 404, "no-repository"],
    ["no good day", 500, "git-failed"],
  ])("%s has a code of its own", async (_, status, code) => {
    const failure = await failureOf({ instead: () => ({ status, body: "" }) });
    expect(failure).toMatchObject({ name: "Failure", code, retry: "later" });
  });

  test.each([
    ["a wrong token", "wrong"],
    ["no token", null],
  ])("%s is refused", async (_, token) => {
    expect(await failureOf({}, token)).toMatchObject({ code: "forge-refused-git", retry: "later" });
  });

  test("is told without the token, even when the server repeats it", async () => {
    const body = `you sent ${canary} in ${header}`;
    const failure = await failureOf({ instead: () => ({ status: 403, body }) });
    expect(failure).toMatchObject({ message: expect.stringContaining("you sent *** in ***") });
    expect(JSON.stringify(failure) + String(failure)).not.toContain(canary);
  });

  test("a redirect is not followed with a token in hand", async () => {
    const other = await served();
    const location = { status: 302, body: "", location: `${other.server.url}/info/refs` };
    const failure = await failureOf({ instead: () => location });
    expect(failure).toMatchObject({ name: "Failure" });
    expect(other.server.served).toEqual([]);
  });
});

test.each([
  ["/a/path", "file"],
  ["https://example.org/o/r.git", "https"],
  ["http://127.0.0.1:3000/o/r.git", "http"],
  ["http://localhost/o/r", "http"],
  ["http://[::1]:80/o/r", "http"],
])("%s is reached by %s", (source, protocol) => {
  expect(protocolOf(source)).toBe(protocol);
});

test.each([
  ["http://example.org/o/r"],
  ["http://127.0.0.1.example.org/o/r"],
  ["http://127.0.0.1:80@example.org/o/r"],
  ["http://localhost\\@example.org/o/r"],
  ["http://me:secret@127.0.0.1/o/r"],
  ["https://me@example.org/o/r"],
  ["ssh://example.org/o/r"],
])("%s is no address", (source) => {
  expect(() => protocolOf(source)).toThrow(expect.objectContaining({ code: "bad-source" }));
});
