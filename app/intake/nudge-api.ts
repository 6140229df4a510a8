// `POST /api/nudges` (spec 3.4): a doorbell for everything that is no forge. Whoever has a token rings at waits of the
// repositories that settings give it; a nudge is stored as a delivery and accepted as any other.

import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import { minuteMs, secondMs } from "../../policies/durations.ts";
import { Failure } from "../../policies/failure.ts";
import { NudgeRequest, nudgeEventOf } from "../../policies/nudge-request.ts";
import type { HttpAnswer, HttpRequest, Matched, Route } from "../http.ts";
import {
  conversationOf,
  findRepositoryByName,
  type RepositoryRow,
} from "../ledger/conversations.ts";
import { addDelivery } from "../ledger/incoming/deliveries.ts";
import type { Ledger, Sql } from "../ledger/ledger.ts";
import { findMandate } from "../ledger/mandates.ts";
import type { SettingsFile } from "../settings-file.ts";

type Token = SettingsFile["nudgeTokens"][number];

const bodyBytesLimit = 8 * 1024;
const bodyMsLimit = 10 * secondMs;
const perMinuteLimit = 60;
const keyPattern = /^[\w.:-]{1,100}$/;

export interface NudgeApiOptions {
  readonly ledger: Ledger;
  readonly connection: string;
  readonly tokens: readonly Token[];
}

export function nudgeRoute({ ledger, connection, tokens }: NudgeApiOptions): Route {
  const budget = openBudget(() => ledger.now());

  /** From the headers alone: whoever has no token is sent away with the body unread. */
  function access(request: HttpRequest): HttpAnswer | null {
    const token = tokenOf(request, tokens);
    if (token === null) return problem(401, "this needs the bearer token of a nudge", bearer);
    return budget.take(token.name)
      ? null
      : problem(429, "more than 60 nudges in a minute", { "retry-after": "60" });
  }

  async function answer(request: Matched): Promise<HttpAnswer> {
    const token = tokenOf(request, tokens);
    if (token === null) return problem(401, "this needs the bearer token of a nudge", bearer);
    const key = request.header("idempotency-key") ?? randomUUID();
    if (!keyPattern.test(key))
      return problem(
        422,
        "idempotency-key: expected at most 100 characters of A-Z a-z 0-9 . : _ -",
      );
    const read = readBody(request.body);
    if (!read.ok) return problem(422, read.why);
    const asked = read.nudge;
    if (!token.repositories.some((name) => isSameName(name, asked.repository))) {
      return problem(403, "this token may not ring there");
    }
    const place = await ledger.read((sql) => placeOf(sql, connection, asked));
    if (typeof place === "string") return problem(404, place);
    const payload = nudgeEventOf(asked, place);
    const delivery = { connection, guid: `nudge ${token.name} ${key}`, payload };
    try {
      const isNew = await ledger.append((tx) => addDelivery(tx, delivery));
      return json(202, { stored: isNew });
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== "persistence-unavailable") throw error;
      return problem(503, "it cannot be stored now", { "retry-after": "10" });
    }
  }

  return { method: "POST", path: "/api/nudges", access, bodyBytesLimit, bodyMsLimit, answer };
}

const bearer = { "www-authenticate": "Bearer", connection: "close" };

/** In constant time for each: which token it nearly was is nobody's business. */
function tokenOf(request: HttpRequest, tokens: readonly Token[]): Token | null {
  const given = /^Bearer +(\S+)$/i.exec(request.header("authorization") ?? "")?.[1];
  if (given === undefined) return null;
  const digest = createHash("sha256").update(given).digest();
  const fitting = tokens.filter(({ sha256 }) =>
    timingSafeEqual(digest, Buffer.from(sha256, "hex")),
  );
  return fitting[0] ?? null;
}

function readBody(
  body: Buffer,
):
  | { readonly ok: true; readonly nudge: NudgeRequest }
  | { readonly ok: false; readonly why: string } {
  let given: unknown;
  try {
    given = JSON.parse(body.toString("utf8"));
  } catch {
    return { ok: false, why: "the body is no JSON" };
  }
  const read = NudgeRequest.safeParse(given);
  if (read.success) return { ok: true, nudge: read.data };
  const problems = read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  return { ok: false, why: problems.join("; ").replace(/^: /, "") };
}

/** The repository that is rung in; or, in words, what of it is not there. */
async function placeOf(
  sql: Sql,
  connection: string,
  { repository: name, mandate }: NudgeRequest,
): Promise<RepositoryRow | string> {
  const repository = await findRepositoryByName(sql, connection, name);
  if (repository === undefined) return "this repository is not known here";
  if (mandate === undefined) return repository;
  const found = await findMandate(sql, mandate);
  const conversation = found === undefined ? null : await conversationOf(sql, found.conversationId);
  return conversation?.repositoryId === repository.id ? repository : "there is no such mandate";
}

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** How often each token may ring: a burst is one recheck in any case, and nobody fills the ledger. */
function openBudget(now: () => number): { take(name: string): boolean } {
  const used = new Map<string, { since: number; count: number }>();
  return {
    take: (name) => {
      const last = used.get(name);
      const isOld = last === undefined || now() - last.since >= minuteMs;
      const count = isOld ? 1 : last.count + 1;
      used.set(name, { since: isOld ? now() : last.since, count });
      return count <= perMinuteLimit;
    },
  };
}

function problem(status: number, why: string, headers: Record<string, string> = {}): HttpAnswer {
  return { ...json(status, { error: why }), headers: { ...jsonHeaders, ...headers } };
}

const jsonHeaders = { "content-type": "application/json" };

function json(status: number, body: object): HttpAnswer {
  return { status, headers: jsonHeaders, body: `${JSON.stringify(body)}\n` };
}
