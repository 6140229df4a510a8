// What exists on the fake GitHub (spec 8.4): rows as GitHub would keep them, with numeric ids, and its clock.
// Holds no rule and answers nobody: acts/ change it, shapes/ print it, routes/ serve it.

import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BareRepository } from "./bare-repository.ts";

export interface Account {
  readonly id: number;
  login: string;
  readonly type: "User" | "Organization" | "Bot";
}

export type Permissions = Readonly<Record<string, "read" | "write" | "admin">>;

export interface App {
  readonly id: number;
  readonly slug: string;
  readonly name: string;
  readonly clientId: string;
  readonly owner: Account;
  /** The account that the App writes as, `slug[bot]`. */
  readonly bot: Account;
  permissions: Permissions;
  events: readonly string[];
}

export type BaseRole = "read" | "triage" | "write" | "maintain" | "admin";

export interface Repository {
  readonly id: number;
  owner: Account;
  name: string;
  readonly git: BareRepository;
  readonly parent: Repository | null;
  readonly isPrivate: boolean;
  isArchived: boolean;
  isDeleted: boolean;
  readonly defaultBranch: string;
  /** Role names by account id; owners who are people are admins without being here. */
  readonly roles: Map<number, string>;
  readonly protectedBranches: Set<string>;
  /** `owner/name` under which it was known before; they lead here until somebody takes them. */
  readonly formerNames: Set<string>;
  lastNumber: number;
  readonly createdAt: number;
  updatedAt: number;
  pushedAt: number;
}

export interface Issue {
  readonly id: number;
  repository: Repository;
  number: number;
  title: string;
  body: string;
  readonly author: Account;
  readonly app: App | null;
  state: "open" | "closed";
  isLocked: boolean;
  isDeleted: boolean;
  readonly createdAt: number;
  updatedAt: number;
  closedAt: number | null;
  closedBy: Account | null;
  readonly pull: Pull | null;
}

export interface Pull {
  readonly id: number;
  headRepository: Repository | null;
  readonly headRef: string;
  headSha: string;
  readonly headOwner: Account;
  baseRef: string;
  baseSha: string;
  isDraft: boolean;
  mergedAt: number | null;
  mergedBy: Account | null;
  mergeCommit: string | null;
}

export interface PullIssue extends Issue {
  readonly pull: Pull;
}

/** Who wrote a text, through which App if any. */
export interface Text {
  readonly id: number;
  readonly issue: Issue;
  readonly author: Account;
  readonly app: App | null;
  body: string;
  readonly createdAt: number;
  updatedAt: number;
  isDeleted: boolean;
}

export type Comment = Text;

export interface Review extends Text {
  readonly state: "APPROVED" | "CHANGES_REQUESTED" | "COMMENTED" | "DISMISSED" | "PENDING";
  readonly commit: string;
}

export interface InlineComment extends Text {
  readonly review: Review;
  readonly path: string;
  readonly line: number;
  readonly commit: string;
  readonly inReplyTo: number | null;
}

export const reactionContents = [
  "+1",
  "-1",
  "laugh",
  "confused",
  "heart",
  "hooray",
  "rocket",
  "eyes",
] as const;

export interface Reaction {
  readonly id: number;
  /** Of an issue, a comment or a comment on a line. */
  readonly subject: Issue | Text;
  readonly by: Account;
  readonly content: string;
  readonly createdAt: number;
}

export interface CheckRun {
  readonly id: number;
  readonly repository: Repository;
  readonly app: App;
  readonly commit: string;
  name: string;
  status: "queued" | "in_progress" | "completed";
  conclusion: string | null;
  externalId: string;
  detailsUrl: string | null;
  output: { title: string | null; summary: string | null; text: string | null };
  annotationCount: number;
  startedAt: number;
  completedAt: number | null;
}

export interface Status {
  readonly id: number;
  readonly repository: Repository;
  readonly commit: string;
  readonly context: string;
  readonly state: "pending" | "success" | "failure" | "error";
  readonly description: string;
  readonly by: Account;
  readonly createdAt: number;
}

export interface Release {
  readonly id: number;
  readonly repository: Repository;
  readonly by: Account;
  readonly tag: string;
  name: string;
  body: string;
  isDraft: boolean;
  isPrerelease: boolean;
  readonly createdAt: number;
  publishedAt: number | null;
}

export interface PackageVersion {
  readonly id: number;
  readonly repository: Repository;
  readonly by: Account;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly createdAt: number;
}

export interface Installation {
  readonly id: number;
  readonly account: Account;
  /** Null stands for all repositories of the account. */
  repositories: Set<Repository> | null;
  permissions: Permissions;
  isSuspended: boolean;
  isGone: boolean;
  readonly createdAt: number;
}

/** Something that came to be, in order: for "never doubled, never lost". */
export interface Created {
  readonly kind: "issue" | "pull" | "comment" | "review" | "inline-comment" | "reaction" | "check";
  readonly id: number;
  readonly by: Account;
  readonly repository: Repository;
  /** Of the conversation; null for a check run. */
  readonly number: number | null;
  readonly body: string;
  readonly at: number;
}

