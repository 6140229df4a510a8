// What a simulated world has seen with its own eyes (spec 8.4; I1-I8): every change of every mandate, every turn, push
// and comment, judged apart from what the app says of itself.

import { commentsBy } from "../../app/ledger/issues.ts";
import type { Sql } from "../../app/ledger/ledger.ts";
import type { TurnRequest } from "../../runners/runner.ts";
import type { Expected } from "./actors.ts";
import { markerPattern } from "./faults.ts";
import type { Process, World } from "./world.ts";

export type Wrong = "silent" | "lost" | "doubled" | "broken";

export interface Found {
  readonly wrong: Wrong;
  readonly what: string;
}

interface Said extends Expected {
  readonly commentId: string;
  readonly number: number;
  readonly level: string;
  readonly body: string;
  /** An edit that comes before acceptance is answered instead of carried out. */
  readonly isEdited: boolean;
}

interface Seen {
  readonly id: string;
  readonly conversationId: string;
  readonly status: string;
  readonly noticeKey: string | null;
  readonly deadlineAt: number;
  readonly waitId: number | null;
  readonly waitState: string | null;
  readonly dueAt: number | null;
  readonly waitDeadlineAt: number | null;
}

interface Run {
  readonly mandateId: string;
  readonly conversationId: string;
  readonly cause: string;
  readonly process: Process;
  isLive: boolean;
  isKilled: boolean;
}

export class History {
  readonly found: Found[] = [];
  readonly said: Said[] = [];
  /** Outside events that may ring at a wait. */
  nudgeCount = 0;
  /** Branches of the remote and the commit each of them is at. */
  readonly remote = new Map<string, string>();
  /** Last saved work of a mandate. */
  readonly saved = new Map<string, string>();
  readonly #world: World;
  readonly #mandates = new Map<string, Seen>();
  readonly #asks = new Map<string, number>();
  readonly #waits = new Map<number, { dueAt: number; deadlineAt: number; isClaimed: boolean }>();
  /** The fence of the latest claim of each entry. */
  readonly #claims = new Map<number, number>();
  readonly #rechecks = new Map<string, { claimed: number; begun: number }>();
  readonly #steps = new Map<string, "started" | "ended">();
  readonly #visibleAt = new Map<string, number>();
  readonly #turns = new Map<string, number>();
  #runs: Run[] = [];
  #outside = new Set<string>();

  constructor(world: World) {
    this.#world = world;
  }

  violate(wrong: Wrong, what: string): void {
    this.#world.trace(`VIOLATION ${wrong}: ${what}`);
    this.found.push({ wrong, what });
  }

  /** Somebody works in a checkout by hand, but is not there at the next look. */
  managedOutside(): Set<string> {
    const { faults, dice } = this.#world;
    const ids = [...this.#mandates.keys()].filter((id) => !this.#outside.has(id));
    this.#outside = new Set(ids.filter(() => faults.isOn && dice.chance(0.05)));
    return this.#outside;
  }

  mandatesIn(number: number): { id: string; status: string }[] {
    const own = `${this.#world.repositoryId}#${number}`;
    return [...this.#mandates.values()].filter((one) => one.conversationId === own);
  }

  /** True once reads of the forge show a comment that was written. */
  isVisible(commentId: string): boolean {
    const at = this.#visibleAt.get(commentId) ?? this.#world.now + this.#world.faults.lagMs;
    this.#visibleAt.set(commentId, at);
    return at <= this.#world.now;
  }

  /** After each committed write: what has become of each mandate. */
  async observe(sql: Sql, kind: string | null): Promise<void> {
    const rows = await sql.all<Seen>(
      `SELECT m.id, m.conversation_id, m.status, m.notice_key, m.deadline_at, w.id AS wait_id,
         w.state AS wait_state, w.due_at, w.deadline_at AS wait_deadline_at
       FROM mandate m LEFT JOIN wait w ON w.mandate_id = m.id AND w.state <> 'ended'`,
    );
    for (const row of rows) this.#see(row);
    if (kind === "claim") await this.#seeOrder(sql);
    if (kind === "create-comment") await this.#seeComments(sql);
  }

  #see(now: Seen): void {
    const before = this.#mandates.get(now.id);
    this.#mandates.set(now.id, now);
    if (before?.status !== now.status) {
      this.#world.trace(`${now.id} ${before?.status ?? "(new)"} -> ${now.status}`);
      if (before !== undefined && isEnded(before.status)) {
        this.violate("broken", `I8: ${now.id} was ${before.status} and became ${now.status}`);
      }
    }
    const asks = now.noticeKey !== null && now.noticeKey !== before?.noticeKey;
    if (asks) this.#asks.set(now.id, (this.#asks.get(now.id) ?? 0) + 1);
    if (before !== undefined && now.deadlineAt !== before.deadlineAt && !this.#mayExtend(now)) {
      this.violate("broken", `I6: the deadline of ${now.id} moved and nobody extended it`);
    }
    this.#seeWait(now);
  }

  #mayExtend({ id, deadlineAt }: Seen): boolean {
    return (
      deadlineAt <= this.#world.now + 30 * 86_400_000 &&
      this.said.some(({ body, level }) => level === "admin" && body.includes(`extend ${id} `))
    );
  }

