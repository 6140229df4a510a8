// Who acts in a simulated world (spec 8.4): people who comment, and a runner whose agent and tasks behave well or badly
// by the seed. They know the app only through its doors: the local forge's writing side, and runners/runner.ts.

import { createHash } from "node:crypto";
import { editLocalComment, writeComment } from "../../app/forge/local-writing.ts";
import { repositoryOf } from "../../app/ledger/conversations.ts";
import type { Level } from "../../policies/authority.ts";
import { minuteMs, secondMs } from "../../policies/durations.ts";
import { Failure } from "../../policies/failure.ts";
import type { Report, TurnEnd } from "../../policies/mandate/mandate.ts";
import {
  afterStep,
  nextStep,
  startStep,
  stepWait,
  type TaskProgress,
} from "../../policies/tasks.ts";
import type {
  CallRecord,
  PolicySource,
  PublishOutcome,
  PublishRequest,
  Runner,
  TurnHost,
  TurnRequest,
  TurnResult,
  Work,
} from "../../runners/runner.ts";
import { askOutside, callOutside, type Dice } from "./faults.ts";
import { deliver } from "./happenings.ts";
import type { Process, World } from "./world.ts";

export const people = [
  { id: "1", name: "alice", level: "admin" },
  { id: "2", name: "bob", level: "write" },
  { id: "3", name: "carol", level: "read" },
  { id: "4", name: "mallory", level: "none" },
] as const satisfies readonly { id: string; name: string; level: Level }[];
type Person = (typeof people)[number];

const published = "stall: { limit: 4 }\nlimits: { turns: 60 }\n";
const policies = [published, published, "stall: { limit: 5 }\npublish: { on: request }\n"];
const tasks = `tasks:
  build: { steps: [{ run: make, repeat: safe }, { run: make test }] }
  rollout:
    inputs: { TAG: { required: true } }
    steps: [{ run: prepare }, { run: probe, wait: { every: 10m, for: 3h, signals: [release.published] } }, { run: finish, repeat: safe }]
`;

export function policyText(world: World): string {
  return world.dice.pick(policies) + tasks;
}

/** What a comment must lead to, whatever happens on the way. */
export interface Expected {
  /** Mandates made by this comment alone. */
  readonly mandates: number;
  /** Mandates that must have ended, whatever else they came to. */
  readonly stops?: readonly string[];
}

/** One person writes one comment, sometimes delivered twice or edited at once. */
export async function comment(world: World, number: number): Promise<void> {
  const { dice } = world;
  const person = dice.chance(0.85) ? people[dice.between(0, 2)] : dice.pick(people);
  if (person === undefined) return;
  const [body, expected] = words(world, { person, number });
  await say(world, { person, number, body, expected });
}

export async function say(
  world: World,
  said: { person: Person; number: number; body: string; expected: Expected },
): Promise<void> {
  const { person, number, body, expected } = said;
  const author = { id: person.id, name: person.name, isBot: false };
  const requestKey = `r${world.history.said.length}`;
  const place = { repositoryId: world.repositoryId, number };
  const written = await writeComment(world.ledger, { ...place, author, requestKey, body });
  if (!written.ok) throw new Error(`a comment was refused: ${written.reason}`);
  const { commentId } = written;
  world.trace(`${person.name} says in #${number} (${commentId}): ${JSON.stringify(body)}`);
  const isEdited = world.faults.isOn && world.dice.chance(0.06);
  world.history.said.push({ commentId, number, level: person.level, body, isEdited, ...expected });
  world.ring();
  if (!world.faults.isOn) return;
  if (world.dice.chance(0.25))
    world.after(delay(world), () => redeliver(world, { number, commentId, requestKey }));
  if (!isEdited) return;
  const edit = {
    author,
    requestKey: `${requestKey}e`,
    repositoryId: world.repositoryId,
    commentId,
  };
  world.after(delay(world), async () => {
    await editLocalComment(world.ledger, {
      ...edit,
      body: `${body}\n\n@holdfast do one thing more`,
    });
    world.ring();
  });
}

function delay(world: World): number {
  return world.dice.pick([0, 1, 300, 5 * secondMs, 10 * minuteMs]);
}

/** As a webhook redelivered by hand, a replay with a new GUID, or a second hook. */
async function redeliver(
  world: World,
  { number, commentId, requestKey }: { number: number; commentId: string; requestKey: string },
): Promise<void> {
  const guid = world.dice.chance(0.5) ? `comment:${requestKey}` : `again:${requestKey}`;
  const text = { connection: "local", forgeId: "1", kind: "comment", id: commentId } as const;
  await deliver(world, { guid, events: [{ kind: "text", text, number }] });
}

type Words = readonly [body: string, expected: Expected];

