// Texts on GitHub (spec 1.4, 6.2, 6.3): issues, comments, reviews and inline comments, read as they are now, and what we
// write ourselves.

import { secondMs } from "../../../policies/durations.ts";
import { Failure } from "../../../policies/failure.ts";
import type {
  ConversationRef,
  ForgeConversation,
  ForgeText,
  Person,
  Reaction,
  RepositoryRef,
  TextRef,
  Written,
} from "../forge.ts";
import type { Call, Client } from "./client.ts";
import { personOf, type Account } from "./people.ts";

const pageSize = 100;
/** More pages than this are not read: what was said that long ago is not looked for (bounded paging). */
const pagesLimit = 10;

export interface Texts {
  readText(ref: TextRef): Promise<ForgeText | null>;
  readConversation(ref: ConversationRef): Promise<ForgeConversation | null>;
  listTexts(ref: ConversationRef, limit: number): Promise<ForgeText[]>;
  textsSince(ref: RepositoryRef, since: number, limit: number): Promise<ForgeText[]>;
  createComment(ref: ConversationRef, body: string): Promise<Written>;
  editComment(ref: ConversationRef, id: string, body: string): Promise<Written | null>;
  listOwnComments(ref: ConversationRef, since: number): Promise<(Written & { body: string })[]>;
  react(ref: TextRef, content: Reaction): Promise<void>;
}

export function openTexts(client: Client, self: Person): Texts {
  return {
    readText: (ref) => readText(client, ref),
    readConversation: (ref) => readConversation(client, ref),
    listTexts: (ref, limit) => listTexts(client, ref, limit),
    textsSince: (ref, since, limit) => textsSince(client, ref, { since, limit }),
    createComment: async (ref, body) => {
      const made = await client.write(ref, (api, place) =>
        api.rest.issues.createComment({ ...place, issue_number: ref.number, body }),
      );
      return written(made);
    },
    editComment: (ref, id, body) => editComment(client, ref, { id, body }),
    listOwnComments: (ref, since) => listOwnComments(client, self, { ref, since }),
    react: (ref, content) => react(client, ref, content),
  };
}

/** What GitHub's answers about texts have in common. */
interface TextData {
  readonly id: number;
  readonly body?: string | null | undefined;
  readonly user?: Account | null | undefined;
  readonly html_url: string;
  readonly created_at: string;
  readonly updated_at: string;
}

async function readText(client: Client, ref: TextRef): Promise<ForgeText | null> {
  const id = Number(ref.id);
  switch (ref.kind) {
    case "issue": {
      const found = await client.read(ref, (api, place) =>
        api.rest.issues.get({ ...place, issue_number: id }),
      );
      return found === null ? null : textFrom(ref, found, found.number);
    }
    case "comment": {
      const found = await client.read(ref, (api, place) =>
        api.rest.issues.getComment({ ...place, comment_id: id }),
      );
      return found === null ? null : textFrom(ref, found, numberIn(found.issue_url));
    }
    case "inline-comment": {
      const found = await client.read(ref, (api, place) =>
        api.rest.pulls.getReviewComment({ ...place, comment_id: id }),
      );
      return found === null ? null : textFrom(ref, found, numberIn(found.pull_request_url));
    }
    case "review":
      return readReview(client, ref);
  }
}

/** A review's id is `<pull>/<review>`: GitHub has no other way to ask for one. */
async function readReview(client: Client, ref: TextRef): Promise<ForgeText | null> {
  const [number, id] = ref.id.split("/").map(Number);
  if (number === undefined || id === undefined || Number.isNaN(number + id)) return null;
  const found = await client.read(ref, (api, place) =>
    api.rest.pulls.getReview({ ...place, pull_number: number, review_id: id }),
  );
  if (found === null) return null;
  // A review says when it was submitted and not whether it was changed since.
  const at = found.submitted_at ?? new Date(0).toISOString();
  return textFrom(ref, { ...found, created_at: at, updated_at: at }, number);
}

/** GitHub moves `updated_at` of an issue at every comment: for issues it is no proof of an edit, only a doubt. */
function textFrom(ref: TextRef, data: TextData, number: number): ForgeText {
  const { connection, forgeId, kind, id } = ref;
  const createdAt = Date.parse(data.created_at);
  const changedAt = Date.parse(data.updated_at);
  return {
    ref: { connection, forgeId, kind, id },
    number,
    body: data.body ?? "",
    author: personOf(data.user),
    url: data.html_url,
    createdAt,
    changedAt,
    isEdited: changedAt > createdAt,
  };
}

/** GitHub counts whole seconds: a finer instant would leave out what was made within its own second. */
function instant(at: number): string {
  return new Date(Math.floor(Math.max(at, 0) / secondMs) * secondMs).toISOString();
}

function numberIn(url: string): number {
  return Number(/\/(\d+)$/.exec(url)?.[1]);
}

async function readConversation(
  client: Client,
  ref: ConversationRef,
): Promise<ForgeConversation | null> {
  const found = await client.read(ref, (api, place) =>
    api.rest.issues.get({ ...place, issue_number: ref.number }),
  );
  if (found === null) return null;
  const { number, title, body, state, pull_request: pull } = found;
  const isMerged = pull?.merged_at !== null && pull?.merged_at !== undefined;
  return {
    number,
    kind: pull === undefined ? "issue" : "pull",
    title,
    body: body ?? "",
    author: personOf(found.user),
    state: isMerged ? "merged" : state === "open" ? "open" : "closed",
    url: found.html_url,
  };
}

