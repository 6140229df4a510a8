// Booby traps (spec 5.1): a checkout armed with everything git can be made to run, and every call of the host on it.
// Each trap writes its name to a file; after our calls the file must not exist, after a naive call it must.

import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fingerprint, storeTree } from "../../runners/fingerprint.ts";
import {
  ensureCheckout,
  refreshAgentRefs,
  retireCheckout,
} from "../../runners/repository/checkout.ts";
import {
  diffAt,
  fetchMirror,
  listTags,
  pin,
  readFileAt,
  resolve,
} from "../../runners/repository/mirror.ts";
import { publish } from "../../runners/repository/publish.ts";
import { saveState } from "../../runners/repository/saved-state.ts";
import { makeCheckout, type TestCheckout } from "../fakes/checkout.ts";
import { repositoryAt, writeFiles } from "../fakes/repository.ts";

const hookNames = [
  "applypatch-msg",
  "commit-msg",
  "fsmonitor-watchman",
  "post-checkout",
  "post-commit",
  "post-index-change",
  "post-rewrite",
  "post-update",
  "pre-auto-gc",
  "pre-commit",
  "pre-push",
  "pre-receive",
  "prepare-commit-msg",
  "reference-transaction",
  "update",
];

interface Armed extends TestCheckout {
  marker: string;
}

/** Puts a script for every key that runs one into a git dir, and hooks of every name beside it. */
function arm(gitDir: string, made: { home: string; marker: string }): void {
  function trap(name: string): string {
    const path = join(made.home, "traps", name);
    writeFiles(made.home, { [`traps/${name}`]: `#!/bin/sh\necho ${name} >> "${made.marker}"\n` });
    chmodSync(path, 0o755);
    return `"${path}"`;
  }
  for (const name of hookNames) {
    mkdirSync(join(gitDir, "hooks"), { recursive: true });
    const call = `#!/bin/sh\nexec ${trap(`hook-${name}`)}\n`;
    writeFileSync(join(gitDir, "hooks", name), call, { mode: 0o755 });
  }
  const settings: Record<string, string> = {
    "core.fsmonitor": trap("fsmonitor"),
    "core.sshCommand": trap("ssh"),
    "core.gitProxy": trap("proxy"),
    "core.askPass": trap("askpass"),
    "core.pager": trap("pager"),
    "core.editor": trap("editor"),
    "core.alternateRefsCommand": trap("alternate-refs"),
    "diff.external": trap("external-diff"),
    "diff.trap.command": trap("diff-command"),
    "diff.trap.textconv": trap("textconv"),
    "filter.trap.clean": trap("clean"),
    "filter.trap.smudge": trap("smudge"),
    "filter.trap.required": "true",
    "filter.lfs.process": trap("lfs"),
    "merge.trap.driver": trap("merge"),
    "gpg.program": trap("gpg"),
    "commit.gpgSign": "true",
    "log.showSignature": "true",
    "credential.helper": `!${trap("credential")}`,
    "tar.tar.gz.command": trap("tar"),
    "uploadpack.packObjectsHook": trap("pack-objects"),
    "remote.origin.url": "ssh://example.invalid/x",
    "remote.origin.promisor": "true",
    "remote.origin.uploadpack": trap("uploadpack"),
    "remote.origin.receivepack": trap("receivepack"),
    "protocol.ext.allow": "always",
    "protocol.file.allow": "always",
    "extensions.partialClone": "origin",
    "core.repositoryFormatVersion": "1",
    "submodule.sub.update": `!${trap("submodule")}`,
    "trailer.sign.command": trap("trailer"),
    "alias.status": `!${trap("alias")}`,
  };
  const lines = Object.entries(settings).map(([key, value]) => {
    const section = key.slice(0, key.indexOf("."));
    const name = key.slice(key.lastIndexOf(".") + 1);
    const middle = key.slice(section.length + 1, -name.length - 1);
    const heading = middle === "" ? section : `${section} "${middle}"`;
    return `[${heading}]\n\t${name} = ${JSON.stringify(value)}\n`;
  });
  appendFileSync(join(gitDir, "config"), lines.join(""));
  writeFiles(gitDir, { "info/attributes": "* filter=trap diff=trap merge=trap ident\n" });
}

