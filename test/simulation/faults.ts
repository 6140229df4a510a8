// What goes wrong in a simulated world (spec 8.4), chosen by one seed: crashes at named points, a ledger that cannot be
// written, a forge that fails before or after it applied. Never uses a clock or randomness of its own.

import { LimitedFailure, type Forge } from "../../app/forge/forge.ts";
import type { Ledger, SqlValue, Tx } from "../../app/ledger/ledger.ts";
import { secondMs } from "../../policies/durations.ts";
import { Failure } from "../../policies/failure.ts";
import type { Process } from "./world.ts";
import { kindOf, writeKinds } from "./write-kinds.ts";

export const mutants = ["no-sweep", "no-read-back", "unclaimed-outbox"] as const;
export type Mutant = (typeof mutants)[number];

/** Deterministic randomness (mulberry32): the same seed gives the same world. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed * 0x9e3779b1) >>> 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** From `from` up to, without, `to`. */
  between(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from));
  }

  pick<T>(choices: readonly T[]): T {
    const chosen = choices[this.between(0, choices.length)];
    if (chosen === undefined) throw new Error("nothing to choose from");
    return chosen;
  }
}

const forgeWrites = ["create-comment", "edit-comment", "react", "create-pull", "push"] as const;
const forgeReads = [
  "read-text",
  "read-repository",
  "read-conversation",
  "read-policy",
  "permission",
  "list-own",
  "find-pull",
] as const;

/** Every named place where a process can die. */
export const crashPoints: readonly string[] = [
  ...writeKinds.flatMap(([kind]) => [`${kind} before`, `${kind} after`]),
  ...forgeWrites.flatMap((call) => [`${call} before`, `${call} after`]),
  ...forgeReads,
];

interface Target {
  readonly point: string;
  skips: number;
}

/** The plan of one seed: where processes die, and how often everything else fails. */
export class Faults {
  isOn = true;
  readonly hits = new Set<string>();
  /** Keys of messages that the forge refused for good. */
  readonly refusedKeys = new Set<string>();
  readonly #dice: Dice;
  readonly #targets: Target[];
  readonly forgeRate: number;
  readonly ledgerRate: number;
  /** How far reads of the forge lag behind writes. */
  readonly lagMs: number;

  constructor(seed: number, dice: Dice) {
    this.#dice = dice;
    const aimed = [seed, seed * 7 + 3, seed * 11 + 17, seed * 13 + 29].map((number) => ({
      point: crashPoints[number % crashPoints.length] ?? "",
      skips: 0,
    }));
    const others = Array.from({ length: dice.between(0, 6) }, () => ({
      point: dice.pick(crashPoints),
      skips: dice.between(0, 4),
    }));
    this.#targets = [...aimed, ...others];
    this.forgeRate = dice.pick([0, 0.05, 0.2, 0.4]);
    this.ledgerRate = dice.pick([0, 0, 0, 0.02]);
    this.lagMs = dice.pick([0, 0, 4, 9]) * secondMs;
  }

  /** True when the process that came to this point is to die here. */
  crashesAt(point: string): boolean {
    if (!this.isOn) return false;
    const index = this.#targets.findIndex((one) => one.point === point);
    const target = this.#targets[index];
    if (target === undefined) return false;
    if (target.skips > 0) {
      target.skips -= 1;
      return false;
    }
    this.#targets.splice(index, 1);
    this.hits.add(point);
    return true;
  }

  failsLedger(): boolean {
    return this.isOn && this.#dice.chance(this.ledgerRate);
  }