const nothing: Expected = { mandates: 0 };
/** It makes one mandate where it fits, which this actor does not know. */
const maybeOne: Expected = { mandates: -1 };

function words(world: World, { person, number }: { person: Person; number: number }): Words {
  const { dice, history } = world;
  const known = history.mandatesIn(number);
  const blocked = known.filter(({ status }) => status === "blocked");
  if (blocked.length > 0 && dice.chance(0.4)) return wayOut(dice, dice.pick(blocked).id);
  const mayWrite = person.level === "admin" || person.level === "write";
  if (known.length === 0 || dice.chance(0.55)) return dice.pick(requests(dice, mayWrite));
  const ids = known.map(({ id }) => id);
  const id = dice.chance(0.9) ? dice.pick(ids.slice(-3)) : "m-zzzz";
  return dice.pick(controls(dice, { id, ids: mayWrite ? ids : [] }));
}

function wayOut(dice: Dice, id: string): Words {
  return dice.pick<Words>([
    [`@holdfast continue ${id}`, nothing],
    [`@holdfast recover ${id}`, nothing],
    [`@holdfast extend ${id} 2d`, nothing],
    [`@holdfast reply ${id} use port 80`, nothing],
    [`@holdfast retry ${id}`, maybeOne],
  ]);
}

function requests(dice: Dice, mayWrite: boolean): Words[] {
  const one: Expected = { mandates: mayWrite ? 1 : 0 };
  const two: Expected = { mandates: mayWrite ? 2 : 0 };
  const subject = dice.between(0, 1000);
  return [
    [`@holdfast do tidy the ${subject}th file`, one],
    [`@holdfast do tidy file ${subject} within ${dice.pick(["2m", "30m", "3h"])}`, one],
    ["/holdfast run build", one],
    ["@holdfast run rollout TAG=v1", one],
    ["@holdfast run rollout", nothing],
    [`@holdfast do first ${subject}\n\n@holdfast do second ${subject}`, two],
    [`@holdfast do this ${subject}\n@holdfast status`, one],
    ["```\n@holdfast do not this\n```\n> @holdfast stop\n", nothing],
    [`please look, @holdfast, at port ${subject}`, nothing],
    [`@holdfast look at port ${subject}`, maybeOne],
    ["@holdfast stpo", nothing],
    ["@holdfast help", nothing],
    ["@holdfast status", nothing],
  ];
}

/** `ids` are the mandates that a stop of this person ends. */
function controls(dice: Dice, { id, ids }: { id: string; ids: readonly string[] }): Words[] {
  const turn = dice.pick(["pause", "resume"]);
  return [
    ["@holdfast stop", { mandates: 0, stops: ids }],
    [`@holdfast stop ${id}`, { mandates: 0, stops: ids.filter((one) => one === id) }],
    [`@holdfast ${turn}`, nothing],
    [`@holdfast ${turn} ${id}`, nothing],
    [`@holdfast check ${id}`, nothing],
    [`@holdfast check ${id}`, nothing],
    [`@holdfast extend ${id} ${dice.pick(["2d", "40d", "10m", "turns=80"])}`, nothing],
    [`@holdfast reply ${id} the answer is ${dice.between(0, 100)}`, nothing],
    [`@holdfast continue ${id}`, nothing],
    [`@holdfast retry ${id}`, maybeOne],
  ];
}

/** The runner as one process sees it: scripted by the seed, its remote shared by all. */
export function simulatedRunner(process: Process): Runner {
  const { world } = process;
  const { history } = world;
  return {
    runTurn: (request, host) => runTurn(process, request, host),
    publish: (request) => publish(process, request),
    replay: async () => ({ kind: "replayed" }),
    hasState: async () => true,
    packState: async () => null,
    unpackState: async () => {},
    readPolicy: () => askOutside(process, "read-policy", () => policyNow(world)),
    inspect: () => Promise.reject(new Error("nobody inspects here")),
    diff: async () => null,
    clear: async () => {},
    kept: async () => [],
    managedOutside: async () => history.managedOutside(),
    endLeftovers: async (mandateId) => history.killRuns(mandateId),
    drop: async () => {},
  };
}

/** Every third version of the policy file is broken, once there was a good one. */
async function policyNow(world: World): Promise<PolicySource> {
  const repository = await world.ledger.read((sql) => repositoryOf(sql, world.repositoryId));
  const isBroken = world.policyVersion % 3 === 2 && repository.policy !== null;
  const text = isBroken ? "tasks: [broken" : world.policy;
  return { commit: `p${world.policyVersion}`, text, isUncommitted: false };
}

