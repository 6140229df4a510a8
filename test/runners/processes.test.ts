// Survivors in a checkout (spec 2.1): ours by their marker, strangers by their folder, and only ours are ended.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { checkoutMarker } from "../../runners/environment.ts";
import { endAllLeftovers, endProcesses, processesOf } from "../../runners/processes.ts";
import { temporaryFolder } from "../fakes/repository.ts";

function sleepIn(cwd: string, env: Record<string, string>): number {
  const child = spawn("/bin/sleep", ["60"], { cwd, env, detached: true, stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child.pid ?? 0;
}

test.skipIf(!existsSync("/proc/self"))("they are told apart, and ended", async () => {
  const home = temporaryFolder();
  const checkout = { workTree: join(home, "work/m-7k3f") };
  mkdirSync(join(checkout.workTree, "deep"), { recursive: true });
  mkdirSync(`${checkout.workTree}-other`);
  const marked = { [checkoutMarker]: checkout.workTree };
  const inside = sleepIn(join(checkout.workTree, "deep"), marked);
  const elsewhere = sleepIn("/", marked);
  const stranger = sleepIn(checkout.workTree, { [checkoutMarker]: `${checkout.workTree}2` });
  const beside = { [checkoutMarker]: "/elsewhere/work/m-7k3f" };
  const otherHome = sleepIn("/", beside);
  sleepIn(`${checkout.workTree}-other`, {});

  // A process carries its own environment only once it has become the new program.
  await vi.waitFor(async () => {
    const { isKnown, ours, foreign } = await processesOf(checkout);
    expect(isKnown).toBe(true);
    expect(new Set(ours)).toEqual(new Set([inside, elsewhere]));
    expect(foreign).toEqual([stranger]);
  });

  await endProcesses([inside, elsewhere, 0, 1, -1, process.pid]);
  expect(await processesOf(checkout)).toEqual({ isKnown: true, ours: [], foreign: [stranger] });

  await endAllLeftovers(join(home, "work"));
  expect(await processesOf(checkout)).toEqual({ isKnown: true, ours: [], foreign: [] });
  expect(await processesOf({ workTree: "/elsewhere/work/m-7k3f" })).toMatchObject({
    ours: [otherHome],
  });
});
