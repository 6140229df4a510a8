// Publishes a mandate's work (spec 5.8): what policy lets out, as one commit with its co-author, on its own branch.

import { matchesGlob } from "node:path";
import { Failure } from "../../policies/failure.ts";
import type { PublishOutcome, PublishRequest, WorkPlace } from "../runner.ts";
import { checkoutOf, ensureCheckout } from "./checkout.ts";
import { openMirror, resolve } from "./mirror.ts";
import { publish, type Change } from "./publish.ts";

const bot = { name: "Holdfast", email: "holdfast@localhost" };

/** Safe to repeat; throws Failure where the outcome is not known, and `checkout-lost` where its work is nowhere here. */
export async function publishWork(
  place: WorkPlace,
  request: PublishRequest,
): Promise<PublishOutcome> {
  const { repository, baseCommit, mandateId, coAuthor } = request;
  const checkout = checkoutOf({ home: place.home, mandateId });
  const mirror = await openMirror({ home: place.home, repositoryId: repository.id });
  await ensureCheckout(checkout, { mirror, base: baseCommit });
  // Every turn saves its state: without one the checkout is a fresh one, and to publish it would call its work empty.
  if ((await resolve(checkout, checkout.stateRef)) === null) {
    const message = `neither the checkout nor a saved state of ${mandateId} is left`;
    throw new Failure("checkout-lost", "never", { message });
  }
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
    author: { ...bot, at: request.at },
    expectedOld: request.publishedCommit,
    untracked: request.untracked,
    refuse: (changes) => refusedFiles(changes, request),
  });
  switch (published.outcome) {
    case "published":
      return { kind: "published", commit: published.commit, files: published.files };
    case "empty":
      return { kind: "empty" };
    case "refused":
      return {
        kind: "refused",
        why: published.why === "files" ? "files" : "remote-moved",
        files: published.list,
      };
  }
}

/** Outside `publish.paths`, or beyond the limits of count and size: named, and nothing is pushed. */
function refusedFiles(changes: readonly Change[], request: PublishRequest): string[] {
  const outside = changes.filter(
    ({ path }) => !request.paths.some((pattern) => matchesGlob(path, pattern)),
  );
  const large = changes.filter(({ bytes }) => bytes > request.bytesLimit);
  const names = [...new Set([...outside, ...large])].map(({ path }) => path);
  if (changes.length <= request.filesLimit) return names;
  return [`${changes.length} files, at most ${request.filesLimit} are allowed`, ...names];
}
