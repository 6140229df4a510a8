// The product on the fake GitHub as real processes (spec 8.4): servers and workers, each with a home of its own, that can
// be killed and told what they printed. Holds no expectation.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { webhookSecret } from "../fakes/github-spine.ts";
import type { GitHub } from "../fakes/github/github.ts";
import { quickTiming, until } from "./process.ts";

const program = fileURLToPath(new URL("../../app/main.ts", import.meta.url));

export interface Launch {
  readonly kind: "server" | "worker";
  readonly home: string;
  /** The home's own file by default. */
  readonly databaseUrl?: string | undefined;
  readonly redisUrl?: string | undefined;
  /** Turns at a time; one by default. */
  readonly slots?: number;
  readonly timing?: Partial<typeof quickTiming>;
  readonly nodeOptions?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

export interface Launched {
  readonly kind: Launch["kind"];
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
  /** Standard output and error so far. */
  said: string;
}

/** Starts it and does not wait for it. */
export function launch({ world, host }: GitHub, wanted: Launch): Launched {
  const { kind, home, databaseUrl, redisUrl, slots = 1, timing, nodeOptions = [] } = wanted;
  mkdirSync(home, { recursive: true });
  const writes = "{ perSecond: 100, perMinute: 6000, perHour: 100000 }";
  const settings = `repositories: [org/door]\ngithub: { writes: ${writes} }\n`;
  writeFileSync(join(home, "settings.yaml"), settings);
  const env = {
    PATH: process.env["PATH"],
    TZ: "UTC",
    HOLDFAST_HOME: home,
    HOLDFAST_MENTION: "holdfast",
    HOLDFAST_TIMING: JSON.stringify({
      ...quickTiming,
      unreachableRetryMs: 200,
      failureFirstMs: 500,
      // Several processes at a time make a busy machine slow: what is under way must not count as lost.
      sendLeaseMs: 5_000,
      probeAfterMs: 1_000,
      ...timing,
    }),
    ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
    ...(redisUrl !== undefined && { REDIS_URL: redisUrl }),
    APP_ID: String(world.app.id),
    PRIVATE_KEY: world.privateKey,
    WEBHOOK_SECRET: webhookSecret,
    GHE_HOST: host,
    GHE_PROTOCOL: "http",
    ...wanted.environment,
  };
  const command = kind === "server" ? ["start", "--port", "0"] : ["worker"];
  const args = [...nodeOptions, program, ...command, "--workers", String(slots)];
  const child = spawn(process.execPath, args, {
    env,
    cwd: "/",
    stdio: ["ignore", "pipe", "pipe"],
  });
  const launched: Launched = { kind, child, ended: once(child, "close"), said: "" };
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => (launched.said += chunk.toString()));
  }
  return launched;
}

export function isAlive({ child }: Launched): boolean {
  return child.exitCode === null && child.signalCode === null && !child.killed;
}

/** Resolves when it works, or has ended before; GitHub sends its webhooks to the server that started last. */
export async function started(github: GitHub, launched: Launched): Promise<void> {
  const pattern = launched.kind === "server" ? /http:\S+token=\w+/ : /takes up to/;
  const said = await until(
    `a ${launched.kind} starts`,
    async () => (isAlive(launched) ? pattern.exec(launched.said)?.[0] : "ended"),
    () => launched.said,
  );
  if (launched.kind === "worker" || said === "ended") return;
  const url = `${new URL(said).origin}/api/github/webhooks`;
  github.setHook({ url, secret: webhookSecret });
}