/** A commit names the one below it, so that a push whose answer was lost is known again from what was intended. */
async function publish(process: Process, request: PublishRequest): Promise<PublishOutcome> {
  const { history } = process.world;
  const { mandateId, title, body, at, baseCommit, branch, intendedCommit = null } = request;
  const saved = history.saved.get(mandateId);
  if (saved === undefined) return { kind: "empty" };
  const there = history.remote.get(branch) ?? null;
  const isLost = there !== null && `${intendedCommit}/`.startsWith(`${there}/`);
  const expected = isLost ? there : request.publishedCommit;
  const content = JSON.stringify([saved, title, body, at, baseCommit]);
  const name = createHash("sha1").update(content).digest("hex");
  const isThere = isLost && there.endsWith(`/${name}`);
  const commit = isThere ? there : `${expected ?? baseCommit}/${name}`;
  if (!isThere) await request.intend?.(commit);
  return callOutside(process, "push", async () =>
    push(process.world, { branch, commit, expected }),
  );
}

/** Compare-and-set on the branch, as git does it with an expected old value. */
function push(
  world: World,
  pushed: { branch: string; commit: string; expected: string | null },
): PublishOutcome {
  const { history, dice, faults } = world;
  const { branch, commit, expected } = pushed;
  if (faults.isOn && dice.chance(0.03)) {
    throw new Failure("git", "later", { message: "the remote does not answer" });
  }
  const there = history.remote.get(branch) ?? null;
  if (there !== commit && there !== expected) {
    history.violate("doubled", `${branch} has a commit that nobody knows`);
    return { kind: "refused", why: "remote-moved", files: [] };
  }
  history.remote.set(branch, commit);
  return { kind: "published", commit, files: ["a.txt"], remoteCommit: commit };
}

interface Worked {
  readonly end: TurnEnd;
  readonly report: Report | null;
  readonly calls: readonly CallRecord[];
  readonly progress: TaskProgress | null;
}

async function runTurn(
  process: Process,
  request: TurnRequest,
  host: TurnHost,
): Promise<TurnResult> {
  const { world } = process;
  const { dice, history } = world;
  await process.step();
  const run = history.startRun(request, process);
  try {
    for (const phase of ["fetching", "checking-out"] as const) await host.phase(phase);
    if (world.faults.isOn && dice.chance(0.03)) {
      const what = "the checkout could not be made";
      return resultOf(world, request, ended({ kind: "failed", phase: "preparing", what }));
    }
    await host.phase("working");
    await host.workBegins();
    history.workBegan(run);
    const worked = await work(process, request, host);
    await host.phase("saving");
    if (run.isKilled) throw new Error("its process group was killed");
    return resultOf(world, request, worked);
  } finally {
    // Only a process that lives comes here: what a dead one started runs on until it is ended.
    run.isLive = false;
  }
}

function ended(end: TurnEnd, report: Report | null = null): Worked {
  return { end, report, calls: [], progress: null };
}

function resultOf(world: World, request: TurnRequest, worked: Worked): TurnResult {
  const { history, dice } = world;
  const { mandateId, turnNumber } = request;
  const isChanged = dice.chance(world.faults.isOn ? 0.4 : 0.1);
  const before = history.saved.get(mandateId) ?? null;
  const after = isChanged ? `tree ${mandateId} ${turnNumber}` : before;
  if (after !== null) history.saved.set(mandateId, after);
  return {
    ...worked,
    reply: "done what I could",
    baseCommit: "base",
    fingerprintBefore: before ?? "base",
    fingerprintAfter: after ?? "base",
    fingerprintAll: after ?? "base",
    savedCommit: after,
    events: [],
    isolation: "none",
  };
}

function work(process: Process, request: TurnRequest, host: TurnHost): Promise<Worked> {
  return request.work.kind === "task"
    ? workOnTask(process, request.work, { request, host })
    : workAsAgent(process, host);
}

/** Waits as long as work takes; true when it was cut short. */
async function pass(process: Process, host: TurnHost, ms: number): Promise<boolean> {
  const aborted = new Promise<void>((resolve) => {
    if (host.signal.aborted) resolve();
    else host.signal.addEventListener("abort", () => resolve());
  });
  await Promise.race([process.sleep(ms), aborted]);
  return host.signal.aborted;
}

const cancelled: TurnEnd = { kind: "cancelled", by: "drain" };

