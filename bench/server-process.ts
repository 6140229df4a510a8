// A server under load as a process of its own (spec 8.5): started by its file, told to end by its input, and its CPU
// read from outside, so that measuring costs it nothing.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface ServerProcess {
  readonly port: number;
  /** Milliseconds of CPU, of all its threads, since it began. */
  cpuMs(): number;
  end(): Promise<void>;
}

/** A tick of the kernel's accounting, the same on every Linux that Node runs on. */
const tickMs = 10;

/** The program must print its port, and end when its input does. */
export async function startServer(program: URL, args: readonly string[]): Promise<ServerProcess> {
  const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(program), ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return {
    port: Number(line.toString()),
    cpuMs: () => {
      const [, rest = ""] = readFileSync(`/proc/${child.pid}/stat`, "utf8").split(/\) (.*)/s);
      const fields = rest.split(" ");
      return (Number(fields[11]) + Number(fields[12])) * tickMs;
    },
    end: async () => {
      child.stdin.end();
      await ended;
    },
  };
}
