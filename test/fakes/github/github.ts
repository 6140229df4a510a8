// A GitHub for tests (spec 8.4): stateful, over HTTP, with real Git, held to GitHub's published description. People act
// on it through the functions of acts/, each of which takes `github.world` first; the App talks to `github.url`.
// Holds no expectation of a test.

import { editComment } from "./acts/conversations.ts";
import { editInlineComment, editReview } from "./acts/pulls.ts";
import { openTokens, type Token } from "./auth.ts";
import { openFaults, type Fault, type SeenRequest } from "./faults.ts";
import { listen, type Site } from "./server.ts";
import { openWebhooks, type Attempt, type Hook, type WebhookFault } from "./webhooks.ts";
import {
  createWorld,
  removeWorld,
  type AppOptions,
  type Created,
  type Event,
  type Text,
  type World,
} from "./world.ts";

/*
 * How it is used:
 *
 *   const github = await startGitHub({ hook: { url, secret } });    // close() throws when anything broke the description
 *   const { world } = github;
 *   const ada = createAccount(world, "ada");                        // acts/accounts.ts
 *   const org = createAccount(world, "org", "Organization");
 *   const door = createRepository(world, { owner: org, name: "door", files: { "README.md": "hi\n" } });
 *   allow(door, ada, "write");                                      // read triage write maintain admin, custom, null
 *   const installation = install(world, { account: org, repositories: [door] });
 *   const issue = openIssue(world, { repository: door, by: ada, title, body });
 *   const asked = comment(world, { issue, by: ada, body: "@holdfast do it" });
 *   await github.settled();
 *
 * acts/accounts.ts: createAccount(world, login, type?) createApp(world, slug) install(world, { account, repositories?,
 *   permissions? }) uninstall suspend unsuspend acceptPermissions addToInstallation removeFromInstallation
 * acts/repositories.ts: createRepository fork(world, parent, owner) pushTo(world, { repository, by, branch, files?,
 *   message?, from? }) pushTag deleteBranch protectBranch(repository, branch) allow(repository, account, role)
 *   renameRepository transferRepository archiveRepository deleteRepository
 * acts/conversations.ts: openIssue editIssue closeIssue reopenIssue lockIssue unlockIssue deleteIssue transferIssue
 *   comment editComment(world, comment, { by, body }) deleteComment react
 * acts/pulls.ts: openPull(world, { repository, by, head, from?, base?, title?, body?, isDraft? }) setDraft mergePull
 *   review editReview inlineComment editInlineComment deleteInlineComment
 * acts/checks.ts: checkRun(world, { repository, app, commit, name, status?, conclusion? }) completeCheckRun setStatus
 *   completeWorkflowRun setDeploymentStatus dispatch
 * acts/releases.ts: createRelease(world, { repository, by, tag, name?, body?, isPrerelease?, isDraft? }) publishRelease
 *   editRelease publishPackageVersion(world, { repository, by, name, version, type? })
 *
 * `world.app` has id, slug and bot; `world.privateKey` is its PEM; `world.customRoles` maps a role's name to a built-in
 * one. Rows (world.comments, world.issues, ...) may be read at any time; only acts/ change them.
 */
export interface GitHub {
  /** Base of the API, `http://127.0.0.1:port/api/v3`; Git is at `${origin}/owner/name.git`. */
  readonly url: string;
  readonly origin: string;
  /** For `GHE_HOST`, with `GHE_PROTOCOL=http`. */
  readonly host: string;
  readonly world: World;
  /** Every request, with the credential it came with. */
  readonly requests: readonly SeenRequest[];
  /** Everything that came to be, by people and by the App, in order. */
  readonly created: readonly Created[];
  /** What did not fit the description; `close` throws when it is not empty. */
  readonly violations: string[];
  /** Every token that was minted, revoked ones too. */
  readonly tokens: readonly Token[];
  /** Every attempt at a delivery, with its HTTP result. */
  readonly deliveries: readonly Attempt[];
  /** Every event, whether it was told or not. */
  readonly events: readonly Event[];
  setHook(hook: Hook | null): void;
  /** Tokens of the format `ghs_<appid>_<JWT>` from now on. */
  makeLongTokens(isLong: boolean): void;
  revokeTokens(): void;
  fault(fault: Fault): void;
  webhookFault(fault: WebhookFault): void;
  clearFaults(): void;
  /** Sends the deliveries that the fault `delay` holds. */
  releaseDeliveries(): void;
  /** Asks for a delivery again, as the button on GitHub's page does; null when there is none. */
  redeliver(id: number): Attempt | null;
  /** Moves the clock; tokens end by it. */
  advance(ms: number): void;
  settled(): Promise<void>;
  close(): Promise<void>;
}

export interface GitHubOptions {
  readonly app?: AppOptions;
  readonly hook?: Hook;
}

export async function startGitHub(options: GitHubOptions = {}): Promise<GitHub> {
  const made = createWorld(options.app ?? {});
  const webhooks = openWebhooks(made, (text, body) => editText(world, text, body));
  const world: World = Object.assign(made, { tell: (event: Event) => webhooks.tell(event) });
  webhooks.hook = options.hook ?? null;
  const tokens = openTokens(world);
  const faults = openFaults();
  const site: Site = { world, tokens, webhooks, faults, requests: [], violations: [] };
  const server = await listen(site);
  return {
    url: `${world.origin}/api/v3`,
    origin: world.origin,
    host: new URL(world.origin).host,
    world,
    requests: site.requests,
    created: world.created,
    violations: site.violations,
    tokens: tokens.minted,
    deliveries: webhooks.attempts,
    events: webhooks.events,
    setHook: (hook) => {
      webhooks.hook = hook;
    },
    makeLongTokens: (isLong) => {
      tokens.isLong = isLong;
    },
    revokeTokens: () => {
      for (const token of tokens.minted) token.isRevoked = true;
    },
    fault: (fault) => faults.add(fault),
    webhookFault: (fault) => webhooks.fault(fault),
    clearFaults: () => {
      faults.clear();
      webhooks.clearFaults();
    },
    releaseDeliveries: () => webhooks.release(),
    redeliver: (id) => webhooks.redeliver(id),
    advance: (ms) => world.advance(ms),
    settled: () => webhooks.settled(),
    close: async () => {
      webhooks.hook = null;
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await webhooks.settled();
      removeWorld(world);
      if (site.violations.length > 0) throw new Error(site.violations.join("\n"));
    },
  };
}

/** By somebody who may write there, on the way of the event that speaks of it. */
function editText(world: World, text: Text, body: string): void {
  const by = text.author;
  const comment = world.comments.find((one) => one === text);
  const review = world.reviews.find((one) => one === text);
  const inline = world.inlineComments.find((one) => one === text);
  if (comment !== undefined) editComment(world, comment, { by, body });
  if (review !== undefined) editReview(world, review, { by, body });
  if (inline !== undefined) editInlineComment(world, inline, { by, body });
}