async function workAsAgent(process: Process, host: TurnHost): Promise<Worked> {
  const { dice, faults } = process.world;
  const call = callOf({ sequence: 1, step: null, now: host.now() });
  await host.callStarted(call, null);
  const isCut = await pass(process, host, dice.pick([0, 200, 3 * secondMs, 40 * secondMs]));
  const isNew = dice.chance(faults.isOn ? 0.5 : 0.1);
  const text = isNew ? `line ${dice.between(0, 1e9).toString(36)}` : "still running";
  const calls = [{ ...call, finishedAt: host.now(), exitCode: 0, text }];
  await host.callFinished(calls[0] ?? call, null);
  const said = reportOf(process.world, host.now());
  if (isCut) return { ...ended(cancelled, dice.chance(0.3) ? said : null), calls };
  if (!faults.isOn || dice.chance(0.85)) return { ...ended({ kind: "completed" }, said), calls };
  if (dice.chance(0.1)) throw new Error("a bug in the runner");
  const end = dice.pick<TurnEnd>([
    { kind: "failed", phase: "running", what: "it failed" },
    { kind: "died", what: "it died" },
    { kind: "limit", what: "its context is full" },
    { kind: "refused", what: "it refused" },
    { kind: "transient", what: "the provider is overloaded", retryAt: null },
    { kind: "transient", what: "the quota is used up", retryAt: host.now() + 90 * minuteMs },
  ]);
  return { ...ended(end, dice.chance(0.2) ? said : null), calls };
}

function reportOf(world: World, now: number): Report | null {
  const { dice, faults } = world;
  const every = dice.pick([1, 2, 10, 60]) * minuteMs;
  const wait = {
    reason: "the release is not there",
    nextStep: "look for the release",
    everyMs: every,
    deadlineAt: now + every * dice.between(2, 30),
    signals: [],
    subject: "",
  };
  const { reason } = wait;
  const completed: Report = { kind: "completed", summary: "all is done" };
  const good: Report[] = [
    completed,
    completed,
    completed,
    { kind: "continue", nextStep: "write the tests" },
    { kind: "waiting", reason, wait },
    { kind: "waiting", reason, wait },
  ];
  if (!faults.isOn || dice.chance(0.7)) return dice.pick(good);
  return dice.pick<Report | null>([
    null,
    { kind: "blocked", reason: "which port?" },
    { kind: "waiting", reason: "which colour?", wait: null },
    { kind: "waiting", reason, wait: { ...wait, everyMs: 1 } },
    { kind: "waiting", reason, wait: { ...wait, deadlineAt: now + 1000 * minuteMs * 60 } },
    { kind: "waiting", reason: " ", wait: { ...wait, deadlineAt: now - 1 } },
  ]);
}

async function workOnTask(
  process: Process,
  { state, grantedStep }: Extract<Work, { kind: "task" }>,
  { request, host }: { request: TurnRequest; host: TurnHost },
): Promise<Worked> {
  const { dice, history, faults } = process.world;
  const calls: CallRecord[] = [];
  let progress = state.progress;
  for (;;) {
    const next = nextStep(state.task, progress, grantedStep);
    if (next.kind === "done") {
      const summary = `all ${progress.length} steps ended with exit 0`;
      return {
        end: { kind: "completed" },
        report: { kind: "completed", summary },
        calls,
        progress,
      };
    }
    const { index } = next;
    const step = state.task.steps[index];
    if (next.kind === "uncertain") {
      return { end: { kind: "uncertain", what: "it was cut off" }, report: null, calls, progress };
    }
    progress = startStep(progress, index, host.now());
    const call = callOf({ sequence: calls.length + 1, step: index, now: host.now() });
    await host.callStarted(call, progress);
    const mayRepeat = step?.repeat === "safe" || step?.wait !== undefined || grantedStep === index;
    history.stepStarted(request.mandateId, index, mayRepeat);
    const isCut = await pass(process, host, dice.pick([0, 500, 8 * secondMs]));
    if (isCut) return { end: cancelled, report: null, calls, progress };
    const exitCode = dice.chance(0.7) ? 0 : step?.wait !== undefined ? 75 : faults.isOn ? 1 : 0;
    history.stepEnded(request.mandateId, index);
    progress = afterStep(state.task, progress, { index, exitCode });
    const done = { ...call, finishedAt: host.now(), exitCode, text: `exit ${exitCode}` };
    calls.push(done);
    await host.callFinished(done, progress);
    if (progress[index]?.state === "failed") {
      return { end: { kind: "step-failed", what: "a step failed" }, report: null, calls, progress };
    }
    const wait = stepWait(state.task, { name: state.name, index }, host.now());
    if (progress[index]?.state === "waiting" && wait !== null) {
      const report: Report = { kind: "waiting", reason: wait.reason, wait };
      return { end: { kind: "completed" }, report, calls, progress };
    }
  }
}

function callOf(at: { sequence: number; step: number | null; now: number }): CallRecord {
  const { sequence, step, now } = at;
  const opened = { name: "shell", kind: "work", startedAt: now, finishedAt: null } as const;
  return { ...opened, sequence, step, exitCode: null, isError: false, text: "" };
}
