// The door between the shell and the work in checkouts (spec 5): the one file of runners/ that app/ imports.
// A runner knows mandates only as data; what a turn needs from the host comes in as functions.

import { join } from "node:path";
import type { EntryKind, Report, TaskState, TurnEnd } from "../policies/mandate/mandate.ts";
import type { TaskProgress } from "../policies/tasks.ts";
import { sweepHome } from "./disk.ts";
import { requireGit } from "./git.ts";
import { endAllLeftovers, endLeftovers, managedOutside } from "./processes.ts";
import { hasState, packState, unpackState } from "./repository/carrying.ts";
import { checkoutOf } from "./repository/checkout.ts";
import { inspectRepository } from "./repository/inspection.ts";
import { diffOf, drop, keptMandates } from "./repository/keeping.ts";
import { readPolicy } from "./repository/policy-source.ts";
import { publishWork } from "./repository/publish-work.ts";
import type { TokenSource } from "./repository/remote.ts";
import { replayWork } from "./repository/replay.ts";
import { runTurn } from "./run-turn.ts";

/** Where a worker keeps mirrors, checkouts and private homes, and the environment it was started with. */
export interface WorkPlace {
  readonly home: string;
  readonly environment: NodeJS.ProcessEnv;
}

export interface RepositorySource {
  readonly id: string;
  /** A local path or an https address; http on this machine alone. */
  readonly source: string;
  readonly defaultBranch: string;
  /** Asked anew at each fetch, look and push, with `write` for the push alone; never kept. Null for none. */
  readonly token?: TokenSource | undefined;
}

export interface RepositoryFacts extends RepositorySource {
  /** Submodules stay empty folders in checkouts, files of LFS stay pointers; people are told. */
  readonly hasSubmodules: boolean;
  readonly hasLargeFiles: boolean;
}

/** A pull request's head as it was pinned (1.5). */
export interface PullHead {
  readonly pull: number;
  readonly commit: string;
}

/** What works on a turn: the declared steps of a task, or the deterministic agent of tests and demonstrations. */
export type Work =
  | { readonly kind: "task"; readonly state: TaskState; readonly grantedStep: number | null }
  | { readonly kind: "scripted"; readonly script: string; readonly prompt: string };

export interface TurnRequest {
  readonly mandateId: string;
  readonly turnNumber: number;
  readonly cause: EntryKind;
  readonly repository: RepositorySource;
  /** Null on the first turn: then `head`, else the head of the default branch, becomes the base. */
  readonly baseCommit: string | null;
  /** The pull request it works on: its pinned commit must be there, wherever the head is now. */
  readonly head?: PullHead | null;
  readonly work: Work;
  readonly untracked: "ignore" | "count" | "commit";
  /** The files of each finished step are saved at once: another worker may have to go on from there. */
  readonly savesSteps?: boolean;
  /** Wall-clock end of this turn, epoch ms. */
  readonly endsAt: number;
}

/** One tool call or step as the host saw it begin and finish. */
export interface CallRecord {
  readonly sequence: number;
  readonly name: string;
  readonly kind: "work" | "control";
  readonly step: number | null;
  readonly startedAt: number;
  readonly finishedAt: number | null;
  readonly exitCode: number | null;
  readonly isError: boolean;
  readonly text: string;
}

/**
 * What the runner asks of the host while a turn runs. Each resolves once it is durable: a step is never started
 * before `callStarted` returned, so that a crash leaves a record of what may have happened (2.5).
 */
export interface TurnHost {
  phase(name: TurnPhase): Promise<void>;
  workBegins(): Promise<void>;
  callStarted(call: CallRecord, progress: TaskProgress | null): Promise<void>;
  callFinished(call: CallRecord, progress: TaskProgress | null): Promise<void>;
  readonly now: () => number;
  /** Aborted by stop, drain or deadline: the process group ends, the state is still saved. */
  readonly signal: AbortSignal;
}

export type TurnPhase = "fetching" | "checking-out" | "working" | "saving";

export interface TurnResult {
  readonly end: TurnEnd;
  readonly report: Report | null;
  readonly reply: string;
  readonly calls: readonly CallRecord[];
  readonly progress: TaskProgress | null;
  readonly baseCommit: string | null;
  readonly fingerprintBefore: string | null;
  readonly fingerprintAfter: string | null;
  readonly fingerprintAll: string | null;
  readonly savedCommit: string | null;
  readonly events: readonly string[];
  readonly isolation: string;
}

export interface PublishRequest {
  readonly mandateId: string;
  readonly repository: RepositorySource;
  readonly baseCommit: string;
  readonly branch: string;
  readonly title: string;
  readonly body: string;
  readonly coAuthor: { readonly name: string; readonly email: string } | null;
  /** Where the branch must be: what the last publish left there, or the pinned head of a pull request; null for nowhere. */
  readonly publishedCommit: string | null;
  /** What an earlier publish was about to push; found at the branch it is ours, whatever changed since (6.4). */
  readonly intendedCommit?: string | null;
  /** Resolves once it is durable that this commit is about to be pushed. */
  readonly intend?: (commit: string) => Promise<void>;
  /** Who the commit is by; Holdfast itself by default. */
  readonly author?: { readonly name: string; readonly email: string };
  readonly paths: readonly string[];
  readonly untracked: "ignore" | "count" | "commit";
  readonly filesLimit: number;
  readonly bytesLimit: number;
  /** Commit time, fixed per publish so that a repeat after a crash makes the same commit. */
  readonly at: number;
}

