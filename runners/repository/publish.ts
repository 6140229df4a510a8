// Commit and push of a mandate's work (spec 5.8, 6.4): one strict tree, one commit, one ref moved from a known value.
// The same input gives the same commit, so a repeat after a crash finds its own work on the remote and adopts it.

import { Failure } from "../../policies/failure.ts";
import { storeTree, type Untracked } from "../fingerprint.ts";
import { git, gitText } from "../git.ts";
import { commitTree, headOf, type Checkout, type Identity } from "./checkout.ts";
import { resolve } from "./mirror.ts";
import { isLocal, reach, type TokenSource } from "./remote.ts";

export interface Change {
  path: string;
  kind: "added" | "changed" | "deleted";
  /** Of the new content; 0 for a deletion or a submodule. */
  bytes: number;
}

export interface Publication {
  checkout: Checkout;
  /** An absolute path or an https URL. */
  target: string;
  token?: TokenSource | undefined;
  /** Without `refs/heads/`. */
  branch: string;
  message: string;
  /** Whole lines such as `Co-authored-by: A <a@b>`. */
  trailers: readonly string[];
  author: Identity;
  /** Where the branch was when the host last looked; null when it was not there. Becomes the commit's parent. */
  expectedOld: string | null;
  /** `commit` by default; otherwise only tracked files are published. */
  untracked?: Untracked | undefined;
  /** Names what policy does not let out; nothing is pushed unless it is empty. */
  refuse?: ((changes: readonly Change[]) => string[]) | undefined;
  signal?: AbortSignal | undefined;
}

export type Published =
  | { outcome: "published"; commit: string; files: string[] }
  | { outcome: "empty" }
  | { outcome: "refused"; why: "remote-moved" | "files" | "checked-out"; list: string[] };

const pushDeadlineMs = 10 * 60_000;
// What a scan can leave out; a commit without it would look like a deletion.
const incomplete = /^(?:unreadable|untracked-over-limit|untracked-unlisted|link-refused)/;
// Run by git on the target's side of a local push: its hooks are its owner's, and no work tree may be pulled away.
const quietReceiver =
  "git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.alternateRefsCommand=true " +
  "-c receive.autogc=false -c receive.denyCurrentBranch=refuse receive-pack";

/** Publishes the checkout as one commit on the branch. Throws Failure where the outcome is unknown: repeat it then. */
export async function publish(publication: Publication): Promise<Published> {
  const { checkout, expectedOld, untracked = "commit" } = publication;
  const found = await storeTree(checkout, { untracked });
  const left = found.events.filter((event) => incomplete.test(event));
  if (left.length > 0) return { outcome: "refused", why: "files", list: left };

  const parent = expectedOld ?? (await headOf(checkout));
  const current = await branchAt(publication);
  if ((await resolve(checkout, parent)) === null) return moved(current);
  const tree = untracked === "commit" ? found.all : found.tracked;
  const changes = await changesOf(checkout.gitDir, { parent, tree });
  if (changes.length === 0) return { outcome: "empty" };
  const refused = publication.refuse?.(changes) ?? [];
  if (refused.length > 0) return { outcome: "refused", why: "files", list: refused };

  const commit = await commitOf(publication, { parent, tree });
  const published: Published = {
    outcome: "published",
    commit,
    files: changes.map(({ path }) => path),
  };
  if (current === commit) return published;
  if (current !== expectedOld) return moved(current);
  return (await push(publication, commit)) ?? published;
}

/** Where the branch stands at the target now, or null. */
export async function branchAt(place: {
  target: string;
  token?: TokenSource | undefined;
  branch: string;
  signal?: AbortSignal | undefined;
}): Promise<string | null> {
  const ref = `refs/heads/${place.branch}`;
  const listing = await gitText({
    gitDir: "/nonexistent",
    args: ["ls-remote", "--quiet", "--", place.target, ref],
    ...(await reach({ source: place.target, token: place.token }, "read")),
    signal: place.signal,
  });
  const row = listing.split("\n").find((line) => line.endsWith(`\t${ref}`));
  return row?.slice(0, 40) ?? null;
}

async function push(publication: Publication, commit: string): Promise<Published | null> {
  const { checkout, target, token, branch, expectedOld } = publication;
  const ref = `refs/heads/${branch}`;
  const lease = `--force-with-lease=${ref}:${expectedOld ?? ""}`;
  const plain = ["--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-signed"];
  const receiver = isLocal(target) ? [`--receive-pack=${quietReceiver}`] : [];
  try {
    await git({
      ...(await reach({ source: target, token }, "write")),
      gitDir: checkout.gitDir,
      args: ["push", ...plain, ...receiver, lease, "--", target, `${commit}:${ref}`],
      deadlineMs: pushDeadlineMs,
      signal: publication.signal,
    });
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "git-failed") throw error;
    if (/branch is currently checked out/.test(error.message)) {
      return { outcome: "refused", why: "checked-out", list: [branch] };
    }
    const current = await branchAt(publication);
    if (current !== commit && current !== expectedOld) return moved(current);
    if (current !== commit) throw error;
  }
  return null;
}

function moved(current: string | null): Published {
  return { outcome: "refused", why: "remote-moved", list: current === null ? [] : [current] };
}

async function commitOf(
  publication: Publication,
  made: { parent: string; tree: string },
): Promise<string> {
  const trailers = publication.trailers.map((line) => line.replace(/\s+/g, " ").trim());
  const paragraphs = [publication.message.trim(), trailers.join("\n")].filter(
    (text) => text !== "",
  );
  return commitTree(publication.checkout.gitDir, {
    tree: made.tree,
    parents: [made.parent],
    message: `${paragraphs.join("\n\n")}\n`,
    author: publication.author,
    committer: publication.author,
  });
}

async function changesOf(
  gitDir: string,
  compared: { parent: string; tree: string },
): Promise<Change[]> {
  const args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev"];
  const trees = [`${compared.parent}^{tree}`, compared.tree];
  const fields = (await gitText({ gitDir, args: [...args, ...trees] })).split("\0");
  const rows: { oid: string; kind: Change["kind"]; path: string }[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [, , , oid = "", letter = ""] = (fields[at] ?? "").split(" ");
    rows.push({ oid, kind: kindOf(letter), path: fields[at + 1] ?? "" });
  }
  const input = Buffer.from(rows.map(({ oid }) => `${oid}\n`).join(""));
  const check = ["cat-file", "--batch-check=%(objectsize)"];
  const sizes = (await gitText({ gitDir, args: check, input })).split("\n");
  // A deletion and a submodule name no blob here: `missing` is no number.
  return rows.map(({ kind, path }, at) => ({ kind, path, bytes: Number(sizes[at]) || 0 }));
}

function kindOf(letter: string): Change["kind"] {
  if (letter === "A") return "added";
  return letter === "D" ? "deleted" : "changed";
}