export interface World {
  readonly folder: string;
  /** `http://127.0.0.1:port`, set when the server listens. */
  origin: string;
  readonly app: App;
  readonly privateKey: string;
  readonly publicKey: string;
  readonly apps: App[];
  readonly accounts: Account[];
  /** Roles of organisations beside GitHub's own, by name. */
  readonly customRoles: Map<string, BaseRole>;
  readonly repositories: Repository[];
  readonly installations: Installation[];
  readonly issues: Issue[];
  readonly comments: Comment[];
  readonly reviews: Review[];
  readonly inlineComments: InlineComment[];
  readonly reactions: Reaction[];
  readonly checkRuns: CheckRun[];
  readonly statuses: Status[];
  readonly releases: Release[];
  readonly packages: PackageVersion[];
  readonly created: Created[];
  /** Epoch ms. */
  now(): number;
  advance(ms: number): void;
  nextId(): number;
  /** Hands an event over to the webhooks. */
  tell(event: Event): void;
}

/** Something that GitHub tells the App about. */
export interface Event {
  readonly name: string;
  readonly action: string | null;
  readonly sender: Account;
  /** Null for what is about an installation. */
  readonly repository: Repository | null;
  /** Given where the repository does not decide it, or no longer does. */
  readonly installation?: Installation;
  /** What the payload has beside action, sender, repository and installation. */
  readonly parts: Readonly<Record<string, unknown>>;
  /** Which text it speaks of, for the fault that edits it on the way. */
  readonly text?: Text;
}

export interface AppOptions {
  readonly id?: number;
  readonly slug?: string;
  readonly permissions?: Permissions;
  readonly events?: readonly string[];
}

/** What app.yml asks for. */
const permissions: Permissions = {
  metadata: "read",
  issues: "write",
  pull_requests: "write",
  checks: "write",
  statuses: "read",
  actions: "read",
  contents: "write",
  packages: "read",
  deployments: "read",
};

const events = [
  "issues",
  "issue_comment",
  "pull_request",
  "pull_request_review",
  "pull_request_review_comment",
  "check_run",
  "check_suite",
  "status",
  "workflow_run",
  "release",
  "registry_package",
  "deployment_status",
  "push",
  "create",
  "repository_dispatch",
  "repository",
];

/** One pair for all worlds of a process, as making one takes long. */
const { privateKey, publicKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  privateKeyEncoding: { type: "pkcs1", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
});

export function createWorld(options: AppOptions): World {
  let lastId = 1000;
  let aheadMs = 0;
  const owner: Account = { id: 900, login: "app-owner", type: "User" };
  const slug = options.slug ?? "holdfast-app";
  const bot: Account = { id: 901, login: `${slug}[bot]`, type: "Bot" };
  const app: App = {
    id: options.id ?? 4242,
    slug,
    name: slug,
    clientId: "Iv23fake0000000000",
    owner,
    bot,
    permissions: options.permissions ?? permissions,
    events: options.events ?? events,
  };
  return {
    folder: realpathSync(mkdtempSync(join(tmpdir(), "holdfast-fake-github-"))),
    origin: "",
    app,
    privateKey,
    publicKey,
    apps: [app],
    accounts: [owner, bot],
    customRoles: new Map(),
    repositories: [],
    installations: [],
    issues: [],
    comments: [],
    reviews: [],
    inlineComments: [],
    reactions: [],
    checkRuns: [],
    statuses: [],
    releases: [],
    packages: [],
    created: [],
    now: () => Date.now() + aheadMs,
    advance: (ms) => {
      aheadMs += ms;
    },
    nextId: () => (lastId += 1),
    tell: () => undefined,
  };
}

export function removeWorld(world: World): void {
  rmSync(world.folder, { recursive: true, force: true });
}

export function fullName({ owner, name }: Repository): string {
  return `${owner.login}/${name}`;
}

/** The installation of our App that reaches a repository, suspended or not. */
export function installationOf(world: World, repository: Repository): Installation | null {
  return (
    world.installations.find(
      (installation) => !installation.isGone && reaches(installation, repository),
    ) ?? null
  );
}

export function reaches({ account, repositories }: Installation, repository: Repository): boolean {
  if (repository.isDeleted || repository.owner !== account) return false;
  return repositories === null || repositories.has(repository);
}

export function isPull(issue: Issue): issue is PullIssue {
  return issue.pull !== null;
}

/** The App that an account belongs to, if it is a bot. */
export function appOf(world: World, account: Account): App | null {
  return world.apps.find(({ bot }) => bot === account) ?? null;
}

const builtInRoles: readonly string[] = ["read", "triage", "write", "maintain", "admin"];

function isBaseRole(name: string): name is BaseRole {
  return builtInRoles.includes(name);
}

/** The role's own name and the built-in role it comes down to; null for none. */
export function roleOf(
  world: World,
  repository: Repository,
  account: Account,
): { name: string; base: BaseRole } | null {
  if (repository.owner === account) return { name: "admin", base: "admin" };
  const name = repository.roles.get(account.id) ?? (repository.isPrivate ? null : "read");
  if (name === null) return null;
  const base = isBaseRole(name) ? name : world.customRoles.get(name);
  return base === undefined ? null : { name, base };
}
