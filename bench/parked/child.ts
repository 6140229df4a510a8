// A process of a bench: started with its options, waited for until it is ready, and asked for what it saw.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface Child {
  /** The line by which it said that it is ready. */
  readonly ready: string;
  /** Ends its input; what it prints then, parsed. */
  end(): Promise<unknown>;
}

export async function startChild(file: string, options: object): Promise<Child> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = spawn(process.execPath, [path, JSON.stringify(options)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines: string[] = [];
  const reader = createInterface(child.stdout);
  reader.on("line", (line) => lines.push(line));
  const ended = once(child, "close");
  const [ready] = (await Promise.race([once(reader, "line"), ended])) as [string];
  return {
    ready,
    end: async () => {
      child.stdin.end();
      await ended;
      return JSON.parse(lines.at(-1) ?? "null") as unknown;
    },
  };
}
