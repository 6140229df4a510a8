// Input that does not fit (spec 7.1, 8.4): what the program says on it word for word, its exit code, and that nothing is
// lost; and odd repositories that work, with what is told of them. Real processes throughout.

import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test, type TestContext } from "vitest";
import { turnsOf } from "../../app/ledger/turns.ts";
import { waitsOf } from "../../app/ledger/waits.ts";
import { holdfast, type Called } from "../app/cli/holdfast.ts";
import { giveAway, mountReadOnly } from "../crash/as-root.ts";
import {
  longTestMs,
  mandateIn,
  openBench,
  until,
  untilAllIsTold,
  welcomeIssue,
} from "../crash/process.ts";
import {
  makeRepository,
  repositoryAt,
  temporaryFolder,
  type TestRepository,
} from "../fakes/repository.ts";

const hello = `
tasks:
  hello:
    steps:
      - run: echo hello > hello.txt
`;

/** What a start is given; a case spoils a part of it. */
interface Given {
  readonly home: string;
  path: string;
  port: string;
  environment: Record<string, string>;
  readonly context: TestContext;
}

interface Case {
  readonly what: string;
  readonly spoil: (given: Given) => void | Promise<void>;
  readonly exitCode: 1 | 2;
  readonly says: readonly [what: string, why: string, help: string];
}

const failed = "`holdfast local` failed.";
const noRepository = [
  failed,
  "there is no git repository at this place",
  "name a folder in a repository, or make one with `git init`",
] as const;
const noFit = "The environment does not fit.";
const unset = "correct or unset what is named";

const cases: readonly Case[] = [
  {
    what: "a folder that is no repository",
    spoil: (given) => void (given.path = temporaryFolder()),
    exitCode: 1,
    says: noRepository,
  },
  {
    what: "a path that does not exist",
    spoil: (given) => void (given.path = join(temporaryFolder(), "none")),
    exitCode: 1,
    says: noRepository,
  },
  {
    what: "a repository without commits",
    spoil: (given) => void (given.path = makeRepository().path),
    exitCode: 1,
    says: [failed, "the default branch has no commit yet", "make a first commit"],
  },
  {
    what: "a repository of another account",
    spoil: ({ path, context }) => giveAway(context, path),
    exitCode: 1,
    says: [
      failed,
      "the repository belongs to another account, and git refuses to read it for this one",
      "run Holdfast as its owner, or give the repository to this account with `chown -R`",
    ],
  },
  {
    what: "a git that is too old",
    spoil: (given) => void (given.environment["PATH"] = fakeGit("echo git version 2.30.2")),
    exitCode: 1,
    says: [failed, "the installed git is too old", "install git 2.39.5 or newer"],
  },
  {
    what: "no git",
    spoil: (given) => void (given.environment["PATH"] = temporaryFolder()),
    exitCode: 1,
    says: [failed, "a program could not be started", "install git, and see that it is on the PATH"],
  },
  {
    what: "a port in use",
    spoil: async (given) => void (given.port = String(await takenPort())),
    exitCode: 1,
    says: [
      failed,
      "another program uses this port",
      "choose another one with --port, or 0 for any free one",
    ],
  },
  {
    what: "a read-only home",
    spoil: ({ home, context }) => mountReadOnly(context, home),
    exitCode: 1,
    says: [
      failed,
      "the home folder cannot be written (read-only, full, or not yours)",
      "see to the disk and to who owns it, or choose another home with HOLDFAST_HOME",
    ],
  },
  {
    what: "a ledger that is none",
    spoil: ({ home }) => writeFileSync(join(home, "ledger.sqlite"), "not a ledger\n".repeat(500)),
    exitCode: 1,
    says: [
      failed,
      "the file ledger.sqlite in the home folder is damaged, or is no ledger at all",
      "put a backup in its place, or move it away to begin with an empty one",
    ],
  },
  {
    what: "a ledger of a newer version",
    spoil: ({ home }) => setSchema(home, 999),
    exitCode: 1,
    says: [
      failed,
      "a newer version of Holdfast has written this ledger",
      "use that version, or another home folder (HOLDFAST_HOME)",
    ],
  },
  {
    what: "damaged secrets",
    spoil: ({ home }) => writeFileSync(join(home, "secrets.json"), '{"markerKey": "sh'),
    exitCode: 1,
    says: [
      failed,
      "a file of secrets in the home folder (secrets.json or github.json) cannot be read as such",
      "remove secrets.json to have new ones made (pages then need the new address); " +
        "put github.json back from a backup, or run `holdfast setup github --force`",
    ],
  },
  {
    what: "a timing that is no JSON",
    spoil: (given) => void (given.environment["HOLDFAST_TIMING"] = "{leaseMs: 3"),
    exitCode: 2,
    says: [noFit, "HOLDFAST_TIMING must be a JSON object of milliseconds", unset],
  },
  {
    what: "a timing with an unknown name and a wrong value",
    spoil: (given) => void (given.environment["HOLDFAST_TIMING"] = '{"leaseMs":-1,"leasMs":3}'),
    exitCode: 2,
    says: [
      noFit,
      "HOLDFAST_TIMING leaseMs: Too small: expected number to be >0; " +
        'HOLDFAST_TIMING : Unrecognized key: "leasMs"',
      unset,
    ],
  },
];

