// What a claimed entry is about: its mandate, anchor and repository, read once when the claim is taken up.

import type { RepositorySource } from "../../runners/runner.ts";
import { forgeOf, type Host } from "../host.ts";
import {
  conversationOf,
  repositoryOf,
  type ConversationRow,
  type RepositoryRow,
} from "../ledger/conversations.ts";
import type { Claim } from "../ledger/inbox.ts";
import type { Sql } from "../ledger/ledger.ts";
import { findAnchor, mandateOf, type Anchor, type MandateRow } from "../ledger/mandates.ts";

export interface ClaimedEntry {
  readonly claim: Claim;
  readonly mandate: MandateRow;
  readonly anchor: Anchor;
  readonly repository: RepositoryRow;
  readonly conversation: ConversationRow;
}

export async function claimedEntry(sql: Sql, claim: Claim): Promise<ClaimedEntry> {
  const mandate = await mandateOf(sql, claim.mandateId);
  const anchor = await findAnchor(sql, mandate.id);
  if (anchor === undefined) throw new Error(`mandate ${mandate.id} has no anchor`);
  const conversation = await conversationOf(sql, mandate.conversationId);
  const repository = await repositoryOf(sql, conversation.repositoryId);
  return { claim, mandate, anchor, repository, conversation };
}

/** Where a runner gets the repository's objects, and how it asks for a token at each use. */
export function sourceOf(host: Pick<Host, "forges">, repository: RepositoryRow): RepositorySource {
  const { id, source, defaultBranch, connection } = repository;
  return {
    id,
    source,
    defaultBranch,
    token: (use) => forgeOf(host, connection).gitToken(repository, use),
  };
}