export type PublishOutcome =
  | {
      readonly kind: "published";
      readonly commit: string;
      readonly files: readonly string[];
      /** Where the branch was after the push: the commit, unless somebody moved it at once. */
      readonly remoteCommit: string | null;
    }
  | { readonly kind: "empty" }
  | {
      readonly kind: "refused";
      /** With `not-allowed` the server does not let this account move the branch, and `files` are its words. */
      readonly why: "remote-moved" | "files" | "not-allowed";
      readonly files: readonly string[];
    };

export interface ReplayRequest {
  readonly mandateId: string;
  readonly repository: RepositorySource;
  /** The commit that the work so far was made on. */
  readonly from: string;
  readonly to: PullHead;
}

/** With `conflicts` these files hold both versions between markers; `nothing` means there was no work to move. */
export type Replay =
  | { readonly kind: "replayed" }
  | { readonly kind: "conflicts"; readonly files: readonly string[] }
  | { readonly kind: "nothing" };

/** A saved state as another worker can take it up (7.1): what its repository does not have, as a Git pack. */
export interface CarriedState {
  readonly commit: string;
  readonly base: string;
  readonly pack: Uint8Array;
}

export interface CarryRequest {
  readonly mandateId: string;
  readonly repository: RepositorySource;
  /** The pull request that the base was a head of; null for none. */
  readonly pull: number | null;
  /** Null where the worker that has the files could not save them. */
  readonly state: CarriedState | null;
}

export interface PolicySource {
  readonly commit: string;
  /** Null when the default branch has no policy file. */
  readonly text: string | null;
  /** True where the working tree of a local repository has another policy file than the commit, which is not read. */
  readonly isUncommitted: boolean;
}

export interface Runner {
  /** Finds the repository that a path lies in; `id` names it by its top folder. Throws Failure with what is missing. */
  inspect(asked: { path: string; id: (root: string) => string }): Promise<RepositoryFacts>;
  /** Never throws for what happens in the world: failures are ends of the turn. What the host throws passes through. */
  runTurn(request: TurnRequest, host: TurnHost): Promise<TurnResult>;
  /** Safe to repeat: the same state gives the same commit, and a branch already there is adopted. Throws Failure. */
  publish(request: PublishRequest): Promise<PublishOutcome>;
  /** Moves the work so far onto another head (1.5). Safe to repeat after a crash. Throws Failure `head-gone`. */
  replay(request: ReplayRequest): Promise<Replay>;
  /** Whether this saved state, or one that followed it, is here. */
  hasState(asked: { mandateId: string; commit: string }): Promise<boolean>;
  /** The saved state as others can take it up; null where there is none, or more than can be carried. Throws Failure. */
  packState(mandateId: string): Promise<CarriedState | null>;
  /** Takes up what another worker saved, in place of what is here of the mandate. Throws Failure. */
  unpackState(request: CarryRequest): Promise<void>;
  /** Reads the policy file from the head of the default branch. Throws Failure. */
  readPolicy(repository: RepositorySource): Promise<PolicySource>;
  /** What a mandate changed against its base, as a unified diff for pages; null when nothing of it is left here. */
  diff(request: { mandateId: string; base: string }): Promise<string | null>;
  /** Mandates in whose checkout a process works that the host did not start (3.2). */
  managedOutside(): Promise<ReadonlySet<string>>;
  /** Ends what a cut-off turn left running in its checkout here; resolves when no process of ours lives there. */
  endLeftovers(mandateId: string): Promise<void>;
  /** Ends and clears what a cut-off process left running and half made; once, before anything else is asked. */
  clear(): Promise<void>;
  /** Mandates of which something is kept on this worker. */
  kept(): Promise<string[]>;
  /** Takes the checkout of an ended mandate away; `all` also its saved state and what pins its commits. */
  drop(mandateId: string, what: "checkout" | "all"): Promise<void>;
}

/** The version of git on this machine. Throws Failure `git-too-old`, `spawn-failed`. */
export function checkGit(): Promise<string> {
  return requireGit();
}

/** The runner on this machine: git, checkouts and processes below `home`. */
export function openRunner(place: WorkPlace): Runner {
  return {
    inspect: (asked) => inspectRepository(place, asked),
    runTurn: (request, host) => runTurn(place, request, host),
    publish: (request) => publishWork(place, request),
    replay: (request) => replayWork(place, request),
    hasState: (asked) => hasState(place, asked),
    packState: (mandateId) => packState(place, mandateId),
    unpackState: (request) => unpackState(place, request),
    readPolicy: (repository) => readPolicy(place, repository),
    diff: (request) => diffOf(place, request),
    managedOutside: () => managedOutside(join(place.home, "work")),
    endLeftovers: (mandateId) => endLeftovers(checkoutOf({ home: place.home, mandateId })),
    clear: async () => {
      await endAllLeftovers(join(place.home, "work"));
      await sweepHome(place.home);
    },
    kept: () => keptMandates(place),
    drop: (mandateId, what) => drop(place, { mandateId, what }),
  };
}