  forgeOutcome(): "fine" | "unavailable" | "limited" | "lost" | "unsure" | "slow" {
    if (!this.isOn || !this.#dice.chance(this.forgeRate)) return "fine";
    return this.#dice.pick(["unavailable", "limited", "lost", "unsure", "unsure", "slow"]);
  }

  refuses(): boolean {
    return this.isOn && this.#dice.chance(this.forgeRate / 20);
  }

  slowMs(): number {
    return this.#dice.between(1, 9) * secondMs;
  }
}

/** Thrown out of a transaction so that nothing of it stays; nobody but this file ever sees it. */
class Crash extends Error {}

/** The ledger as one process sees it: each write is a step, and a place to die before and after its commit. */
export function faultyLedger(process: Process, ledger: Ledger): Ledger {
  const { world } = process;
  async function write<T>(change: (tx: Tx) => Promise<T>): Promise<T> {
    await process.step();
    if (world.faults.failsLedger()) {
      world.excuse();
      throw new Failure("persistence-unavailable", "later", { message: "the disk is full" });
    }
    const statements: string[] = [];
    try {
      const value = await ledger.write(async (tx) => {
        const result = await change(recording(tx, { statements, mutant: world.mutant }));
        if (diesAt(process, statements, "before")) throw new Crash();
        return result;
      });
      await world.observe(process, kindOf(statements));
      if (diesAt(process, statements, "after")) return await process.die();
      return value;
    } catch (error) {
      if (error instanceof Crash) return process.die();
      throw error;
    }
  }
  return {
    write,
    append: write,
    read: (question) => (process.isAlive ? ledger.read(question) : process.never()),
    now: () => ledger.now(),
    revision: () => ledger.revision(),
    close: async () => {},
  };
}

function recording(tx: Tx, to: { statements: string[]; mutant: Mutant | null }): Tx {
  return {
    ...tx,
    run: async (statement: string, ...values: SqlValue[]) => {
      if (to.mutant === "unclaimed-outbox" && values.includes("sending")) return 1;
      const count = await tx.run(statement, ...values);
      if (count > 0) to.statements.push(statement);
      return count;
    },
    // Only what returns the rows that it changed is a write.
    all: async <T>(statement: string, ...values: SqlValue[]) => {
      const rows = await tx.all<T>(statement, ...values);
      if (rows.length > 0) to.statements.push(statement);
      return rows;
    },
  };
}

function diesAt(process: Process, statements: readonly string[], when: string): boolean {
  const kind = kindOf(statements);
  return kind !== null && process.world.faults.crashesAt(`${kind} ${when}`);
}

/** One call to the outside with an effect: it may fail before or after it was applied, or its caller may die. */
export async function callOutside<T>(
  process: Process,
  name: (typeof forgeWrites)[number],
  apply: () => Promise<T>,
): Promise<T> {
  const { faults } = process.world;
  await process.step();
  if (faults.crashesAt(`${name} before`)) return process.die();
  const outcome = faults.forgeOutcome();
  if (outcome === "unavailable") throw failure("unavailable");
  if (outcome === "limited") throw limited(process);
  if (outcome === "lost") throw failure("unsure");
  if (outcome === "slow") {
    process.world.excuse();
    await process.sleep(faults.slowMs());
  }
  const value = await apply();
  await process.world.observe(process, name);
  if (faults.crashesAt(`${name} after`)) return process.die();
  if (outcome === "unsure") throw failure("unsure");
  await process.step();
  return value;
}

/** One question to the outside: it may get no answer. */
export async function askOutside<T>(
  process: Process,
  name: (typeof forgeReads)[number],
  ask: () => Promise<T>,
): Promise<T> {
  const { faults } = process.world;
  await process.step();
  if (faults.crashesAt(name)) return process.die();
  const outcome = faults.forgeOutcome();
  if (outcome === "unavailable" || outcome === "lost") throw failure("unavailable");
  if (outcome === "limited") throw limited(process);
  return ask();
}

/** A limit is over before anybody would call what it holds up late. */
function limited({ world }: Process): LimitedFailure {
  return new LimitedFailure(world.now + 5 * secondMs, { message: "forge: limited" });
}

function failure(code: "unavailable" | "unsure" | "refused"): Failure {
  return new Failure(code, code === "refused" ? "never" : "later", { message: `forge: ${code}` });
}

/** The forge as one process sees it. */
export function faultyForge(process: Process, forge: Forge): Forge {
  const { world } = process;
  return {
    ...unchanged(forge),
    readText: (ref) => askOutside(process, "read-text", () => forge.readText(ref)),
    readRepository: (ref) =>
      askOutside(process, "read-repository", () => forge.readRepository(ref)),
    readConversation: (ref) =>
      askOutside(process, "read-conversation", () => forge.readConversation(ref)),
    permissionOf: (_, personId) =>
      askOutside(process, "permission", async () => world.levelOf(personId)),
    createComment: (ref, body) =>
      callOutside(process, "create-comment", () => {
        refuseSometimes(process, body);
        return forge.createComment(ref, body);
      }),
    editComment: (ref, id, body) =>
      callOutside(process, "edit-comment", () => forge.editComment(ref, id, body)),
    listOwnComments: (ref, since) =>
      askOutside(process, "list-own", async () => {
        if (world.mutant === "no-read-back") return [];
        const own = await forge.listOwnComments(ref, since);
        return own.filter(({ id }) => world.history.isVisible(id));
      }),
    react: (ref, content) => callOutside(process, "react", () => forge.react(ref, content)),
    findPull: (ref, head) => askOutside(process, "find-pull", () => forge.findPull(ref, head)),
    createPull: (ref, pull) =>
      callOutside(process, "create-pull", () => forge.createPull(ref, pull)),
  };
}

/** What is passed on as it is: nothing here depends on it yet. */
function unchanged(forge: Forge): Forge {
  const methods = [...Object.getOwnPropertyNames(Object.getPrototypeOf(forge))].flatMap((name) => {
    const method: unknown = Reflect.get(forge, name);
    return typeof method === "function" ? [[name, method.bind(forge)] as const] : [];
  });
  return { ...forge, ...Object.fromEntries(methods) };
}

export const markerPattern = /<!-- holdfast:(\S+):[0-9a-f]{32} -->\s*$/;

/** Never for a block or question: what nobody can be told of is no state to end in. */
function refuseSometimes(process: Process, body: string): void {
  const key = markerPattern.exec(body)?.[1] ?? "";
  const { faults } = process.world;
  if (!key.startsWith("answer/") || !faults.refuses()) return;
  faults.refusedKeys.add(key);
  throw failure("refused");
}
