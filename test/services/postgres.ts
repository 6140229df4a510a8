// A private PostgreSQL for tests: a cluster of its own in a temporary folder, reached by a socket in it, gone afterwards.
// Never touches a server that the machine runs.

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { Client } from "pg";
import { needs, howToGet } from "../system.ts";

export interface PostgresServer {
  /** The address of a fresh, empty database. */
  createDatabase(): Promise<string>;
  /** Runs one statement in none of these databases, as the server's administrator. */
  run(statement: string): Promise<void>;
  /** The server's process, for tests that hurt it. */
  readonly child: ChildProcess;
  stop(): Promise<void>;
}

const user = "holdfast";
const startMsLimit = 30_000;

/** Starts a server; with `isDurable` it syncs as in production, else it is quick. Throws where it is not installed. */
export async function startPostgres({ isDurable = false } = {}): Promise<PostgresServer> {
  const programs = needs.postgres.find();
  if (programs === null) throw new Error(howToGet(needs.postgres));
  const folder = mkdtempSync(join(tmpdir(), "holdfast-postgres-"));
  const data = join(folder, "data");
  mkdirSync(data);
  const owner = ownerOf([folder, data]);
  const options = { ...owner, cwd: folder, stdio: "ignore" } as const;
  const making = ["-D", data, "-U", user, "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"];
  execFileSync(join(programs, "initdb"), making, options);
  const settings = {
    listen_addresses: "",
    unix_socket_directories: folder,
    fsync: isDurable ? "on" : "off",
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const child = spawn(join(programs, "postgres"), ["-D", data, ...flags], options);
  const ended = once(child, "exit");
  function addressOf(database: string): string {
    return `postgres://${user}@localhost/${database}?host=${folder}`;
  }
  await answered(addressOf("postgres"));
  let count = 0;
  return {
    run: (statement) => run(addressOf("postgres"), statement),
    child,
    createDatabase: async () => {
      count += 1;
      const name = `ledger_${count}`;
      await run(addressOf("postgres"), `CREATE DATABASE ${name}`);
      return addressOf(name);
    },
    stop: async () => {
      // Immediate: nothing in it is kept.
      child.kill("SIGQUIT");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** PostgreSQL refuses to run as root; the package's own account may. */
function ownerOf(folders: readonly string[]): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((one) => one.startsWith("postgres:"));
  const [uid, gid] = (line ?? "").split(":").slice(2, 4).map(Number);
  if (uid === undefined || gid === undefined) throw new Error("root needs the account postgres");
  for (const folder of folders) chownSync(folder, uid, gid);
  return { uid, gid };
}

async function answered(url: string): Promise<void> {
  const until = Date.now() + startMsLimit;
  for (;;) {
    try {
      return await run(url, "SELECT 1");
    } catch (error) {
      if (Date.now() > until) throw error;
      await setTimeout(50);
    }
  }
}

async function run(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