  #seeWait({ id, waitId, waitState, dueAt, waitDeadlineAt }: Seen): void {
    if (waitId === null || dueAt === null || waitDeadlineAt === null) return;
    const { now } = this.#world;
    const wait = this.#waits.get(waitId);
    if (wait === undefined) {
      this.#waits.set(waitId, { dueAt, deadlineAt: waitDeadlineAt, isClaimed: false });
      return;
    }
    if (waitDeadlineAt !== wait.deadlineAt) {
      this.violate("broken", `I6: the deadline of wait ${waitId} of ${id} moved`);
    }
    const isAsked = this.said.some(({ body }) => body.includes(`check ${id}`));
    // A nudge brings a wait forward and never puts it off (3.4).
    const isNudged = this.nudgeCount > 0 && dueAt < wait.dueAt;
    if (dueAt !== wait.dueAt && !isAsked && !isNudged) {
      this.violate("broken", `wait ${waitId} of ${id} was moved and nobody asked`);
    }
    wait.dueAt = dueAt;
    if (waitState !== "claimed" || wait.isClaimed) return;
    wait.isClaimed = true;
    this.#recheckOf(id).claimed += 1;
    if (now < dueAt) this.violate("broken", `${id} was rechecked ${dueAt - now} ms too early`);
    if (now >= wait.deadlineAt) this.violate("broken", `${id} was rechecked after its deadline`);
  }

  #recheckOf(id: string): { claimed: number; begun: number } {
    const known = this.#rechecks.get(id) ?? { claimed: 0, begun: 0 };
    this.#rechecks.set(id, known);
    return known;
  }

  /** People first (1.3): nothing else is claimed while a person's entry could be. Each claim is judged as it is made. */
  async #seeOrder(sql: Sql): Promise<void> {
    const claims = await sql.all<{ id: number; fence: number; passedOver: number }>(
      `SELECT i.id, i.fence, EXISTS (SELECT 1 FROM inbox p
         JOIN mandate m ON m.id = p.mandate_id AND m.status = 'queued'
         WHERE p.conversation_id = i.conversation_id AND p.state = 'queued' AND p.available_at <= ?
           AND p.kind IN ('request', 'reply', 'continue', 'recover')
           AND NOT EXISTS (SELECT 1 FROM hold h WHERE h.subject IN (p.conversation_id, p.mandate_id))
       ) AS passed_over
       FROM inbox i WHERE i.state = 'claimed'
         AND i.kind NOT IN ('request', 'reply', 'continue', 'recover')`,
      this.#world.now,
    );
    for (const { id, fence, passedOver } of claims) {
      const isNew = this.#claims.get(id) !== fence;
      this.#claims.set(id, fence);
      if (isNew && passedOver > 0)
        this.violate("broken", `entry ${id} was claimed before a person's`);
    }
  }

  /** No comment of ours is ever there twice (I5). */
  async #seeComments(sql: Sql): Promise<void> {
    const counts = await countMarkers(this.#world, sql);
    for (const [key, count] of counts) {
      if (count > 1) this.violate("doubled", `the comment ${key} is on the forge ${count} times`);
    }
  }

  startRun(request: TurnRequest, process: Process): Run {
    const { mandateId, cause } = request;
    const mandate = this.#mandates.get(mandateId);
    const conversationId = mandate?.conversationId ?? "";
    this.#world.trace(`${process.name} starts a turn (${cause}) of ${mandateId}`);
    if (mandate === undefined || isEnded(mandate.status)) {
      this.violate("broken", `I8: a turn of ${mandateId} started after it was ${mandate?.status}`);
    }
    const other = this.#runs.find((one) => one.conversationId === conversationId && isHeld(one));
    if (other !== undefined) {
      this.violate("broken", `I2: a turn of ${mandateId} started beside one of ${other.mandateId}`);
    }
    // As the runner does: what is left of an earlier turn is ended before the checkout is entered.
    this.killRuns(mandateId);
    const run = { mandateId, conversationId, cause, process, isLive: true, isKilled: false };
    this.#runs = [...this.#runs.filter(({ isLive }) => isLive), run];
    return run;
  }

  turnsBegun(mandateId: string): number {
    return this.#turns.get(mandateId) ?? 0;
  }

  /** One registration, one recheck (3.2). */
  workBegan({ mandateId, cause }: Run): void {
    this.#turns.set(mandateId, this.turnsBegun(mandateId) + 1);
    if (cause !== "recheck") return;
    const known = this.#recheckOf(mandateId);
    known.begun += 1;
    if (known.begun > known.claimed) {
      this.violate("doubled", `${mandateId} began ${known.begun} rechecks of ${known.claimed}`);
    }
  }

  killRuns(mandateId: string): void {
    for (const run of this.#runs.filter((one) => one.mandateId === mandateId)) {
      run.isLive = false;
      run.isKilled = true;
    }
  }

  stepStarted(mandateId: string, index: number, mayRepeat: boolean): void {
    const key = `${mandateId} ${index}`;
    if (this.#steps.get(key) === "started" && !mayRepeat) {
      this.violate(
        "doubled",
        `step ${index + 1} of ${mandateId} was cut off and ran again by itself`,
      );
    }
    this.#steps.set(key, "started");
  }

  stepEnded(mandateId: string, index: number): void {
    this.#steps.set(`${mandateId} ${index}`, "ended");
  }

  /** When all is quiet: what was asked for has happened, once, and everybody was told. */
  async judge(sql: Sql): Promise<void> {
    const markers = await countMarkers(this.#world, sql);
    for (const { id, status, noticeKey } of this.#mandates.values()) {
      const isPlainWait = status === "waiting" && noticeKey !== null;
      if (!isEnded(status) && status !== "blocked" && !isPlainWait) {
        this.violate("silent", `${id} is ${status} for ever`);
      }
      if (markers.get(`status/${id}`) !== 1) this.violate("lost", `${id} has no status comment`);
      if (status === "completed" && markers.get(`result/${id}`) !== 1) {
        this.violate("lost", `${id} is completed and nobody was told its result`);
      }
      const asked = [...markers.keys()].filter((key) => key.startsWith(`ask/${id}/`)).length;
      if (asked !== (this.#asks.get(id) ?? 0)) {
        this.violate("lost", `${id} asked ${this.#asks.get(id) ?? 0} times, ${asked} can be read`);
      }
    }
    for (const said of this.said) await this.#judgeComment(sql, said);
  }

  async #judgeComment(sql: Sql, said: Said): Promise<void> {
    const { commentId, mandates, isEdited, stops } = said;
    const made = await sql.all<{ id: string; eyes: number }>(
      `SELECT mandate_id AS id, (SELECT COUNT(*) FROM local_reaction r
         WHERE r.target = 'comment:' || comment_id AND r.content = 'eyes') AS eyes
       FROM anchor WHERE comment_kind = 'comment' AND comment_id = ?`,
      commentId,
    );
    if (made.some(({ eyes }) => eyes !== 1)) {
      this.violate("lost", `comment ${commentId} was accepted and has no eyes`);
    }
    const isAnswered = made.length === 0 && (isEdited || (await wasRefused(sql, commentId)));
    if (made.length < mandates && !isAnswered) {
      this.violate("lost", `comment ${commentId} made ${made.length} of ${mandates}`);
    }
    if (mandates >= 0 && made.length > mandates) {
      this.violate("doubled", `comment ${commentId} made ${made.length} of ${mandates}`);
    }
    if (mandates < 0 && made.length > 1) {
      this.violate("doubled", `comment ${commentId} made ${made.length} mandates`);
    }
    if (isEdited) return;
    for (const id of stops ?? []) {
      const one = this.#mandates.get(id);
      if (one === undefined || isEnded(one.status)) continue;
      if (one.conversationId !== `${this.#world.repositoryId}#${said.number}`) continue;
      this.violate("lost", `comment ${commentId} stopped ${id}, which is ${one.status}`);
    }
  }
}

/** A run whose claim is renewed: nobody else may have been given the conversation. */
function isHeld({ isLive, process }: Run): boolean {
  const { now, timing } = process.world;
  return isLive && process.isAlive && process.frozenUntil + timing.leaseMs < now;
}

function isEnded(status: string): boolean {
  return status === "completed" || status === "stopped";
}

/** Nothing could be made of it, as it was told: the policy file was broken when it was read. */
async function wasRefused(sql: Sql, commentId: string): Promise<boolean> {
  const answer = await sql.first(
    "SELECT 1 AS one FROM local_comment WHERE body LIKE '%policy-invalid%' AND body LIKE ?",
    `%/comment/${commentId}/commands:%`,
  );
  return answer !== undefined;
}

/** How often each of our messages can be read on the forge. */
async function countMarkers(world: World, sql: Sql): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const own = { authorId: world.selfId, since: 0 };
  for (const number of world.numbers) {
    const place = { repositoryId: world.repositoryId, number };
    for (const { body } of await commentsBy(sql, place, own)) {
      const key = markerPattern.exec(body)?.[1];
      if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  return counts;
}
