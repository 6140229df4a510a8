// Commit and push of a mandate's work (spec 5.8, 6.4): one strict tree, one commit, one ref moved from a known value.
// The same input gives the same commit, so a repeat after a crash finds its own work on the remote and adopts it.

import { Failure } from "../../policies/failure.ts";
import { storeTree, type Untracked } from "../fingerprint.ts";
import { git, gitText } from "../git.ts";
import type { Checkout } from "./checkout.ts";
import { commitTree, headOf, treeOf, type Identity } from "./commit.ts";
import { resolve } from "./mirror.ts";
import { isLocal, reach, type TokenSource } from "./remote.ts";
import { incomplete } from "./saved-state.ts";

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
  /** What an earlier call was about to push; where the branch is there, that push is adopted. */
  intendedCommit?: string | null | undefined;
  /** Makes durable what is about to be pushed. */
  intend?: ((commit: string) => Promise<void>) | undefined;
  /** `commit` by default; otherwise only tracked files are published. */
  untracked?: Untracked | undefined;
  /** Names what policy does not let out; nothing is pushed unless it is empty. */
  refuse?: ((changes: readonly Change[]) => string[]) | undefined;
  signal?: AbortSignal | undefined;
}

export type Published =
  | { outcome: "published"; commit: string; files: string[]; remoteCommit: string | null }
  | { outcome: "empty" }
  | { outcome: "refused"; why: RefusedWhy; list: string[] };

type RefusedWhy = "remote-moved" | "files" | "checked-out" | "not-allowed";

const pushDeadlineMs = 10 * 60_000;
const forbidding = /hook declined|protect|prohibit|denied|declined|refus|not allowed|permission/i;
const wordsLimit = 300;
// Run by git on the target's side of a local push: its hooks are its owner's, and no work tree may be pulled away.
const quietReceiver =
  "git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.alternateRefsCommand=true " +
  "-c receive.autogc=false -c receive.denyCurrentBranch=refuse receive-pack";

/** Publishes the checkout as one commit on the branch. Throws Failure where the outcome is unknown: repeat it then. */
export async function publish(publication: Publication): Promise<Published> {
  const { checkout, untracked = "commit" } = publication;
  const { gitDir } = checkout;
  const found = await storeTree(checkout, { untracked });
  const left = found.events.filter((event) => incomplete.test(event));
  if (left.length > 0) return { outcome: "refused", why: "files", list: left };

  const tree = untracked === "commit" ? found.all : found.tracked;
  const current = await branchAt(publication);
  const { expectedOld, parents, since } = await lineOf(publication, current);
  const [parent] = parents;
  if ((await resolve(checkout, parent)) === null) return moved(current);
  const changes = await changesOf(gitDir, { parent: since, tree });
  const isSame = parents.length === 1 && (await treeOf(checkout, parent)) === tree;
  const files = changes.map(({ path }) => path);
  if (isSame && since === parent) return { outcome: "empty" };
  if (isSame) return { outcome: "published", commit: parent, files, remoteCommit: current };
  const refused = publication.refuse?.(changes) ?? [];
  if (refused.length > 0) return { outcome: "refused", why: "files", list: refused };

  const commit = await commitOf(publication, { parents, tree });
  if (current === commit) return { outcome: "published", commit, files, remoteCommit: current };
  if (current !== expectedOld) return moved(current);
  await publication.intend?.(commit);
  const refusal = await push(publication, { commit, expectedOld });
  if (refusal !== null) return refusal;
  const remoteCommit = await branchAt(publication);
  return { outcome: "published", commit, files, remoteCommit };
}

interface Line {
  /** Where the branch must be when it is moved. */
  readonly expectedOld: string | null;
  /** Of the new commit; two where the work was replayed onto a base that the branch does not have. */
  readonly parents: readonly [string, ...string[]];
  /** The commit against which the new files are counted. */
  readonly since: string;
}

/** What the new commit goes on from: a push of ours whose answer was lost counts like one that was told (6.4). */
async function lineOf(publication: Publication, current: string | null): Promise<Line> {
  const { checkout } = publication;
  const base = await headOf(checkout);
  const isOurs = current !== null && (await isIntended(publication, { current, base }));
  const expectedOld = isOurs ? current : publication.expectedOld;
  const parent = expectedOld ?? base;
  if (await isAncestor(checkout.gitDir, { base, commit: parent })) {
    return { expectedOld, parents: [parent], since: publication.expectedOld ?? base };
  }
  return { expectedOld, parents: [parent, base], since: base };
}

/** The commit that was to be pushed, or the one below it, which was an earlier lost push of the same kind. */
async function isIntended(
  { checkout, intendedCommit = null, expectedOld }: Publication,
  { current, base }: { current: string; base: string },
): Promise<boolean> {
  if (intendedCommit === null || current === expectedOld) return false;
  if (current === intendedCommit) return true;
  return current !== base && current === (await resolve(checkout, `${intendedCommit}^`));
}

/** True also where the commit is not known here, which is for the caller to see. */
async function isAncestor(
  gitDir: string,
  { base, commit }: { base: string; commit: string },
): Promise<boolean> {
  if (base === commit || (await resolve({ gitDir }, commit)) === null) return true;
  const between = ["rev-list", "--count", "--max-count=1", base, `^${commit}`];
  return (await gitText({ gitDir, args: between })) === "0";
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

/** Null once the branch is where it should be. */
async function push(
  publication: Publication,
  { commit, expectedOld }: { commit: string; expectedOld: string | null },
): Promise<Published | null> {
  const { checkout, target, token, branch } = publication;
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
    if (!(error instanceof Failure)) throw error;
    const refusal = refusalIn(error, branch);
    if (refusal !== null) return refusal;
    if (error.code !== "git-failed") throw error;
    const current = await branchAt(publication);
    if (current !== commit && current !== expectedOld) return moved(current);
    if (current !== commit) throw error;
  }
  return null;
}

/** What the server says for good; null for all that another try may mend. */
function refusalIn({ message }: Failure, branch: string): Published | null {
  if (/branch is currently checked out/.test(message)) {
    return { outcome: "refused", why: "checked-out", list: [branch] };
  }
  const reason = /! \[remote rejected\] [^\n]*\(([^\n]*)\)/.exec(message)?.[1] ?? "";
  if (!forbidding.test(reason) && !/error: 403/.test(message)) return null;
  const said = [...message.matchAll(/\bremote: (.*)$/gm)].map(([, words]) => words);
  const words = [...said, reason]
    .join(" ")
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
  const list = [words.slice(0, wordsLimit) || "403"];
  return { outcome: "refused", why: "not-allowed", list };
}

function moved(current: string | null): Published {
  return { outcome: "refused", why: "remote-moved", list: current === null ? [] : [current] };
}

async function commitOf(
  publication: Publication,
  made: { parents: readonly string[]; tree: string },
): Promise<string> {
  const trailers = publication.trailers.map((line) => line.replace(/\s+/g, " ").trim());
  const paragraphs = [publication.message.trim(), trailers.join("\n")].filter(
    (text) => text !== "",
  );
  return commitTree(publication.checkout, {
    tree: made.tree,
    parents: made.parents,
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
