// What the tests need from the machine beyond npm (spec 8.4, 8.6): one table, asked by the test
// that needs it and by scripts/system.mjs, which brings what it can. Never lets CI skip.
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import type { TestContext } from "vitest";

export interface Need {
  readonly name: string;
  /** The Debian package that brings it. */
  readonly packageName: string;
  readonly usedFor: string;
  /** Nothing works without it, so the run does not even begin. */
  readonly isRequired: boolean;
  /** How to call it, or null when it is missing or too old. */
  readonly find: () => string | null;
}

const oldestGit = [2, 39, 5] as const;

export const needs = {
  git: {
    name: `git >= ${oldestGit.join(".")}`,
    packageName: "git",
    usedFor: "everything that touches a repository",
    isRequired: true,
    find: () => {
      const version = /(\d+)\.(\d+)(?:\.(\d+))?/.exec(answer("git"));
      return version !== null && isAtLeast(version.slice(1), oldestGit) ? "git" : null;
    },
  },
  chromium: {
    name: "Chromium",
    packageName: "chromium",
    usedFor: "the pages in a real browser",
    isRequired: false,
    find: () => {
      const path = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
      return answer(path) === "" ? null : path;
    },
  },
  strace: {
    name: "strace",
    packageName: "strace",
    usedFor: "the proof that what is acknowledged is on the disk",
    isRequired: false,
    find: () => (answer("strace") === "" ? null : "strace"),
  },
  postgres: {
    name: "PostgreSQL >= 13",
    packageName: "postgresql",
    usedFor: "the ledger of many machines",
    isRequired: false,
    find: () => postgresPrograms(),
  },
  redis: {
    name: "Redis",
    packageName: "redis-server",
    usedFor: "the driver that wakes other processes",
    isRequired: false,
    find: () => (answer("redis-server") === "" ? null : "redis-server"),
  },
} as const satisfies Record<string, Need>;

/** The folder with `initdb` and `postgres`; Debian keeps it out of PATH. */
function postgresPrograms(): string | null {
  const folders = globSync("/usr/lib/postgresql/*/bin").toSorted();
  const newest = folders.findLast((folder) => answer(`${folder}/postgres`) !== "");
  return newest ?? (answer("postgres") === "" ? null : "");
}

/** What to call a need by. Where it is missing CI fails here; a newcomer's test says how to get it. */
export function need(context: TestContext, key: keyof typeof needs): string {
  const found = needs[key].find();
  if (found !== null) return found;
  if (process.env["CI"] === "true") throw new Error(howToGet(needs[key]));
  return context.skip(howToGet(needs[key]));
}

export function howToGet({ name, packageName, usedFor }: Need): string {
  return `${name} is missing (for ${usedFor}): apt-get install ${packageName}`;
}

function answer(program: string): string {
  const { stdout } = spawnSync(program, ["--version"], { encoding: "utf8", timeout: 10_000 });
  return stdout ?? "";
}

function isAtLeast(version: readonly string[], oldest: readonly number[]): boolean {
  for (const [index, least] of oldest.entries()) {
    const part = Number(version[index] ?? 0);
    if (part !== least) return part > least;
  }
  return true;
}
