// Commands beside a serving process, and without one (spec 7.1, 8.2): a real server on one home and one repository,
// the commands' own functions beside it; how they are called as processes is tested in usage.test.ts.

import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { command, comment, holdAll, type Order, type Words } from "../../../app/cli/act.ts";
import { doctor } from "../../../app/cli/operate.ts";
import { showLog, showStatus } from "../../../app/cli/show.ts";
import { openHome, type Home } from "../../../app/home.ts";
import { saveRepository } from "../../../app/ledger/conversations.ts";
import { listMandates, type MandateRow } from "../../../app/ledger/mandates.ts";
import type { Ending } from "../../../app/notices/terminal.ts";
import { readSettings, type Settings } from "../../../app/settings.ts";
import { makeRepository, temporaryFolder, writeFiles } from "../../fakes/repository.ts";
import { holdfast, serve, type Server } from "./holdfast.ts";

const policy = `
tasks:
  hello: { steps: [{ run: echo hello > hello.txt }] }
  look: { steps: [{ run: "exit 75", wait: { every: 5m, for: 6h } }] }
`;

interface Installation {
  readonly path: string;
  readonly settings: Settings;
  serve(): Promise<Server>;
  /** As one command does it: the home is opened for it and closed again. */
  use(act: (home: Home) => Promise<Ending>): Promise<Ending>;
}

function installation(policyText = policy): Installation {
  const home = join(temporaryFolder(), "home");
  const { path } = makeRepository({ ".holdfast.yml": policyText });
  const decision = readSettings({ HOLDFAST_HOME: home });
  if (!decision.ok) throw new Error(decision.problems.join());
  const { settings } = decision;
  return {
    path,
    settings,
    async serve() {
      const server = await serve({ home }, path);
      onTestFinished(async () => {
        await server.stop();
      });
      return server;
    },
    async use(act) {
      const opened = await openHome({ settings, mode: "use" });
      try {
        return await act(opened);
      } finally {
        await opened.close();
      }
    },
  };
}

function write(
  one: Installation,
  words: Pick<Words, "conversation" | "text"> & Partial<Words>,
): Promise<Ending> {
  const all = { title: undefined, repo: undefined, key: undefined, ...words };
  return one.use((home) => comment(home, all));
}

function order(
  one: Installation,
  given: Pick<Order, "keyword" | "id"> & Partial<Order>,
): Promise<Ending> {
  return one.use((home) => command(home, one.settings, { rest: [], key: undefined, ...given }));
}

async function json(ending: Promise<Ending>): Promise<unknown> {
  const told = await ending;
  if (!told.ok) throw new Error(told.why);
  return JSON.parse(told.text);
}

function list(one: Installation): Promise<unknown> {
  return json(one.use((home) => showStatus(home, { id: undefined, json: true })));
}

/** A mandate, once there is one in this state. */
async function mandate(one: Installation, status: MandateRow["status"]): Promise<MandateRow> {
  const home = await openHome({ settings: one.settings, mode: "use" });
  try {
    for (;;) {
      const [found] = await home.ledger.read((sql) => listMandates(sql, { status, limit: 1 }));
      if (found !== undefined) return found;
      await pause(20);
    }
  } finally {
    await home.close();
  }
}

function saying(words: string, exitCode = 0): unknown {
  return { ok: true, exitCode, text: expect.stringContaining(words) };
}

