// A simulated world (spec 8.4): the real app and policies on the real ledger in memory, under one seed that owns the
// clock, the order of everything and all faults. Real time, real randomness and real processes never come in.

import { violations } from "../../app/doctor.ts";
import { openIssue } from "../../app/forge/local-writing.ts";
import { openLocalForge } from "../../app/forge/local.ts";
import { RunningTurns, type Host, type Leases } from "../../app/host.ts";
import { saveRepository } from "../../app/ledger/conversations.ts";
import { renewLease, type Claim } from "../../app/ledger/inbox.ts";
import { nextDeliveryAt } from "../../app/ledger/incoming/deliveries.ts";
import { openSqlite, type SqliteLedger } from "../../app/ledger/sqlite/sqlite.ts";
import type { Log } from "../../app/log.ts";
import type { Driver } from "../../app/scheduler/driver.ts";
import { openPump } from "../../app/scheduler/pump.ts";
import { sweep } from "../../app/scheduler/sweep.ts";
import { Timing } from "../../app/settings.ts";
import type { Level } from "../../policies/authority.ts";
import { parseComment } from "../../policies/commands/comment.ts";
import { dayMs, hourMs, minuteMs, secondMs } from "../../policies/durations.ts";
import { comment, people, policyText, say, simulatedRunner } from "./actors.ts";
import { Dice, faultyForge, faultyLedger, Faults, type Mutant } from "./faults.ts";
import { happen, simulatedWebhooks } from "./happenings.ts";
import { History, type Found } from "./history.ts";

export interface Scenario {
  readonly seed: number;
  readonly mutant: Mutant | null;
  /** Called with each step, for a seed that is looked at. */
  readonly onStep?: (line: string) => void;
}

export interface Outcome {
  readonly found: readonly Found[];
  readonly pointsHit: ReadonlySet<string>;
}

interface Timer {
  readonly at: number;
  readonly process: Process | null;
  readonly fire: () => void;
  /** A tick of the sweep: skipped over where nothing happens for long. */
  readonly isTick: boolean;
}

const startAt = Date.UTC(2026, 0, 5, 9);
const stepLimit = 40_000;
const ticksBeforeSkip = 5;
/** Longer than any deadline that people can set here. */
const quietWithinMs = 40 * dayMs;
const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

export async function runScenario(scenario: Scenario): Promise<Outcome> {
  const world = new World(scenario);
  try {
    await world.run();
  } finally {
    await world.end();
  }
  return { found: world.history.found, pointsHit: world.faults.hits };
}