async function makeArmed(): Promise<Armed> {
  const made = await makeCheckout({
    "a.txt": "a\n",
    "b.bin": "b\n",
    ".gitmodules": '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n',
  });
  const armed = { ...made, marker: join(made.home, "fired") };
  const { workTree } = made.checkout;
  for (const name of ["sub", "clone"]) {
    mkdirSync(join(workTree, name));
    const inner = repositoryAt(join(workTree, name));
    inner.git(["init", "--quiet", "--initial-branch=main", "--template="]);
    inner.commit({ "inner.txt": "inner" });
    writeFiles(inner.path, { "inner.txt": "dirty", ".gitattributes": "* filter=trap\n" });
  }
  made.agent.git(["-c", "advice.addEmbeddedRepo=false", "add", "sub"]);
  for (const name of ["", "sub/", "clone/"]) arm(join(workTree, name, ".git"), armed);
  writeFiles(workTree, {
    ".gitattributes": "* filter=trap diff=trap merge=trap text=auto ident\n*.bin filter=lfs\n",
    "a.txt": "edited\n",
    "b.bin": "edited\n",
    "new.txt": "new\n",
  });
  return armed;
}

function fired({ marker }: Armed): string {
  const names = existsSync(marker) ? readFileSync(marker, "utf8") : "";
  rmSync(marker, { force: true });
  return names;
}

async function publishArmed({ checkout, source }: Armed): Promise<void> {
  const published = await publish({
    checkout,
    target: source.path,
    branch: "holdfast/m-7k3f",
    message: "Work",
    trailers: [],
    author: { name: "bot", email: "bot@example.org", at: 0 },
    expectedOld: null,
  });
  expect(published.outcome).toBe("published");
}

const hostCalls: Record<string, (armed: Armed) => Promise<unknown>> = {
  "a fingerprint": ({ checkout }) => fingerprint(checkout, { untracked: "count" }),
  "a fingerprint of tracked files": ({ checkout }) =>
    fingerprint(checkout, { untracked: "ignore" }),
  "a stored tree": ({ checkout }) => storeTree(checkout, { untracked: "commit" }),
  "a saved state": ({ checkout }) => saveState(checkout),
  "entering it again": ({ checkout, origin }) => ensureCheckout(checkout, origin),
  "refreshed refs": ({ checkout, origin }) => refreshAgentRefs(checkout, origin),
  "a fetch": ({ origin, source }) => fetchMirror(origin.mirror, { source: source.path }),
  "a pin": ({ origin }) => pin(origin.mirror, "m-7k3f", origin.base),
  "reading the mirror": async ({ origin: { mirror, base } }) => {
    await resolve(mirror, "main");
    await listTags(mirror);
    await readFileAt(mirror, { commit: base, path: "a.txt", limitBytes: 100 });
  },
  "a diff of the saved state": async ({ checkout, origin }) => {
    const { commit } = await saveState(checkout);
    const patch = await diffAt(checkout, { base: origin.base, head: commit, limitBytes: 100_000 });
    expect(patch).toContain("+edited");
  },
  "restoring it": async ({ checkout, origin }) => {
    await saveState(checkout);
    await retireCheckout(checkout, { keepState: true });
    expect(await ensureCheckout(checkout, origin)).toBe("restored");
  },
  publishing: publishArmed,
  "retiring it": async ({ checkout }) => (await retireCheckout(checkout)).deleted,
};

describe("nothing in a checkout is run by the host", () => {
  test.each(Object.entries(hostCalls))("%s", async (_, call) => {
    const armed = await makeArmed();
    fired(armed);
    await call(armed);
    expect(fired(armed)).toBe("");
  });

  test("a source that is armed itself is fetched and published to without a shot", async () => {
    const made = await makeArmed();
    arm(join(made.source.path, ".git"), made);
    made.source.git(["config", "--unset-all", "remote.origin.promisor"]);
    made.source.git(["config", "--unset-all", "extensions.partialClone"]);
    fired(made);
    await fetchMirror(made.origin.mirror, { source: made.source.path });
    await publishArmed(made);
    expect(fired(made)).toBe("");
  });

  test("a promised object that is missing is not fetched", async () => {
    const armed = await makeArmed();
    fired(armed);
    expect(await resolve(armed.checkout, "4".repeat(40))).toBeNull();
    expect(fired(armed)).toBe("");
  });
});

describe("the traps are armed: a naive call fires", () => {
  const naive: [string, string[]][] = [
    ["fsmonitor", ["status"]],
    ["clean", ["add", "--all"]],
    ["hook-", ["update-ref", "refs/heads/x", "HEAD"]],
    ["diff-command", ["diff"]],
    ["smudge", ["checkout", "--force", "HEAD", "--", "a.txt"]],
    ["ssh", ["cat-file", "-p", "4".repeat(40)]],
  ];
  test.each(naive)("%s", async (name, args) => {
    const armed = await makeArmed();
    fired(armed);
    try {
      execFileSync("git", args, { cwd: armed.checkout.workTree, stdio: "ignore" });
    } catch {
      // A trap that fired may well have broken the command.
    }
    expect(fired(armed)).toContain(name);
  });
});
