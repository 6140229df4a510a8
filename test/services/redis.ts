// A private Redis for tests: on a port of its own with its data in a temporary folder, gone afterwards. Never touches a
// server that the machine runs.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { Redis } from "ioredis";
import { howToGet, needs } from "../system.ts";

export interface RedisServer {
  readonly url: string;
  /** Settings as `redis-server` takes them, from now on; `stop` and `start` keep them. */
  configure(name: string, value: string): Promise<void>;
  flush(): Promise<void>;
  /** As a machine that hangs: connections stay, and nothing is answered. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** As a machine that is gone, with all that was in it. */
  kill(): Promise<void>;
  /** Empty, at the same address. */
  start(): Promise<void>;
  /** What is stored, in bytes. */
  usedBytes(): Promise<number>;
  close(): Promise<void>;
}

const startMsLimit = 20_000;

/** Starts a server. Throws where it is not installed. */
export async function startRedis(): Promise<RedisServer> {
  const program = needs.redis.find();
  if (program === null) throw new Error(howToGet(needs.redis));
  const folder = mkdtempSync(join(tmpdir(), "holdfast-redis-"));
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""];
  let child: ChildProcess;

  async function start(): Promise<void> {
    child = spawn(program ?? "", args, { stdio: "ignore" });
    const until = Date.now() + startMsLimit;
    while (!(await answers(url))) {
      if (Date.now() > until) throw new Error("Redis does not start");
      await setTimeout(50);
    }
  }

  async function kill(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  await start();
  return {
    url,
    configure: async (name, value) => {
      await ask(url, (redis) => redis.config("SET", name, value));
    },
    flush: async () => {
      await ask(url, (redis) => redis.flushall());
    },
    freeze: async () => void child.kill("SIGSTOP"),
    thaw: async () => void child.kill("SIGCONT"),
    kill,
    start,
    usedBytes: async () => {
      const text = await ask(url, (redis) => redis.info("memory"));
      return Number(/^used_memory:(\d+)/m.exec(text)?.[1]);
    },
    close: async () => {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function answers(url: string): Promise<boolean> {
  try {
    await ask(url, (redis) => redis.ping());
    return true;
  } catch {
    return false;
  }
}

async function ask<T>(url: string, question: (redis: Redis) => Promise<T>): Promise<T> {
  const options = { lazyConnect: true, retryStrategy: () => null, connectTimeout: 1_000 };
  const redis = new Redis(url, options);
  redis.on("error", () => {});
  try {
    await redis.connect();
    return await question(redis);
  } finally {
    redis.disconnect();
  }
}
