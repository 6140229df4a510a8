// `holdfast nudge` (spec 3.4, 7.1): rings at waits from this machine, as `POST /api/nudges` does from elsewhere.

import { randomUUID } from "node:crypto";
import { NudgeRequest, nudgeEventOf } from "../../policies/nudge-request.ts";
import type { Home } from "../home.ts";
import { listRepositories } from "../ledger/conversations.ts";
import { addDelivery } from "../ledger/incoming/deliveries.ts";
import { misused, said, type Ending } from "../notices/terminal.ts";

export interface NudgeAsked {
  readonly ref?: string;
  readonly mandate?: string;
  readonly key?: string;
}

/** The same key again rings no more. */
export async function ring(
  home: Home,
  named: { readonly repository: string; readonly event: string },
  { key, ...about }: NudgeAsked,
): Promise<Ending> {
  const read = NudgeRequest.omit({ repository: true }).safeParse({ event: named.event, ...about });
  if (!read.success) {
    const why = read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
    return misused(nothing, why.join("; "), "`holdfast nudge --help` shows an example");
  }
  const known = await home.ledger.read(listRepositories);
  const wanted = known.filter(({ name, id, source }) =>
    [name, id, source].includes(named.repository),
  );
  const [repository] = wanted;
  if (repository === undefined || wanted.length > 1) {
    const names = known.map(({ name }) => name).join(", ");
    const why = names === "" ? "this home knows no repository yet" : `this home knows ${names}`;
    return misused(nothing, why, "name one of them");
  }
  const payload = nudgeEventOf({ repository: repository.name, ...read.data }, repository);
  const { connection } = repository;
  const guid = `nudge operator ${key ?? randomUUID()}`;
  const isNew = await home.ledger.write((tx) => addDelivery(tx, { connection, guid, payload }));
  return said(
    isNew ? `Rang in ${repository.name}: ${read.data.event}.` : "It rang with this key before.",
  );
}

const nothing = "Nobody was nudged.";
