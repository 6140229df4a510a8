// Pull requests on GitHub (spec 1.5, 5.8, 6.4): read with the head that work builds on, made once per branch.

import { Failure } from "../../../policies/failure.ts";
import type { ConversationRef, PullRequest, PullState, RepositoryRef } from "../forge.ts";
import type { Client } from "./client.ts";
import { isInvalid } from "./failures.ts";
import { personOf } from "./people.ts";

export interface Pulls {
  readPull(ref: ConversationRef): Promise<PullState | null>;
  findPull(ref: RepositoryRef, head: string): Promise<PullRequest | null>;
  createPull(ref: RepositoryRef, pull: NewPull): Promise<PullRequest>;
  editPull(
    ref: RepositoryRef,
    number: number,
    change: { title: string; body: string; isDraft: boolean },
  ): Promise<void>;
}

export function openPulls(client: Client): Pulls {
  return {
    readPull: (ref) => readPull(client, ref),
    findPull: async (ref, head) => {
      const found = await client.read(ref, (api, place) =>
        api.rest.pulls.list({ ...place, head: `${place.owner}:${head}`, state: "open" }),
      );
      // A fork of the same owner has branches of the same label.
      const ours = found?.find(({ head: { repo }, base }) => repo?.id === base.repo.id);
      return ours === undefined ? null : pullFrom(ours);
    },
    createPull: (ref, pull) => createPull(client, ref, pull),
    editPull: (ref, number, change) => editPull(client, { ...ref, number }, change),
  };
}

interface PullData {
  readonly number: number;
  readonly html_url: string;
  readonly title: string;
  readonly draft?: boolean | undefined;
  readonly head: { readonly ref: string };
  readonly base: { readonly ref: string };
}

function pullFrom(data: PullData): PullRequest {
  return {
    number: data.number,
    url: data.html_url,
    title: data.title,
    head: data.head.ref,
    base: data.base.ref,
    isDraft: data.draft ?? false,
  };
}

type NewPull = Omit<PullRequest, "number" | "url"> & { body: string };

/** Not every plan has drafts: there a draft is refused, and what is to be read is made all the same. */
async function createPull(client: Client, ref: RepositoryRef, pull: NewPull): Promise<PullRequest> {
  const { title, body, head, base, isDraft } = pull;
  try {
    const made = await client.write(ref, (api, place) =>
      api.rest.pulls.create({ ...place, title, body, head, base, draft: isDraft }),
    );
    return pullFrom(made);
  } catch (error) {
    if (!isDraft || !isInvalid(error)) throw error;
  }
  return createPull(client, ref, { ...pull, isDraft: false });
}

async function readPull(client: Client, ref: ConversationRef): Promise<PullState | null> {
  const data = await client.read(ref, (api, place) =>
    api.rest.pulls.get({ ...place, pull_number: ref.number }),
  );
  if (data === null) return null;
  const { head, base } = data;
  // The repository of a head can be gone: then it certainly is not ours.
  const isFork = head.repo?.id !== base.repo.id;
  return {
    number: data.number,
    state: data.merged ? "merged" : data.state,
    isDraft: data.draft ?? false,
    author: personOf(data.user),
    headCommit: head.sha,
    headBranch: head.ref,
    isFork,
    isHeadProtected: !isFork && (await isProtected(client, ref, head.ref)),
    baseBranch: base.ref,
  };
}

async function isProtected(client: Client, ref: RepositoryRef, branch: string): Promise<boolean> {
  const found = await client.read(ref, (api, place) =>
    api.rest.repos.getBranch({ ...place, branch }),
  );
  return found?.protected ?? false;
}

/** The draft state has no REST route of its own. */
async function editPull(
  client: Client,
  ref: ConversationRef,
  { title, body, isDraft }: { title: string; body: string; isDraft: boolean },
): Promise<void> {
  const changed = await client.write(ref, (api, place) =>
    api.rest.pulls.update({ ...place, pull_number: ref.number, title, body }),
  );
  if ((changed.draft ?? false) === isDraft || changed.state !== "open") return;
  const mutation = isDraft ? "convertPullRequestToDraft" : "markPullRequestReadyForReview";
  const query = `mutation($id: ID!) { ${mutation}(input: { pullRequestId: $id }) { pullRequest { id } } }`;
  try {
    await client.write(ref, async (api) => ({
      data: await api.graphql(query, { id: changed.node_id }),
    }));
  } catch (error) {
    // Where there are no drafts it stays what it is.
    if (!isDraft || !(error instanceof Failure) || error.code !== "refused") throw error;
  }
}