describe("beside a serving process", () => {
  test("a task goes from comment to result, and log tells all of it", async () => {
    const one = installation();
    await one.serve();
    const words = { conversation: "new", text: "@holdfast run hello", key: "k" };
    expect(await write(one, words)).toEqual({ ok: true, exitCode: 0, text: "#2 opened" });
    expect(await write(one, words)).toMatchObject({ text: "#2 opened" });
    const { id } = await mandate(one, "completed");
    expect(await list(one)).toEqual([
      {
        id,
        conversation: "#2",
        status: "completed",
        reason: null,
        nextStep: "",
        deadlineAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        attempts: 0,
        wait: null,
        turns: 1,
      },
    ]);
    const past = await json(one.use((home) => showLog(home, { id, json: true })));
    expect(past).toMatchObject({
      id,
      anchor: { text: "run hello", permission: "admin" },
      turns: [{ number: 1, calls: [{ exitCode: 0 }], receipt: expect.any(String) }],
      evidence: expect.arrayContaining([expect.objectContaining({ kind: "receipt" })]),
      notices: expect.arrayContaining([expect.objectContaining({ kind: "status" })]),
      events: expect.arrayContaining([expect.objectContaining({ kind: "accepted" })]),
      waits: [],
    });
    const text = await one.use((home) => showLog(home, { id, json: false }));
    for (const part of ["What happened:", "Turn 1 (request)", "evidence: receipt", "Notice ("]) {
      expect(text).toEqual(saying(part));
    }
  });

  test("commands about a mandate give their answer, and refusals end with 1", async () => {
    const one = installation();
    await one.serve();
    expect(await write(one, { conversation: "#1", text: "@holdfast run look" })).toMatchObject({
      text: expect.stringMatching(/^#1 comment \d+$/),
    });
    const { id } = await mandate(one, "waiting");
    const held = { keyword: "pause", id, key: "k" } as const;
    expect(await order(one, held)).toEqual(saying("is paused"));
    expect(await list(one)).toMatchObject([{ status: "held", reason: "paused" }]);
    expect(await order(one, held)).toEqual(saying("is paused"));
    expect(await order(one, { ...held, keyword: "stop" })).toMatchObject({
      ok: false,
      exitCode: 2,
      why: "another command was given under this key before",
    });
    expect(await order(one, { keyword: "resume", id })).toEqual(saying("has ended"));
    const extend = { keyword: "extend", id: id.toUpperCase(), rest: ["3d"] } as const;
    expect(await order(one, extend)).toEqual(saying("3d from the command on"));
    expect(await order(one, { keyword: "continue", id })).toEqual(saying("does not fit", 1));
    expect(await order(one, { keyword: "stop", id })).toEqual(saying("Stopped"));
    expect(await list(one)).toMatchObject([{ status: "stopped" }]);
  });

  test("a second server is told who serves the home", async () => {
    const one = installation();
    await one.serve();
    const { home } = one.settings;
    const second = await holdfast({ home }, "local", one.path, "--port", "0");
    expect(second.exitCode).toBe(1);
    expect(second.stderr).toMatch(/Why: process \d+, started at .*, serves this home at http/);
  });
});

describe("without a serving process", () => {
  test("words and commands are recorded, say so, and take effect at the next start", async () => {
    const one = installation();
    const server = await one.serve();
    await write(one, { conversation: "1", text: "@holdfast run look" });
    const { id } = await mandate(one, "waiting");
    expect(await server.stop()).toBe(0);
    expect(await order(one, { keyword: "stop", id })).toEqual(saying("It is recorded"));
    expect(await write(one, { conversation: "1", text: "@holdfast run hello" })).toMatchObject({
      text: expect.stringMatching(/^#1 comment \d+\nIt is recorded, and takes effect when/),
    });
    const status = one.use((home) => showStatus(home, { id, json: false }));
    expect(await status).toEqual(saying("No process serves this home"));
    await one.serve();
    await mandate(one, "completed");
    expect((await mandate(one, "stopped")).id).toBe(id);
  });

  test("pause --all holds the installation until resume --all", async () => {
    const one = installation();
    const server = await one.serve();
    await write(one, { conversation: "1", text: "@holdfast run look" });
    await mandate(one, "waiting");
    await server.stop();
    function hold(keyword: "pause" | "resume"): Promise<Ending> {
      return one.use((home) => holdAll(home, one.settings, keyword));
    }
    expect(await hold("pause")).toEqual(saying("with 1 unfinished mandate:"));
    expect(await hold("pause")).toEqual(saying("It is paused already."));
    expect(await list(one)).toMatchObject([{ status: "held", reason: "paused" }]);
    expect(await hold("resume")).toEqual(saying("has ended"));
    expect(await list(one)).toMatchObject([{ status: "waiting", reason: null }]);
  });

  test("what cannot be written is refused with what was given", async () => {
    const one = installation();
    await (await one.serve()).stop();
    expect(await write(one, { conversation: "99", text: "hello" })).toMatchObject({
      exitCode: 1,
      why: "this was given: #99",
    });
    expect(await write(one, { conversation: "1", text: " " })).toMatchObject({ exitCode: 1 });
    expect(await write(one, { conversation: "1", text: "hello", repo: "/" })).toMatchObject({
      exitCode: 2,
      help: "name one with --repo <path>",
    });
  });
});

describe("a home that a forge's repositories are in", () => {
  function addDoor(one: Installation): Promise<Ending> {
    const names = { name: "org/door", source: "https://git.example/org/door.git" };
    const door = { id: "g-1", connection: "github", forgeId: "1", defaultBranch: "main", ...names };
    return one.use(async (home) => {
      await home.ledger.write((tx) => saveRepository(tx, door));
      return { ok: true, text: "", exitCode: 0 };
    });
  }

  test("names the repository of each conversation", async () => {
    const one = installation();
    const server = await one.serve();
    await write(one, { conversation: "1", text: "@holdfast run look" });
    const { id } = await mandate(one, "waiting");
    await server.stop();
    await addDoor(one);
    expect(await list(one)).toMatchObject([
      { conversation: expect.stringMatching(/^[^/]+#1$/) as unknown },
    ]);
    const log = await one.use((home) => showLog(home, { id, json: false }));
    expect(log).toEqual(saying("#1  waiting"));
  });

  test("takes no comment for them", async () => {
    const one = installation();
    await addDoor(one);
    expect(await write(one, { conversation: "1", text: "hello" })).toMatchObject({
      exitCode: 2,
      help: "write the comment there",
    });
  });
});

describe("doctor", () => {
  test("names what it looked at, and what to do where something is wrong", async () => {
    const one = installation();
    await (await one.serve()).stop();
    const checks = await json(doctor(one.settings, { json: true }));
    const names = ["node", "git", "home", "ledger", "server", "clock", "invariants", "isolation"];
    const named = names.map((check): unknown => expect.objectContaining({ check }));
    expect(checks).toEqual(expect.arrayContaining(named));
    writeFiles(one.path, { ".holdfast.yml": "taks: {}\n" });
    const uncommitted = await doctor(one.settings, { json: false });
    expect(uncommitted).toEqual(saying("differs from the committed one"));
    expect(uncommitted).toEqual(saying("neither cost nor tokens has a ceiling"));
    expect(uncommitted).toEqual(saying("No problem was found."));
  });

  test("a wait that would stall before it runs out is named", async () => {
    const step = '{ run: "exit 75", wait: { every: 1m, for: 6h } }';
    const one = installation(`tasks: { poll: { steps: [${step}] } }\n`);
    await (await one.serve()).stop();
    const told = await doctor(one.settings, { json: false });
    expect(told).toEqual(saying("step 1 of poll may look 360 times, but 20 looks in a row"));
  });

  test("problems of the committed policy file come with line and column and end with 1", async () => {
    const one = installation("\ntaks: {}\n");
    await (await one.serve()).stop();
    const told = await doctor(one.settings, { json: false });
    expect(told).toEqual(saying(".holdfast.yml:2:1 taks: unknown key; did you mean tasks?", 1));
    expect(told).toEqual(saying("1 problem.", 1));
  });
});
