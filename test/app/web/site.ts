// The local pages on a real ledger and a free port, for tests of what they answer (spec 7.4).
// People's texts go the way of the product: through the local forge, with their deliveries.
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { openIssue, writeComment } from "../../../app/forge/local-writing.ts";
import {
  ensureConversation,
  repositoryOf,
  saveRepository,
} from "../../../app/ledger/conversations.ts";
import { addEntry } from "../../../app/ledger/inbox.ts";
import type { Ledger } from "../../../app/ledger/ledger.ts";
import { addMandate, type NewMandate } from "../../../app/ledger/mandates.ts";
import { openSqlite } from "../../../app/ledger/sqlite/sqlite.ts";
import { openLog } from "../../../app/log.ts";
import { startWeb, type LocalPages, type WebOptions } from "../../../app/web/routes.ts";
import { defaultPolicy } from "../../../policies/policy-file.ts";
import { temporaryFolder } from "../../fakes/repository.ts";

export const startAt = Date.UTC(2026, 11, 1, 9);
export const token = "a-token-that-nobody-guesses";
const owner = { id: "1", name: "ada", isBot: false };
const repository = { id: "r-1", connection: "local", forgeId: "path-1" };

export interface Site {
  readonly ledger: Ledger;
  readonly baseUrl: string;
  readonly url: string;
  readonly port: number;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  post(path: string, form: Record<string, string>): Promise<Response>;
  close(): Promise<void>;
}

export interface SiteOptions extends Omit<Partial<WebOptions>, "local"> {
  /** Null: conversations are at their forges. */
  readonly local?: Partial<LocalPages> | null;
}

export async function openSite(options: SiteOptions = {}): Promise<Site> {
  const file = join(temporaryFolder(), "ledger.db");
  const ledger = openSqlite({ file, now: () => startAt });
  const names = { name: "door", source: "/srv/door", defaultBranch: "main" };
  await ledger.write((tx) => saveRepository(tx, { ...repository, ...names }));
  const write = { repositoryId: repository.id, author: owner };
  const web = await startWeb({
    ledger,
    log: openLog("silent", []),
    host: "127.0.0.1",
    port: 0,
    publicUrl: null,
    token,
    mention: () => "holdfast",
    timeZone: "UTC",
    diff: async () => null,
    redact: (text) => text,
    redis: () => null,
    isHeld: async () => null,
    routes: [],
    ...options,
    local:
      options.local === null
        ? null
        : {
            repository: { id: repository.id, name: "door" },
            selfId: "2",
            tasks: async () => ({ tasks: [], problems: [], isUncommitted: false }),
            write: {
              comment: (comment) => writeComment(ledger, { ...comment, ...write }),
              issue: (issue) => openIssue(ledger, { ...issue, ...write }),
            },
            ...options.local,
          },
  });
  onTestFinished(async () => {
    await web.close();
    await ledger.close();
  });
  const { baseUrl } = web;
  const { port } = new URL(baseUrl);
  const cookie = `holdfast-${port}=${token}`;
  return {
    ...web,
    ledger,
    port: Number(port),
    get: (path, headers = {}) =>
      fetch(baseUrl + path, { headers: { cookie, ...headers }, redirect: "manual" }),
    post: (path, form) =>
      fetch(baseUrl + path, {
        method: "POST",
        body: new URLSearchParams(form),
        headers: { cookie, origin: baseUrl },
        redirect: "manual",
      }),
  };
}

export async function openSampleIssue(site: Site, title: string, body: string): Promise<number> {
  const answer = await site.post("/new", { key: `sample ${title}`, title, body });
  const number = /^\/c\/(\d+)$/.exec(answer.headers.get("location") ?? "")?.[1];
  if (number === undefined) throw new Error(`no issue was opened: ${answer.status}`);
  return Number(number);
}

/** A queued mandate of the owner in issue `number`. */
export function addSampleMandate(
  ledger: Ledger,
  number: number,
  change: Partial<NewMandate> & { text?: string } = {},
): Promise<string> {
  const { text = "do mend the door", ...given } = change;
  const letters = [0.1, 0.5, 0.9, number / 100];
  return ledger.write(async (tx) => {
    const row = await repositoryOf(tx, repository.id);
    const conversation = await ensureConversation(tx, row, { number, kind: "issue" });
    const mandate: NewMandate = {
      conversationId: conversation.id,
      pinnedHead: null,
      kind: "request",
      title: "mend the door",
      nextStep: "mend the door",
      nextStepBy: "host",
      actorId: owner.id,
      actorName: owner.name,
      deadlineAt: startAt + 86_400_000,
      deadlineMaxAt: startAt + 864_000_000,
      ceilings: {
        turns: null,
        tokens: null,
        cost: null,
        stallLimit: 20,
        thinkLimit: null,
        turnWallMs: 3_600_000,
      },
      task: null,
      grant: null,
      policy: defaultPolicy,
      ...given,
    };
    const anchor = {
      text,
      commentKind: "issue",
      commentId: String(number),
      commentUrl: `http://127.0.0.1:4700/c/${number}#top`,
      authorId: owner.id,
      authorName: owner.name,
      permission: "admin",
      bodyHash: "0",
    };
    const id = await addMandate(tx, mandate, { anchor, random: () => letters.pop() ?? 0.3 });
    const entry = { mandateId: id, conversationId: conversation.id, lastRanAt: 0 };
    await addEntry(tx, { ...entry, kind: "request", availableAt: tx.now });
    return id;
  });
}
