// The git program (spec 5.1): found, new enough, and its complaints told apart without telling secrets.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { git, gitVersion, requireGit } from "../../runners/git.ts";
import { makeRepository, temporaryFolder } from "../fakes/repository.ts";

afterEach(() => vi.unstubAllEnvs());

/** Another program of that name, first in the path. */
function plantGit(script: string): void {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "git"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  vi.stubEnv("PATH", `${folder}:/usr/bin:/bin`);
}

test("the installed git is new enough", async () => {
  expect(await requireGit()).toBe(await gitVersion());
});

test.each([
  ["2.39.4", false],
  ["2.9.10", false],
  ["2.39.5", true],
  ["2.40", true],
  ["2.55.0.windows.1", true],
  ["10.0.0", true],
])("version %s is enough: %s", async (version, isEnough) => {
  plantGit(`echo git version ${version}`);
  if (isEnough) await expect(requireGit()).resolves.toMatch(/^\d/);
  else await expect(requireGit()).rejects.toMatchObject({ code: "git-too-old", retry: "never" });
});

test("without git the failure says so", async () => {
  vi.stubEnv("PATH", temporaryFolder());
  await expect(requireGit()).rejects.toMatchObject({ code: "spawn-failed" });
});

describe("failures", () => {
  test.each([
    ["fatal: write error: No space left on device", "disk-full"],
    ["error: unable to create file a: Disk quota exceeded", "disk-full"],
    ["fatal: cannot create directory at 'a': Read-only file system", "read-only"],
    ["fatal: bad object", "git-failed"],
  ])("%s is %s", async (complaint, code) => {
    plantGit(`echo "${complaint}" >&2; exit 128`);
    await expect(git({ gitDir: "/g", args: ["gc"] })).rejects.toMatchObject({
      code,
      message: `git gc ended with 128: ${complaint}`,
    });
  });

  test("an address with a password is shown without", async () => {
    plantGit("echo 'fatal: unable to access https://me:ghs_secret@example.org/x.git' >&2; exit 1");
    const failing = git({ gitDir: "/g", args: ["fetch"] });
    await expect(failing).rejects.toThrow("access https://***@example.org/x.git");
  });

  test("a deadline, a cancelled call and too much output have their own codes", async () => {
    plantGit("yes");
    const endless = { gitDir: "/g", args: ["log"] };
    await expect(git({ ...endless, outputLimit: 10 })).rejects.toMatchObject({
      code: "output-limit",
    });
    const cut = await git({ ...endless, outputLimit: 3, onExcess: "cut" });
    expect(cut.toString()).toBe("y\ny");
    const signal = AbortSignal.abort();
    await expect(git({ ...endless, signal })).rejects.toMatchObject({ code: "cancelled" });
    plantGit("exec sleep 60");
    await expect(git({ ...endless, deadlineMs: 50 })).rejects.toMatchObject({
      code: "git-timeout",
    });
  });
});

test("a setting of one call does not last", async () => {
  const gitDir = join(makeRepository({ a: "a" }).path, ".git");
  const args = ["config", "--default", "none", "--get", "x.y"];
  expect((await git({ gitDir, args, settings: ["x.y=here"] })).toString()).toBe("here\n");
  expect((await git({ gitDir, args })).toString()).toBe("none\n");
});
