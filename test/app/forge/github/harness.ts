// The GitHub adapter on the fake GitHub, over HTTP, with the hands of people and programs there (spec 6.1). Holds no
// expectation.
import { onTestFinished } from "vitest";
import type { Person, TextRef } from "../../../../app/forge/forge.ts";
import { openGitHub, type GitHub as Adapter } from "../../../../app/forge/github/github.ts";
import type { NetworkHarness } from "../../../contract/forge-network.ts";
import { createAccount, createApp, install } from "../../../fakes/github/acts/accounts.ts";
import { checkRun, setStatus } from "../../../fakes/github/acts/checks.ts";
import { comment, editComment, openIssue } from "../../../fakes/github/acts/conversations.ts";
import { inlineComment, mergePull, openPull, review } from "../../../fakes/github/acts/pulls.ts";
import {
  createRelease,
  publishPackageVersion,
  publishRelease,
} from "../../../fakes/github/acts/releases.ts";
import {
  allow,
  archiveRepository,
  createRepository,
  fork,
  protectBranch,
  pushTag,
  pushTo,
  renameRepository,
} from "../../../fakes/github/acts/repositories.ts";
import { startGitHub, type GitHub } from "../../../fakes/github/github.ts";
import { receiveWebhooks } from "../../../fakes/github/tests/scene.ts";
import {
  isPull,
  type Account,
  type Installation,
  type Issue,
  type PullIssue,
  type Repository,
} from "../../../fakes/github/world.ts";

const webhookSecret = "a secret of many letters";

export interface GitHubScene {
  readonly github: GitHub;
  readonly org: Account;
  readonly ada: Account;
  readonly door: Repository;
  readonly installation: Installation;
  readonly secrets: string[];
  /** Another adapter, as another process has it. */
  readonly open: (accountOf?: (forgeId: string) => Promise<string | null>) => Promise<Adapter>;
}

/** An organisation with one private repository, `org/door`, on which the App is installed; `ada` is an admin there. */
export async function openScene(): Promise<GitHubScene> {
  const github = await startGitHub();
  onTestFinished(() => github.close());
  await receiveWebhooks(github);
  const { world } = github;
  const org = createAccount(world, "org", "Organization");
  const ada = createAccount(world, "ada");
  const door = createRepository(world, { owner: org, name: "door" });
  allow(door, ada, "admin");
  const installation = install(world, { account: org, repositories: [door] });
  const secrets: string[] = [];
  return {
    github,
    org,
    ada,
    door,
    installation,
    secrets,
    open: (accountOf = async () => null) =>
      openGitHub({
        keys: {
          appId: world.app.id,
          privateKey: world.privateKey,
          webhookSecret,
          baseUrl: github.url,
        },
        webUrl: github.origin,
        now: () => world.now(),
        accountOf,
        onSecret: (secret) => secrets.push(secret),
      }),
  };
}

function personFrom({ id, login, type }: Account): Person {
  return { id: String(id), name: login, isBot: type === "Bot" };
}

export async function makeHarness(): Promise<NetworkHarness> {
  const scene = await openScene();
  const { github, ada, door } = scene;
  const { world } = github;
  const eve = createAccount(world, "eve");
  for (const branch of ["holdfast/m-1-a", "b"])
    pushTo(world, { repository: door, by: ada, branch });
  const { forge } = await scene.open();
  return {
    forge,
    other: (await scene.open()).forge,
    repository: { connection: "github", forgeId: String(door.id) },
    admin: personFrom(ada),
    stranger: personFrom(eve),
    ...handsOf(scene),
    ...programsOf(scene),
    later: async () => {
      github.advance(1_000);
      return world.now();
    },
    breakDown: () => {
      github.fault({
        on: ({ method, path }) => method !== "GET" && !path.endsWith("/access_tokens"),
        kind: "401",
        times: Infinity,
      });
    },
    close: async () => {},
  };
}

type People = Pick<
  NetworkHarness,
  "openIssue" | "writeComment" | "editComment" | "reactionsOn" | "openPull" | "merge"
> &
  Pick<NetworkHarness, "review" | "inlineComment" | "push" | "protect" | "rename" | "archive">;