export class World {
  now = startAt;
  policyVersion = 0;
  readonly policy: string;
  readonly dice: Dice;
  readonly faults: Faults;
  readonly history: History;
  readonly ledger: SqliteLedger;
  readonly mutant: Mutant | null;
  readonly timing = Timing.parse({});
  readonly repositoryId = "repo";
  readonly selfId = "holdfast";
  readonly numbers: number[] = [];
  readonly #scenario: Scenario;
  #processes: Process[] = [];
  #gates: { process: Process; open: () => void }[] = [];
  #timers: Timer[] = [];
  #ticks = 0;
  #checkedRevision = -1;
  #born = 0;
  /** Until then what is late may be so: a process has just come back, or the clock has jumped. */
  #lateUntil = 0;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    this.mutant = scenario.mutant;
    this.dice = new Dice(scenario.seed);
    this.faults = new Faults(scenario.seed, this.dice);
    this.history = new History(this);
    this.ledger = openSqlite({ file: ":memory:", now: () => this.now });
    this.policy = policyText(this);
  }

  trace(line: string): void {
    this.#scenario.onStep?.(`${((this.now - startAt) / secondMs).toFixed(1)} s  ${line}`);
  }

  async run(): Promise<void> {
    await this.#begin();
    await this.#live(startAt + quietWithinMs, async () => false);
    if (this.history.found.length > 0) return;
    this.trace("no more faults, and nobody says anything new");
    this.faults.isOn = false;
    // A pause that had to wait for the forge must not come after the resume that ends it.
    await this.#live(this.now + quietWithinMs, () => this.#hasAccepted());
    for (const number of this.numbers) {
      const [person] = people;
      await say(this, { person, number, body: "@holdfast resume", expected: { mandates: 0 } });
      for (const { id } of this.history.mandatesIn(number)) {
        const body = `@holdfast resume ${id}`;
        await say(this, { person, number, body, expected: { mandates: 0 } });
      }
    }
    await this.#live(this.now + quietWithinMs, () => this.#isQuiet());
    await this.ledger.read((sql) => this.history.judge(sql));
  }

  /** Whatever still goes on is left behind. */
  async end(): Promise<void> {
    for (const process of this.#processes) process.isAlive = false;
    await new Promise((resolve) => setImmediate(resolve));
    await this.ledger.close();
  }

  async #begin(): Promise<void> {
    await this.ledger.write((tx) =>
      saveRepository(tx, {
        id: this.repositoryId,
        connection: "local",
        forgeId: "1",
        name: "demo",
        source: "/demo",
        defaultBranch: "main",
        account: "local",
      }),
    );
    const [alice] = people;
    const author = { id: alice.id, name: alice.name, isBot: false };
    for (let count = this.dice.between(1, 4); count > 0; count -= 1) {
      const requestKey = `issue${count}`;
      const { repositoryId } = this;
      const issue = { author, requestKey, repositoryId, title: "An issue", body: "It is broken." };
      const opened = await openIssue(this.ledger, issue);
      if (opened.ok) this.numbers.push(opened.number);
    }
    for (let count = this.dice.pick([1, 1, 2]); count > 0; count -= 1) this.#startProcess();
    this.#planActions();
  }

  #planActions(): void {
    let at = 0;
    for (let count = this.dice.between(4, 13); count > 0; count -= 1) {
      at += this.dice.pick([0, 50, 2 * secondMs, 30 * secondMs, 5 * minuteMs, hourMs]);
      this.after(at, () => this.#act());
    }
  }

  async #act(): Promise<void> {
    if (this.dice.chance(0.75)) return comment(this, this.dice.pick(this.numbers));
    if (this.dice.chance(0.4)) return happen(this);
    const process = this.#processes[this.dice.between(0, 2)];
    switch (this.dice.pick(["jump", "freeze", "policy"] as const)) {
      case "jump":
        this.now += this.dice.pick([20 * secondMs, 10 * minuteMs, 5 * hourMs, 26 * hourMs]);
        this.excuse();
        return this.trace("the clock jumps");
      case "freeze":
        if (process === undefined) return;
        process.frozenUntil = this.now + this.dice.pick([5, 15, 40]) * secondMs;
        this.#lateUntil = process.frozenUntil + this.timing.quietMs + 2 * this.timing.sweepMs;
        return this.trace(`${process.name} is frozen`);
      case "policy":
        this.policyVersion += 1;
        return this.trace("the policy file changes");
    }
  }

  #startProcess(): void {
    this.#born += 1;
    const process = new Process(this, `p${this.#born}`);
    this.trace(`${process.name} starts`);
    this.#processes.push(process);
    this.excuse();
    process.start();
  }

  /** What should have been done by now may be done a little later. */
  excuse(): void {
    this.#lateUntil = this.now + this.timing.quietMs + 2 * this.timing.sweepMs;
  }

  bury(process: Process): void {
    this.trace(`${process.name} dies`);
    this.#processes = this.#processes.filter((one) => one !== process);
    this.#gates = this.#gates.filter((gate) => gate.process !== process);
    this.#timers = this.#timers.filter((timer) => timer.process !== process);
    this.after(this.dice.pick([100, 3 * secondMs, 20 * secondMs, 10 * minuteMs]), async () =>
      this.#startProcess(),
    );
  }

  levelOf(personId: string): Level {
    return people.find(({ id }) => id === personId)?.level ?? "none";
  }

  /** Something was committed from outside: every process looks soon, as it polls the ledger's revision. */
  ring(): void {
    for (const process of this.#processes) process.ringSoon();
  }

  async observe(process: Process, kind: string | null): Promise<void> {
    if (kind === null) return;
    this.trace(`${process.name} ${kind}`);
    await this.ledger.read((sql) => this.history.observe(sql, kind));
    for (const other of this.#processes) if (other !== process) other.ringSoon();
  }

  /** What is done by nobody's process: people, and the machine itself. */
  after(ms: number, action: () => Promise<void>): void {
    this.addTimer({
      at: this.now + ms,
      process: null,
      fire: () => void action().catch((error: unknown) => this.#broke(error)),
      isTick: false,
    });
  }

  #broke(error: unknown): void {
    this.history.violate("broken", error instanceof Error ? (error.stack ?? "") : String(error));
  }

  addTimer(timer: Timer): void {
    this.#timers.push(timer);
  }

  addGate(process: Process, open: () => void): void {
    this.#gates.push({ process, open });
  }

  async #live(until: number, isOver: () => Promise<boolean>): Promise<void> {
    for (let steps = 0; this.history.found.length === 0; steps += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#openGate()) continue;
      await this.#check();
      if (await isOver()) return;
      if (this.faults.isOn && !this.#timers.some(({ process }) => process === null)) return;
      if (this.now > until || steps > stepLimit) {
        return this.history.violate("silent", "it does not become quiet");
      }
      this.#pass();
    }
  }

  #openGate(): boolean {
    const open = this.#gates.filter(({ process }) => process.frozenUntil <= this.now);
    if (open.length === 0) return false;
    const gate = this.dice.pick(open);
    this.#gates.splice(this.#gates.indexOf(gate), 1);
    this.#ticks = 0;
    gate.open();
    return true;
  }

  /** Time goes on to the next timer; ticks of the sweep alone are skipped after a while. */
  #pass(): void {
    const plain = this.#timers.filter((timer) => !timer.isTick);
    const candidates = this.#ticks > ticksBeforeSkip && plain.length > 0 ? plain : this.#timers;
    const [first] = candidates.toSorted((one, two) => dueAt(one) - dueAt(two));
    if (first === undefined) return;
    this.now = Math.max(this.now, dueAt(first));
    this.#ticks = first.isTick ? this.#ticks + 1 : 0;
    this.#timers.splice(this.#timers.indexOf(first), 1);
    first.fire();
  }

  async #check(): Promise<void> {
    const revision = this.ledger.revision();
    if (revision === this.#checkedRevision) return;
    const isSlow = this.#processes.some(({ frozenUntil }) => frozenUntil > this.now);
    const mayBeLate = isSlow || this.#processes.length === 0 || this.now < this.#lateUntil;
    const found = await this.ledger.read((sql) => violations(sql, this.now));
    for (const { invariant, subject, what, isLate } of found) {
      if (isLate && mayBeLate) continue;
      this.history.violate(isLate ? "silent" : "broken", `${invariant} ${subject}: ${what}`);
    }
    this.#checkedRevision = this.ledger.revision();
  }

  async #hasAccepted(): Promise<boolean> {
    return (await this.ledger.read((sql) => nextDeliveryAt(sql))) === null;
  }

  /** Nothing is left that moves by itself. */
  async #isQuiet(): Promise<boolean> {
    const open = await this.ledger.read((sql) =>
      sql.first<{ count: number }>(
        `SELECT (SELECT COUNT(*) FROM mandate WHERE ended_at IS NULL AND status <> 'blocked'
             AND NOT (status = 'waiting' AND notice_key IS NOT NULL))
           + (SELECT COUNT(*) FROM delivery WHERE handled_at IS NULL)
           + (SELECT COUNT(*) FROM outbox WHERE state IN ('pending', 'sending', 'unsure')) AS count`,
      ),
    );
    return open?.count === 0;
  }

  /** The host of a process: real in everything but time, randomness and the outside. */
  hostOf(process: Process): Host {
    const forge = openLocalForge({
      ledger: this.ledger,
      pageOf: () => null,
      owner: { id: "1", name: "alice", isBot: false },
      self: { id: this.selfId, name: "holdfast", isBot: true },
    });
    return {
      ledger: faultyLedger(process, this.ledger),
      forges: new Map([["local", faultyForge(process, forge)]]),
      webhooks: new Map([["local", simulatedWebhooks]]),
      mayRun: () => true,
      runner: simulatedRunner(process),
      leases: leasesOf(process),
      running: new RunningTurns(),
      timing: this.timing,
      log: this.#scenario.onStep === undefined ? silentLog : tracingLog(this, process),
      redact: (text) => text,
      worker: process.name,
      homeId: null,
      mention: "holdfast",
      timeZone: "UTC",
      script: "by the seed",
      markerKey: "a key",
      random: () => this.dice.next(),
      parse: async (body) => parseComment(body, { mention: "holdfast" }),
      recordUrl: () => null,
      sleep: (ms) => process.sleep(ms),
    };
  }
}

