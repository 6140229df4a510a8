// A checkout of a real repository with its mirror, as a turn finds it.

import {
  checkoutOf,
  createCheckout,
  type Checkout,
  type Origin,
} from "../../runners/repository/checkout.ts";
import { fetchMirror, openMirror } from "../../runners/repository/mirror.ts";
import {
  makeRepository,
  repositoryAt,
  temporaryFolder,
  type Files,
  type TestRepository,
} from "./repository.ts";

export interface TestCheckout {
  home: string;
  source: TestRepository;
  checkout: Checkout;
  origin: Origin;
  /** The agent's own repository in the checkout. */
  agent: TestRepository;
}

export async function makeCheckout(files: Files): Promise<TestCheckout> {
  const source = makeRepository(files);
  const home = temporaryFolder();
  const mirror = await openMirror({ home, repositoryId: "local/demo" });
  await fetchMirror(mirror, { source: source.path });
  const checkout = checkoutOf({ home, mandateId: "m-7k3f" });
  const base = source.git(["rev-parse", "HEAD"]);
  const origin = { mirror, base, branch: "holdfast/m-7k3f-demo" };
  await createCheckout(checkout, origin);
  return { home, source, checkout, origin, agent: repositoryAt(checkout.workTree) };
}