function fakeGit(line: string): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "git"), `#!/bin/sh\n${line}\n`);
  chmodSync(join(folder, "git"), 0o755);
  return folder;
}

async function takenPort(): Promise<number> {
  const server = createServer();
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("it listens on no port");
  return address.port;
}

function setSchema(home: string, version: number): void {
  rmSync(join(home, "ledger.sqlite"), { force: true });
  const database = new DatabaseSync(join(home, "ledger.sqlite"));
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA user_version = ${version}`);
  database.close();
}

function startOn({ home, path, port, environment }: Given): Promise<Called> {
  return holdfast({ home, environment }, "local", path, "--port", port);
}

describe("a start that is refused says what, why and what to do", () => {
  test.for(cases)("$what: exit code $exitCode", async ({ spoil, exitCode, says }, context) => {
    const home = join(temporaryFolder(), "home");
    mkdirSync(home, { mode: 0o700 });
    const { path } = makeRepository({ ".holdfast.yml": hello });
    const given: Given = { home, path, port: "0", environment: {}, context };
    await spoil(given);
    const before = filesOf(home);
    const called = await startOn(given);
    const [what, why, help] = says;
    expect(called.stderr).toBe(`${what}\n  Why: ${why}\n  What to do: ${help}\n`);
    expect(called.stdout).toBe("");
    expect(called.exitCode).toBe(exitCode);
    for (const [name, bytes] of before) expect(filesOf(home).get(name)).toEqual(bytes);
  });
});

/** The files of a home by their names. */
function filesOf(home: string): Map<string, Buffer> {
  const names = readdirSync(home, { withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(names.map(({ name }) => [name, readFileSync(join(home, name))]));
}

const waiting = {
  tasks: { wait: { steps: [{ run: "exit 75", wait: { every: "30m", for: "6h" } }] } },
};

test(
  "a ledger that was spoiled and put back goes on where it was",
  async () => {
    const bench = openBench({ policy: waiting });
    const first = await bench.start();
    await first.say(welcomeIssue, "@holdfast run wait");
    const { id } = await mandateIn(bench, "run wait", "waiting");
    await untilAllIsTold(bench);
    expect(await first.end()).toBe(0);
    const before = await bench.read((sql) => waitsOf(sql, id));
    const file = join(bench.home, "ledger.sqlite");
    const backup = readFileSync(file);
    writeFileSync(file, backup.subarray(50));
    for (const args of [["status"], ["log", id], ["local", bench.repository.path, "--port", "0"]]) {
      const called = await holdfast(bench, ...args);
      expect(called.exitCode).toBe(1);
      expect(called.stderr).toContain("ledger.sqlite in the home folder is damaged");
    }
    writeFileSync(file, backup);
    await bench.start();
    expect(await bench.read((sql) => waitsOf(sql, id))).toEqual(before);
  },
  longTestMs,
);

test(
  "a broken policy file starts the process, and every request is answered with line and way out",
  async () => {
    const repository = makeRepository({ ".holdfast.yml": "tasks:\n  hello:\n    stepz: []\n" });
    const bench = openBench({ repository });
    const product = await bench.start();
    await product.say(welcomeIssue, "@holdfast run hello");
    const [answer = ""] = await until("it is answered", async () => {
      const told = await bench.told();
      return told.length > 0 && told;
    });
    expect(answer).toContain("`policy-invalid`");
    expect(answer).toContain("line 3");
    expect(answer).toContain("stepz");
    expect(await bench.mandates()).toEqual([]);

    repository.commit({ ".holdfast.yml": hello });
    await product.say(welcomeIssue, "@holdfast run hello");
    await mandateIn(bench, "run hello", "completed");
  },
  longTestMs,
);

/** Runs a task on a repository and waits for its result. */
async function work(repository: TestRepository) {
  const bench = openBench({ repository });
  const product = await bench.start();
  await product.say(welcomeIssue, "@holdfast run hello");
  const mandate = await mandateIn(bench, "run hello", "completed");
  await untilAllIsTold(bench);
  expect(await bench.pulls()).toMatchObject([{ head: mandate.branch }]);
  expect(await bench.told(/is done/)).toHaveLength(1);
  expect((await product.get(`/m/${mandate.id}`)).status).toBe(200);
  const pull = await product.get(`/c/${mandate.pullNumber ?? 0}`);
  expect(pull.status).toBe(200);
  return { bench, mandate, said: product.said(), pull: pull.text };
}

describe("an odd repository works, and what is special about it is said", () => {
  test(
    "a bare one",
    async () => {
      const source = makeRepository({ ".holdfast.yml": hello });
      const path = join(temporaryFolder(), "bare.git");
      source.git(["clone", "--quiet", "--bare", source.path, path]);
      const repository = repositoryAt(path);
      const { mandate } = await work(repository);
      expect(repository.git(["show", `${mandate.branch}:hello.txt`])).toBe("hello");
      expect(repository.git(["log", "--format=%s", "main"])).toBe("begin");
    },
    longTestMs,
  );

  test(
    "one with submodules: they stay empty folders and stay in the result",
    async () => {
      const repository = makeRepository({
        ".holdfast.yml": hello,
        ".gitmodules": '[submodule "sub"]\n\tpath = sub\n\turl = https://example.org/sub.git\n',
      });
      const commit = "1".repeat(40);
      repository.git(["update-index", "--add", "--cacheinfo", `160000,${commit},sub`]);
      repository.git(["commit", "--quiet", "--message", "sub"]);
      const { mandate, said } = await work(repository);
      expect(said).toContain("Note: submodules stay empty folders in the working copies.");
      const changed = repository.git(["diff", "--name-status", "main", mandate.branch]);
      expect(changed).toBe("A\thello.txt");
      expect(repository.git(["ls-tree", mandate.branch, "sub"])).toBe(
        `160000 commit ${commit}\tsub`,
      );
    },
    longTestMs,
  );

  test(
    "one with LFS: its files stay pointers, and its filter is not run",
    async () => {
      const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${"a".repeat(64)}\nsize 5\n`;
      const repository = makeRepository({ ".holdfast.yml": hello, "big.bin": pointer });
      repository.commit({ ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n" });
      repository.git(["config", "filter.lfs.process", "false"]);
      repository.git(["config", "filter.lfs.required", "true"]);
      const { mandate, said } = await work(repository);
      expect(said).toContain("Note: files of Git LFS stay pointer files in the working copies.");
      const changed = repository.git(["diff", "--name-status", "main", mandate.branch]);
      expect(changed).toBe("A\thello.txt");
    },
    longTestMs,
  );

  test(
    "one with names that are no UTF-8: fingerprint, branch and pull request have them",
    async () => {
      const repository = makeRepository({
        ".holdfast.yml": hello.replace("echo hello > hello.txt", "echo more | tee -a caf*"),
      });
      const name = Buffer.from("caf\xe9.txt", "latin1");
      writeFileSync(Buffer.concat([Buffer.from(`${repository.path}/`), name]), "coffee\n");
      repository.commit({});
      const { bench, mandate, pull } = await work(repository);
      const changed = repository.git(["diff", "--name-status", "main", mandate.branch]);
      expect(changed).toBe('M\t"caf\\351.txt"');
      const [turn] = await bench.read((sql) => turnsOf(sql, mandate.id));
      expect(turn?.fingerprintAll).toBe(repository.git(["rev-parse", `${mandate.branch}^{tree}`]));
      expect(turn?.fingerprintBefore).toBe(repository.git(["rev-parse", "main^{tree}"]));
      expect(pull).toContain("+more");
      expect((await bench.told(/is done/))[0]).toContain("caf");
    },
    longTestMs,
  );
});