function dueAt({ at, process }: Timer): number {
  return Math.max(at, process?.frozenUntil ?? 0);
}

function tracingLog(world: World, process: Process): Log {
  function write(fields: unknown, message?: string): void {
    const { error, ...rest } = fields as { error?: unknown };
    const stack = error instanceof Error ? (error.stack?.split("\n").slice(0, 3) ?? []) : [];
    const words = [process.name, "log:", message ?? "", JSON.stringify(rest), ...stack];
    world.trace(words.join(" "));
  }
  return { debug: write, info: write, warn: write, error: write };
}

/** One scheduling process. When it dies, all its promises stay open for ever, as if it had never gone on. */
export class Process {
  readonly world: World;
  readonly name: string;
  isAlive = true;
  frozenUntil = 0;
  #driver: SimulatedDriver | null = null;

  constructor(world: World, name: string) {
    this.world = world;
    this.name = name;
  }

  start(): void {
    const host = this.world.hostOf(this);
    const driver = new SimulatedDriver(this);
    this.#driver = driver;
    const pump = openPump(host, driver, { slots: 3, perRepository: 3 });
    driver.start(() => pump.wake());
    void this.#sweepForEver(host, driver);
  }

  async #sweepForEver(host: Host, driver: Driver): Promise<void> {
    await this.sleep(host.timing.quietMs);
    for (;;) {
      if (this.world.mutant !== "no-sweep") await sweep(host).catch(() => null);
      driver.ring();
      await this.sleep(host.timing.sweepMs, { isTick: true });
    }
  }

  ringSoon(): void {
    this.#driver?.ringSoon();
  }

  never<T>(): Promise<T> {
    return new Promise<T>(() => {});
  }

  die<T>(): Promise<T> {
    if (this.isAlive) {
      this.isAlive = false;
      this.world.bury(this);
    }
    return this.never();
  }

  /** The world decides when this process goes on. */
  step(): Promise<void> {
    if (!this.isAlive) return this.never();
    return new Promise((resolve) => this.world.addGate(this, resolve));
  }

  sleep(ms: number, options: { isTick: boolean } = { isTick: false }): Promise<void> {
    if (!this.isAlive) return this.never();
    return new Promise((fire) =>
      this.world.addTimer({ at: this.world.now + ms, process: this, fire, ...options }),
    );
  }
}

