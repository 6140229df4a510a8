// Publishes a mandate's work (spec 5.8): what policy lets out, as one commit with its co-author, on its own branch.

import { matchesGlob } from "node:path";
import { Failure } from "../../policies/failure.ts";
import type { PublishOutcome, PublishRequest, WorkPlace } from "../runner.ts";
import { checkoutOf, ensureCheckout, retireCheckout, type Checkout } from "./checkout.ts";
import { fetchMirror, openMirror, resolve, type Mirror } from "./mirror.ts";
import { publish, type Change, type Published } from "./publish.ts";
import { readState } from "./saved-state.ts";

// What runs with the forge's own rights; a link or a file in place of the folders could bring others in.
const workflows = /^\.(?:github|forgejo|gitea)(?:$|\/workflows(?:$|\/))/i;
const bot = { name: "Holdfast", email: "holdfast@localhost" };

/** Safe to repeat; throws Failure where the outcome is not known, and `checkout-lost` where its work is nowhere here. */
export async function publishWork(
  place: WorkPlace,
  request: PublishRequest,
): Promise<PublishOutcome> {
  const { repository, baseCommit, mandateId, coAuthor } = request;
  const checkout = checkoutOf({ home: place.home, mandateId });
  const mirror = await openMirror({ home: place.home, repositoryId: repository.id });
  const how = await ensureCheckout(checkout, { mirror, base: baseCommit });
  const state = await readState(checkout);
  // Every turn saves its state: without one the checkout is a fresh one, and to publish it would call its work empty.
  if (state === null || (how === "restored" && !state.isComplete)) {
    await retireCheckout(checkout, { keepState: true });
    const message = `neither the checkout nor a whole saved state of ${mandateId} is left`;
    throw new Failure("checkout-lost", "never", { message });
  }
  await fetchUnknown(mirror, { checkout, request });
  const published = await publish({
    checkout,
    target: repository.source,
    token: repository.token,
    branch: request.branch,
    message: `${request.title}\n\n${request.body}`.trim(),
    trailers: [
      ...(coAuthor === null ? [] : [`Co-authored-by: ${coAuthor.name} <${coAuthor.email}>`]),
      `Holdfast-Mandate: ${mandateId}`,
    ],
    author: { ...(request.author ?? bot), at: request.at },
    expectedOld: request.publishedCommit,
    intendedCommit: request.intendedCommit,
    intend: request.intend,
    untracked: request.untracked,
    refuse: (changes) => refusedFiles(changes, request),
  });
  return outcomeOf(published);
}

function outcomeOf(published: Published): PublishOutcome {
  switch (published.outcome) {
    case "published": {
      const { commit, files, remoteCommit } = published;
      return { kind: "published", commit, files, remoteCommit };
    }
    case "empty":
      return { kind: "empty" };
    case "refused": {
      const why = published.why === "checked-out" ? "remote-moved" : published.why;
      return { kind: "refused", why, files: published.list };
    }
  }
}

/** What an earlier publish left at the branch is unknown here when it was made by a checkout that is gone. */
async function fetchUnknown(
  mirror: Mirror,
  { checkout, request }: { checkout: Checkout; request: PublishRequest },
): Promise<void> {
  for (const commit of [request.publishedCommit, request.intendedCommit ?? null]) {
    if (commit === null || (await resolve(checkout, commit)) !== null) continue;
    await fetchMirror(mirror, request.repository);
    return;
  }
}

/** Workflows, outside `publish.paths`, or beyond the limits of count and size: named, and nothing is pushed. */
function refusedFiles(changes: readonly Change[], request: PublishRequest): string[] {
  const outside = changes.filter(
    ({ path }) => workflows.test(path) || !request.paths.some((pattern) => isWithin(path, pattern)),
  );
  const large = changes.filter(({ bytes }) => bytes > request.bytesLimit);
  const names = [...new Set([...outside, ...large])].map(({ path }) => path);
  if (changes.length <= request.filesLimit) return names;
  return [`${changes.length} files, at most ${request.filesLimit} are allowed`, ...names];
}

/** `**` means every file, also those whose names begin with a dot, which the glob would leave out. */
function isWithin(path: string, pattern: string): boolean {
  const [shownPath, shownPattern] = [path, pattern].map((text) =>
    text.replace(/(?<=^|[/{,(|])\./g, "\u{e000}."),
  );
  return matchesGlob(shownPath ?? "", shownPattern ?? "");
}