async function listTexts(
  client: Client,
  ref: ConversationRef,
  limit: number,
): Promise<ForgeText[]> {
  const opening = await readText(client, { ...ref, kind: "issue", id: String(ref.number) });
  if (opening === null) return [];
  const comments = await pages(
    client,
    ref,
    (page) => (api, place) =>
      api.rest.issues.listComments({
        ...place,
        issue_number: ref.number,
        per_page: pageSize,
        page,
      }),
  );
  const texts = comments.map((data) => commentFrom(ref, data, ref.number));
  return [opening, ...texts].slice(-limit);
}

function commentFrom(ref: RepositoryRef, data: TextData, number: number): ForgeText {
  return textFrom({ ...ref, kind: "comment", id: String(data.id) }, data, number);
}

async function textsSince(
  client: Client,
  ref: RepositoryRef,
  asked: { since: number; limit: number },
): Promise<ForgeText[]> {
  const since = instant(asked.since);
  const oldestFirst = { since, sort: "updated", direction: "asc", per_page: pageSize } as const;
  const comments = await pages(
    client,
    ref,
    (page) => (api, place) =>
      api.rest.issues.listCommentsForRepo({ ...place, ...oldestFirst, page }),
  );
  const inline = await pages(
    client,
    ref,
    (page) => (api, place) =>
      api.rest.pulls.listReviewCommentsForRepo({ ...place, ...oldestFirst, page }),
  );
  const issues = await pages(
    client,
    ref,
    (page) => (api, place) =>
      api.rest.issues.listForRepo({ ...place, ...oldestFirst, state: "all", page }),
  );
  const texts = [
    ...comments.map((data) => commentFrom(ref, data, numberIn(data.issue_url))),
    ...inline.map((data) => {
      const one = { ...ref, kind: "inline-comment", id: String(data.id) } as const;
      return textFrom(one, data, numberIn(data.pull_request_url));
    }),
    // A pull request's body is no source of commands, and an issue's only while it is new (1.4).
    ...issues
      .filter((data) => data.pull_request === undefined)
      .map((data) => {
        const one = { ...ref, kind: "issue", id: String(data.number) } as const;
        return textFrom(one, data, data.number);
      })
      .filter(({ createdAt }) => createdAt >= asked.since),
  ];
  return texts.toSorted((one, two) => one.changedAt - two.changedAt).slice(0, asked.limit);
}

/** All pages up to the limit; empty where what is listed does not exist. */
async function pages<T>(
  client: Client,
  ref: RepositoryRef,
  callFor: (page: number) => Call<T[]>,
): Promise<T[]> {
  const all: T[] = [];
  for (let page = 1; page <= pagesLimit; page += 1) {
    const found = await client.read(ref, callFor(page));
    all.push(...(found ?? []));
    if (found === null || found.length < pageSize) break;
  }
  return all;
}

async function editComment(
  client: Client,
  ref: ConversationRef,
  { id, body }: { id: string; body: string },
): Promise<Written | null> {
  const known = await readText(client, { ...ref, kind: "comment", id });
  if (known === null) return null;
  const changed = await client.write(ref, (api, place) =>
    api.rest.issues.updateComment({ ...place, comment_id: Number(id), body }),
  );
  return written(changed);
}

async function listOwnComments(
  client: Client,
  self: Person,
  { ref, since }: { ref: ConversationRef; since: number },
): Promise<(Written & { body: string })[]> {
  const found = await pages(
    client,
    ref,
    (page) => (api, place) =>
      api.rest.issues.listComments({
        ...place,
        issue_number: ref.number,
        since: instant(since),
        per_page: pageSize,
        page,
      }),
  );
  return found
    .filter(({ user }) => String(user?.id) === self.id)
    .map((data) => ({ ...written(data), body: data.body ?? "" }));
}

function written(data: { readonly id: number; readonly html_url: string }): Written {
  return { id: String(data.id), url: data.html_url };
}

/** Given twice it is there once. A review as a whole takes no reaction on GitHub. */
async function react(client: Client, ref: TextRef, content: Reaction): Promise<void> {
  const id = Number(ref.id);
  switch (ref.kind) {
    case "issue":
      await client.write(ref, (api, place) =>
        api.rest.reactions.createForIssue({ ...place, issue_number: id, content }),
      );
      return;
    case "comment":
      await client.write(ref, (api, place) =>
        api.rest.reactions.createForIssueComment({ ...place, comment_id: id, content }),
      );
      return;
    case "inline-comment":
      await client.write(ref, (api, place) =>
        api.rest.reactions.createForPullRequestReviewComment({ ...place, comment_id: id, content }),
      );
      return;
    case "review":
      return;
  }
}

/** What GitHub would cut or refuse is refused here already, before it is sent. */
export function refuseTooLong(body: string, limit: number): void {
  if (body.length <= limit) return;
  const message = `a comment of ${body.length} characters is longer than GitHub takes`;
  throw new Failure("refused", "never", { message });
}