function handsOf({ github, ada, door }: GitHubScene): People {
  const { world } = github;

  /** The account of a person by id; it goes by the name it is given. */
  function account({ id, name }: Person): Account {
    const found = world.accounts.find((one) => String(one.id) === id);
    if (found === undefined) throw new Error(`nobody is ${id}`);
    found.login = name;
    return found;
  }

  function issueAt(number: number): Issue {
    const found = world.issues.find((one) => one.repository === door && one.number === number);
    if (found === undefined) throw new Error(`there is no #${number}`);
    return found;
  }

  function pullAt(number: number): PullIssue {
    const issue = issueAt(number);
    if (isPull(issue)) return issue;
    throw new Error(`#${number} is no pull request`);
  }

  return {
    openIssue: async (text, author) =>
      openIssue(world, { repository: door, by: account(author), ...text }).number,
    writeComment: async (number, body, author) =>
      String(comment(world, { issue: issueAt(number), by: account(author), body }).id),
    editComment: async (id, body, author) => {
      const edited = world.comments.find((one) => String(one.id) === id);
      if (edited === undefined) throw new Error(`there is no comment ${id}`);
      editComment(world, edited, { by: account(author), body });
    },
    reactionsOn: async ({ kind, id }: TextRef) =>
      world.reactions
        .filter(({ subject }) =>
          kind === "issue"
            ? "number" in subject && String(subject.number) === id
            : !("number" in subject) && String(subject.id) === id,
        )
        .map(({ content }) => content),
    openPull: async ({ head, isFromFork }, author) => {
      const by = account(author);
      const from = isFromFork ? fork(world, door, by) : door;
      return openPull(world, { repository: door, by, head, from }).number;
    },
    merge: async (number, author) => {
      mergePull(world, pullAt(number), account(author));
    },
    review: async (number, body, author) =>
      `${number}/${review(world, { issue: pullAt(number), by: account(author), body }).id}`,
    inlineComment: async (number, body, author) =>
      String(inlineComment(world, { issue: pullAt(number), by: account(author), body }).id),
    push: async (branch) => pushTo(world, { repository: door, by: ada, branch }),
    protect: async (branch) => protectBranch(door, branch),
    rename: async (name) => renameRepository(world, door, { by: ada, name }),
    archive: async () => archiveRepository(world, door, { by: ada }),
  };
}

type Programs = Pick<
  NetworkHarness,
  "tag" | "release" | "publishPackage" | "check" | "status" | "checksOn"
> &
  Pick<NetworkHarness, "failDeliveries" | "arrived" | "opens">;

function programsOf({ github, ada, door }: GitHubScene): Programs {
  const { world } = github;
  const app = createApp(world, "ci");
  return {
    tag: async (tag, commit) => pushTag(world, { repository: door, by: ada, tag, commit }),
    release: async (release) => {
      const made = createRelease(world, { repository: door, by: ada, ...release });
      if (made.isDraft) publishRelease(world, made);
    },
    publishPackage: async (name, version) => {
      publishPackageVersion(world, { repository: door, by: ada, name, version });
    },
    check: async (commit, name, conclusion) => {
      checkRun(world, {
        repository: door,
        app,
        commit,
        name,
        ...(conclusion !== null && { conclusion }),
      });
    },
    status: async (commit, context, state) => {
      setStatus(world, { repository: door, by: ada, commit, context, state });
    },
    checksOn: async (commit) =>
      world.checkRuns
        .filter((one) => one.app === world.app && one.commit === commit)
        .map(({ name, conclusion, output: { title }, annotationCount }) => ({
          name,
          conclusion,
          title,
          annotationCount,
        })),
    failDeliveries: (count) => github.webhookFault({ kind: "drop", times: count }),
    arrived: async () => {
      await github.settled();
      return github.deliveries.filter(({ status }) => status === 202).map(({ guid }) => guid);
    },
    opens: async (token, use) => {
      const service = use === "read" ? "git-upload-pack" : "git-receive-pack";
      const credential = Buffer.from(`x-access-token:${token}`).toString("base64");
      const headers = token === null ? {} : { authorization: `Basic ${credential}` };
      const url = `${github.origin}/org/${door.name}.git/info/refs?service=${service}`;
      return (await fetch(url, { headers })).ok;
    },
  };
}