/** As the embedded driver, on the world's clock. */
class SimulatedDriver implements Driver {
  readonly #process: Process;
  #wake: () => Promise<void> = async () => {};
  #isRunning = false;
  #isRung = false;
  #isRingingSoon = false;
  #armed = 0;

  constructor(process: Process) {
    this.#process = process;
  }

  start(wake: () => Promise<void>): void {
    this.#wake = wake;
    this.ring();
  }

  arm(at: number | null): void {
    this.#armed += 1;
    const armed = this.#armed;
    if (at === null) return;
    const waitMs = Math.max(at - this.#process.world.now, 0);
    void this.#process.sleep(waitMs).then(() => {
      if (armed === this.#armed) this.ring();
    });
  }

  ringSoon(): void {
    if (this.#isRingingSoon) return;
    this.#isRingingSoon = true;
    void this.#process.sleep(this.#process.world.timing.pollMs).then(() => {
      this.#isRingingSoon = false;
      this.ring();
    });
  }

  ring(): void {
    this.#isRung = true;
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#isRung) {
      this.#isRung = false;
      await this.#wake().catch(() => this.arm(this.#process.world.now + secondMs));
    }
    this.#isRunning = false;
  }

  async stop(): Promise<void> {}
}

function leasesOf(process: Process): Leases {
  const { world } = process;
  return {
    hold(claim: Claim, onLost: () => void) {
      let isHeld = true;
      async function renew(): Promise<void> {
        for (;;) {
          await process.sleep(world.timing.renewMs);
          if (!isHeld) return;
          const renewed = await world.ledger.write((tx) =>
            renewLease(tx, claim, world.timing.leaseMs),
          );
          if (!isHeld || !renewed) break;
        }
        if (isHeld) onLost();
      }
      void renew();
      return {
        release() {
          isHeld = false;
        },
      };
    },
  };
}
