// The program as a person calls it: a real process in a home of its own, with nobody's settings but the test's.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../../../bin/holdfast.js", import.meta.url));

export interface Called {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Place {
  readonly home: string;
  /** The folder it is called in; the home's parent by default. */
  readonly cwd?: string;
  readonly input?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Calls `holdfast` and waits for its end. */
export async function holdfast(place: Place, ...args: string[]): Promise<Called> {
  const child = start(place, args);
  child.stdin?.end(place.input ?? "");
  const [stdout, stderr] = await Promise.all([read(child.stdout), read(child.stderr)]);
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return { exitCode: child.exitCode, stdout, stderr };
}

export interface Server {
  readonly greeting: string;
  stop(): Promise<Called["exitCode"]>;
}

/** Starts `holdfast local` and resolves when it has said where it is. */
export async function serve(place: Place, repository: string): Promise<Server> {
  const child = start(place, ["local", repository, "--port", "0"]);
  const complaints = read(child.stderr);
  let greeting = "";
  const { promise, resolve, reject } = Promise.withResolvers<null>();
  child.stdout?.on("data", (chunk: Buffer) => {
    greeting += chunk.toString("utf8");
    if (greeting.includes("Ctrl-C")) resolve(null);
  });
  child.once("exit", () => {
    complaints.then((words) => reject(new Error(`it ended at once: ${words}`))).catch(reject);
  });
  await promise;
  return {
    greeting,
    async stop() {
      child.kill("SIGTERM");
      if (child.exitCode === null) await once(child, "exit");
      return child.exitCode;
    },
  };
}

function start({ home, cwd, environment }: Place, args: readonly string[]): ChildProcess {
  const env = { PATH: process.env["PATH"], HOLDFAST_HOME: home, TZ: "UTC", ...environment };
  return spawn(process.execPath, [program, ...args], { cwd: cwd ?? "/", env });
}

function read(stream: ChildProcess["stdout"]): Promise<string> {
  return stream === null ? Promise.resolve("") : text(stream);
}
