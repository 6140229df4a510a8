// One turn in a checkout (spec 2.1 steps 2-4, 5.1): fetch, prepare, look, work, look again, save. Decides nothing about
// what follows; the state is saved also after a cancelled or failed turn, when no process of it lives.

import { join } from "node:path";
import { Failure } from "../policies/failure.ts";
import type { Report, TurnEnd } from "../policies/mandate/mandate.ts";
import { doneSteps, type TaskProgress } from "../policies/tasks.ts";
import { runScript } from "./agents/scripted.ts";
import { runTask } from "./agents/task.ts";
import { makeFolder } from "./disk.ts";
import { failureWords } from "./failure-words.ts";
import { fingerprint, type Fingerprint } from "./fingerprint.ts";
import { endLeftovers } from "./processes.ts";
import {
  checkoutOf,
  ensureCheckout,
  isInPlace,
  refreshAgentRefs,
  retireCheckout,
  type Checkout,
} from "./repository/checkout.ts";
import { fetchHead } from "./repository/head.ts";
import { openMirror, resolve, type Mirror } from "./repository/mirror.ts";
import { readState, saveState } from "./repository/saved-state.ts";
import type { CallRecord, TurnHost, TurnRequest, TurnResult, WorkPlace } from "./runner.ts";

/** What the working side of a turn came to. */
export interface Worked {
  readonly end: TurnEnd;
  readonly report: Report | null;
  readonly reply: string;
  readonly calls: readonly CallRecord[];
  readonly progress: TaskProgress | null;
}

/** The place a step or agent works in, and everything it is told about it. */
export interface Bench {
  readonly checkout: Checkout;
  /** A private home that no other mandate sees. */
  readonly privateHome: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly request: TurnRequest;
  readonly host: TurnHost;
}

const unsaved = {
  fingerprintAfter: null,
  fingerprintAll: null,
  savedCommit: null,
  events: ["state-not-saved"],
};

const isolation = "process group with a clean environment, no sandbox";

// A step that succeeded never runs again, so that its lost files must not pass for an empty result.
const workIsGone: TurnEnd = {
  kind: "step-failed",
  what: "the working copy with the files of its finished steps is gone, and they were not saved",
};

export async function runTurn(
  place: WorkPlace,
  request: TurnRequest,
  host: TurnHost,
): Promise<TurnResult> {
  const checkout = checkoutOf({ home: place.home, mandateId: request.mandateId });
  let prepared: Prepared;
  try {
    prepared = await prepare(place, checkout, { request, host });
  } catch (error) {
    return unprepared(endOf(error, host, "preparing"));
  }
  if (await isWorkGone(checkout, { prepared, request })) {
    // Nothing is left to be taken for the work, so that every turn after this one says the same.
    await retireCheckout(checkout, { keepState: true });
    return unprepared(workIsGone);
  }
  await host.phase("working");
  await host.workBegins();
  const { privateHome } = prepared;
  const bench: Bench = { checkout, privateHome, environment: place.environment, request, host };
  const worked = await work(bench);
  await host.phase("saving");
  return save({ checkout, prepared, worked, request, host });
}

interface Prepared {
  readonly base: string;
  readonly before: Fingerprint;
  readonly privateHome: string;
  readonly how: "kept" | "restored" | "created";
}

async function prepare(
  place: WorkPlace,
  checkout: Checkout,
  { request, host }: { request: TurnRequest; host: TurnHost },
): Promise<Prepared> {
  await host.phase("fetching");
  const { repository, head = null } = request;
  const mirror = await openMirror({ home: place.home, repositoryId: repository.id });
  await fetchHead(mirror, { ...repository, head, signal: host.signal });
  await host.phase("checking-out");
  // A turn enters a checkout only when no process of the last one lives there (2.1).
  await endLeftovers(checkout);
  const base =
    request.baseCommit ?? head?.commit ?? (await headCommit(mirror, repository.defaultBranch));
  const origin = { mirror, base };
  const how = await ensureCheckout(checkout, origin);
  await refreshAgentRefs(checkout, origin);
  const before = await fingerprint(checkout, { untracked: request.untracked });
  const privateHome = join(place.home, "private", request.mandateId);
  await makeFolder(privateHome);
  return { base, before, privateHome, how };
}

async function headCommit(mirror: Mirror, branch: string): Promise<string> {
  const commit = await resolve(mirror, `refs/heads/${branch}`);
  if (commit !== null) return commit;
  const message = `the default branch ${branch} has no commit`;
  throw new Failure("no-commits", "later", { message });
}

/** True when the checkout came back without files of steps that are done, or that were too many to be saved. */
async function isWorkGone(
  checkout: Checkout,
  { prepared, request }: { prepared: Prepared; request: TurnRequest },
): Promise<boolean> {
  const done = request.work.kind === "task" ? doneSteps(request.work.state.progress) : 0;
  switch (prepared.how) {
    case "kept":
      return false;
    case "created":
      return done > 0;
    case "restored": {
      const state = await readState(checkout);
      return state === null || !state.isComplete || done > (state.doneSteps ?? done);
    }
  }
}

async function work(bench: Bench): Promise<Worked> {
  const { request } = bench;
  switch (request.work.kind) {
    case "task":
      return runTask(bench, request.work);
    case "scripted":
      return runScript(bench, request.work);
  }
}

async function save(ended: {
  checkout: Checkout;
  prepared: Prepared;
  worked: Worked;
  request: TurnRequest;
  host: TurnHost;
}): Promise<TurnResult> {
  const { checkout, prepared, worked, request } = ended;
  const known = {
    ...worked,
    baseCommit: prepared.base,
    fingerprintBefore: prepared.before.tracked,
    isolation,
  };
  try {
    await endLeftovers(checkout);
    if (!(await isInPlace(checkout))) return { ...known, ...unsaved, end: gone(worked) };
    const after = await fingerprint(checkout, { untracked: request.untracked });
    const saved = await saveState(checkout, { doneSteps: doneSteps(worked.progress ?? []) });
    const restored = prepared.how === "restored" ? ["checkout-restored"] : [];
    return {
      ...known,
      fingerprintAfter: after.tracked,
      fingerprintAll: after.all,
      savedCommit: saved.commit,
      events: [...restored, ...after.events],
    };
  } catch (error) {
    const end = worked.end.kind === "completed" ? endOf(error, ended.host, "running") : worked.end;
    return { ...known, ...unsaved, end };
  }
}

/** Nothing of what now stands at the checkout's place is the step's work: it may be a link to anywhere. */
function gone({ end }: Worked): TurnEnd {
  return end.kind === "completed" ? workIsGone : end;
}

function unprepared(end: TurnEnd): TurnResult {
  return {
    end,
    report: null,
    reply: "",
    calls: [],
    progress: null,
    baseCommit: null,
    fingerprintBefore: null,
    fingerprintAfter: null,
    fingerprintAll: null,
    savedCommit: null,
    events: [],
    isolation,
  };
}

/** Only the world's failures become ends; whatever the host threw, and every bug, passes through. */
function endOf(error: unknown, host: TurnHost, phase: "preparing" | "running"): TurnEnd {
  // The host knows by whom; it replaces the word.
  if (host.signal.aborted) return { kind: "cancelled", by: "stop" };
  if (!(error instanceof Failure)) throw error;
  return { kind: "failed", phase, what: failureWords(error) };
}
