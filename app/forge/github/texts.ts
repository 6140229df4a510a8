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
import type { Client } from "./client.ts";
import { pageSize, readPages } from "./paging.ts";
import { personOf, type Account } from "./people.ts";

/** Pull requests whose reviews are looked for at once: each is a call of its own. */
const pullsLimit = 100;

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
      return found === null ? null : issueFrom(ref, found);
    }
    case "comment": {
      const found = await client.read(ref, (api, place) =>
        api.rest.issues.getComment({ ...place, comment_id: id }),
      );
      return found === null ? null : commentFrom(ref, found);
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
  const [, number, id] = (/^(\d+)\/(\d+)$/.exec(ref.id) ?? []).map(Number);
  if (number === undefined || id === undefined) return null;
  const found = await client.read(ref, (api, place) =>
    api.rest.pulls.getReview({ ...place, pull_number: number, review_id: id }),
  );
  return found === null ? null : reviewFrom(ref, found, number);
}

interface ReviewData extends Omit<TextData, "created_at" | "updated_at"> {
  readonly submitted_at?: string | undefined;
}

/** A review does not say whether it was changed since: without proof it counts as edited, and runs nothing (1.4). */
function reviewFrom(ref: RepositoryRef, data: ReviewData, number: number): ForgeText {
  // One that is not submitted yet is seen by its author alone.
  const at = data.submitted_at ?? new Date(0).toISOString();
  const whole = { ...data, created_at: at, updated_at: at };
  const text = textFrom({ ...ref, kind: "review", id: `${number}/${data.id}` }, whole, number);
  return { ...text, isEdited: true };
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

/** GitHub lists them oldest first alone: how many there are says on which page the latest begin. */
async function listTexts(
  client: Client,
  ref: ConversationRef,
  limit: number,
): Promise<ForgeText[]> {
  const opening = await client.read(ref, (api, place) =>
    api.rest.issues.get({ ...place, issue_number: ref.number }),
  );
  if (opening === null) return [];
  const latest = Math.floor(Math.max(opening.comments - limit, 0) / pageSize) + 1;
  const comments = await readPages(client, ref, {
    first: latest,
    call: (page) => (api, place) =>
      api.rest.issues.listComments({
        ...place,
        issue_number: ref.number,
        per_page: pageSize,
        page,
      }),
  });
  const texts = [issueFrom(ref, opening), ...comments.map((one) => commentFrom(ref, one))];
  return texts.slice(-limit);
}

function issueFrom(ref: RepositoryRef, data: TextData & { readonly number: number }): ForgeText {
  return textFrom({ ...ref, kind: "issue", id: String(data.number) }, data, data.number);
}

function commentFrom(
  ref: RepositoryRef,
  data: TextData & { readonly issue_url: string },
): ForgeText {
  const one = { ...ref, kind: "comment", id: String(data.id) } as const;
  return textFrom(one, data, numberIn(data.issue_url));
}

async function textsSince(
  client: Client,
  ref: RepositoryRef,
  asked: { since: number; limit: number },
): Promise<ForgeText[]> {
  const since = instant(asked.since);
  const oldestFirst = { since, sort: "updated", direction: "asc", per_page: pageSize } as const;
  const comments = await readPages(client, ref, {
    call: (page) => (api, place) =>
      api.rest.issues.listCommentsForRepo({ ...place, ...oldestFirst, page }),
  });
  const inline = await readPages(client, ref, {
    call: (page) => (api, place) =>
      api.rest.pulls.listReviewCommentsForRepo({ ...place, ...oldestFirst, page }),
  });
  const issues = await readPages(client, ref, {
    call: (page) => (api, place) =>
      api.rest.issues.listForRepo({ ...place, ...oldestFirst, state: "all", page }),
  });
  const pulls = issues.filter((data) => data.pull_request !== undefined).slice(-pullsLimit);
  const from = Date.parse(since);
  const texts = [
    ...comments.map((data) => commentFrom(ref, data)),
    ...inline.map((data) => {
      const one = { ...ref, kind: "inline-comment", id: String(data.id) } as const;
      return textFrom(one, data, numberIn(data.pull_request_url));
    }),
    // A pull request's body is no source of commands, and an issue's only while it is new (1.4).
    ...issues
      .filter((data) => data.pull_request === undefined)
      .map((data) => issueFrom(ref, data))
      .filter(({ createdAt }) => createdAt >= from),
    ...(await reviewsOf(client, ref, pulls)).filter(
      ({ body, createdAt }) => body !== "" && createdAt >= from,
    ),
  ];
  return texts.toSorted((one, two) => one.changedAt - two.changedAt).slice(0, asked.limit);
}

/** GitHub has no list of a repository's reviews; a pull request with a new one is among those that changed. */
async function reviewsOf(
  client: Client,
  ref: RepositoryRef,
  pulls: readonly { readonly number: number }[],
): Promise<ForgeText[]> {
  const texts: ForgeText[] = [];
  for (const { number } of pulls) {
    const reviews = await readPages(client, ref, {
      call: (page) => (api, place) =>
        api.rest.pulls.listReviews({ ...place, pull_number: number, per_page: pageSize, page }),
    });
    texts.push(...reviews.map((data) => reviewFrom(ref, data, number)));
  }
  return texts;
}

async function editComment(
  client: Client,
  ref: ConversationRef,
  { id, body }: { id: string; body: string },
): Promise<Written | null> {
  const changed = await client.change(ref, (api, place) =>
    api.rest.issues.updateComment({ ...place, comment_id: Number(id), body }),
  );
  return changed === null ? null : written(changed);
}

async function listOwnComments(
  client: Client,
  self: Person,
  { ref, since }: { ref: ConversationRef; since: number },
): Promise<(Written & { body: string })[]> {
  const found = await readPages(client, ref, {
    call: (page) => (api, place) =>
      api.rest.issues.listComments({
        ...place,
        issue_number: ref.number,
        since: instant(since),
        per_page: pageSize,
        page,
      }),
  });
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
