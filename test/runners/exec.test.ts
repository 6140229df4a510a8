// Processes (spec 5.7): argv without a shell, deadline, cancel, caps, and nothing of the group left alive.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { endAll, exec, type ExecOptions } from "../../runners/exec.ts";
import { temporaryFolder } from "../fakes/repository.ts";

const env = { PATH: process.env["PATH"] ?? "" };

function run(script: string, more: Partial<ExecOptions> = {}) {
  const argv = ["sh", "-c", script];
  return exec({ argv, cwd: "/", env, deadlineMs: 20_000, outputLimit: 10_000, ...more });
}

function isAlive(pid: number): boolean {
  // A zombie has ended; only its parent has not looked yet.
  if (!existsSync(`/proc/${pid}/stat`)) return false;
  return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
}

describe("what comes back", () => {
  test("exit code and both streams, apart and together", async () => {
    const result = await run("echo out; echo err >&2; exit 3");
    expect(result).toMatchObject({ exitCode: 3, signalName: null, ended: "exited" });
    expect(result.stdout.toString()).toBe("out\n");
    expect(result.stderr.toString()).toBe("err\n");
    expect(result.outputLength).toBe(8);
    expect(result.output.toString().split("\n").sort()).toEqual(["", "err", "out"]);
  });

  test("arguments reach the program as they are", async () => {
    const argv = ["printf", "%s|", "$HOME", "a b", "`x`", "", "*"];
    const result = await exec({ argv, cwd: "/", env, deadlineMs: 9_000, outputLimit: 100 });
    expect(result.stdout.toString()).toBe("$HOME|a b|`x`||*|");
  });

  test("the environment is only what was given", async () => {
    const options = { cwd: "/", env: { ONLY: "this" }, deadlineMs: 9_000, outputLimit: 1_000 };
    const result = await exec({ argv: ["/usr/bin/env"], ...options });
    expect(result.stdout.toString()).toBe("ONLY=this\n");
  });

  test("input is written, from a buffer or a stream, also when nobody reads it", async () => {
    async function* parts() {
      yield Buffer.from("a");
      yield Buffer.from("b");
    }
    expect((await run("cat", { input: Buffer.from("whole") })).stdout.toString()).toBe("whole");
    expect((await run("cat", { input: parts() })).stdout.toString()).toBe("ab");
    expect(await run("exit 0", { input: Buffer.alloc(2_000_000) })).toMatchObject({ exitCode: 0 });
  });

  test("a failing input stream ends the program and is thrown", async () => {
    async function* broken() {
      yield Buffer.from("a");
      throw new Error("no more");
    }
    await expect(run("cat", { input: broken() })).rejects.toThrow("no more");
  });

  test("a secret is read on descriptor 3, also by a child, and need not be", async () => {
    const secret = "ghs_canary";
    const told = await run(
      "sh -c 'read -r line <&3; echo \"$line\"'; env; tr '\\0' ' ' < /proc/$$/cmdline",
      {
        secret,
      },
    );
    expect(told.stdout.toString().split(secret)).toHaveLength(2);
    expect(await run("exit 0", { secret })).toMatchObject({ exitCode: 0, ended: "exited" });
  });

  test.each([
    ["a missing program", { argv: ["/no/such/program"] }],
    ["a missing folder", { cwd: "/no/such/folder" }],
    ["a NUL in an argument", { argv: ["echo", "a\0b"] }],
  ])("%s is the failure spawn-failed", async (_, more) => {
    await expect(run("true", more)).rejects.toMatchObject({ code: "spawn-failed" });
  });

  test("a signal that ends the program is named", async () => {
    expect(await run("kill -TERM $$")).toMatchObject({ exitCode: null, signalName: "SIGTERM" });
  });
});

describe("limits", () => {
  test("head and tail stay and the gap says how much is left out", async () => {
    const result = await run("echo first; head -c 50000 /dev/zero | tr '\\0' x; echo; echo last", {
      outputLimit: 1_000,
    });
    expect(result).toMatchObject({ exitCode: 0, ended: "exited", outputLength: 50_012 });
    expect(result.stdout.length).toBeLessThan(1_100);
    expect(result.stdout.toString()).toMatch(/^first\nx+\n\[49012 bytes left out\]\nx+\nlast\n$/);
  });

  test("where too much is an error the program is ended and exactly the head is kept", async () => {
    const result = await run("yes", { outputLimit: 1_000, onExcess: "end" });
    expect(result.ended).toBe("output-limit");
    expect(result.stdout.length).toBe(1_000);
  });

  test("a deadline ends the whole group, a stubborn one by force", async () => {
    const script = "trap '' TERM; (trap '' TERM; echo $$; sleep 60) & sleep 60; sleep 60";
    const result = await run(script, { deadlineMs: 150, graceMs: 100 });
    expect(result).toMatchObject({ ended: "timeout", exitCode: null, signalName: "SIGKILL" });
  });

  test("a program may use its grace to end in order", async () => {
    const script = "trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.01; done";
    const cancel = new AbortController();
    const result = await run(script, { signal: cancel.signal, onOutput: () => cancel.abort() });
    expect(result).toMatchObject({ ended: "cancelled", exitCode: 7 });
    expect(result.stdout.toString()).toBe("up\nbye\n");
  });

  test("cancelled before the start, nothing is started", async () => {
    const file = join(temporaryFolder(), "started");
    const result = await run(`touch '${file}'`, { signal: AbortSignal.abort() });
    expect(result).toMatchObject({ ended: "cancelled", exitCode: null });
    expect(existsSync(file)).toBe(false);
  });
});

describe("nothing survives", () => {
  test.each([
    ["when the leader ends by itself", "sleep 60 & echo $!; exit 0", {}],
    [
      "when grandchildren ignore SIGTERM",
      "(trap '' TERM; sleep 60 & echo $!; wait)",
      {
        deadlineMs: 200,
        graceMs: 100,
      },
    ],
  ])("%s", async (_, script, more) => {
    const result = await run(script, more);
    const pid = Number(result.stdout.toString());
    expect(pid).toBeGreaterThan(1);
    // The signal is sent before the call returns; dying takes the system a moment.
    await vi.waitFor(() => expect(isAlive(pid)).toBe(false));
  });

  test("a process that left the group does not keep the call waiting, and endAll ends it", async () => {
    const result = await run("setsid sleep 60 & echo $!; sleep 0.1");
    const pid = Number(result.stdout.toString());
    expect(isAlive(pid)).toBe(true);
    await endAll([pid], 1_000);
    expect(isAlive(pid)).toBe(false);
  });
});
