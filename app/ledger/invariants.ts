// What a ledger must never hold (spec 8.3): one question per invariant, for doctor. Constraints refuse most of it
// already; these questions also find what was left undone. Reads only.

import { isBusy } from "./inbox.ts";
import type { Sql } from "./ledger.ts";
import { isHeld } from "./mandates.ts";

export interface Broken {
  /** Number of spec 8.3. */
  readonly invariant: string;
  /** What it is about: id of a mandate, or kind and id of a row. */
  readonly subject: string;
  readonly what: string;
  /** What an operator can do. */
  readonly todo: string;
  /** True when nothing is wrong but that it should have happened by now. */
  readonly isLate: boolean;
}

/** Everything that is broken; what should have happened before `lateAt` (epoch ms) and has not is late. */
export async function brokenInvariants(sql: Sql, lateAt: number): Promise<Broken[]> {
  const found: Broken[] = [];
  for (const { query, ...told } of checks) {
    const rows = await sql.all<{ subject: string }>(query, ...(told.isLate ? [lateAt] : []));
    found.push(...rows.map(({ subject }) => ({ ...told, subject })));
  }
  return found;
}

/** Every unfinished mandate with the instant by which it must have moved. */
export function unfinishedMandates(
  sql: Sql,
): Promise<{ id: string; status: string; lookAt: number | null }[]> {
  return sql.all("SELECT id, status, look_at FROM mandate WHERE ended_at IS NULL ORDER BY id");
}

interface Check extends Omit<Broken, "subject"> {
  /** One row with a `subject` per violation; `?` is the instant of what is late. */
  readonly query: string;
}

const report = "report this with the log: the ledger holds what it must never hold";
const restart = "see that the scheduling process runs; a restart recovers it";

const checks: readonly Check[] = [
  {
    invariant: "I1",
    what: "nobody could be told of its block or question: the forge refused the notice for good",
    todo: "open the conversation for comments, then continue the mandate",
    isLate: false,
    query: `SELECT m.id AS subject FROM mandate m JOIN outbox o ON o.key = m.notice_key
      WHERE m.ended_at IS NULL AND o.state IN ('dead', 'dropped')`,
  },
  {
    invariant: "I1",
    what: "its recheck is due, nothing in its conversation comes before it, and it is not queued",
    todo: "see that no process of yours works in its checkout, then restart the scheduling process",
    isLate: true,
    query: `SELECT m.id AS subject FROM wait w JOIN mandate m ON m.id = w.mandate_id
      WHERE w.state = 'armed' AND w.due_at < ? AND m.status = 'waiting'
        AND NOT ${isHeld("m.id", "m.conversation_id")} AND NOT ${isBusy("m.conversation_id")}`,
  },
  {
    invariant: "I1",
    what: "an entry is queued in a mandate that has ended or stands blocked without a person's word",
    todo: report,
    isLate: false,
    query: `SELECT 'entry ' || i.id AS subject FROM inbox i JOIN mandate m ON m.id = i.mandate_id
      WHERE i.state = 'queued' AND (m.ended_at IS NOT NULL OR (m.status = 'blocked' AND i.rank > 0))`,
  },
  {
    invariant: "I2",
    what: "the lease of its claim ended long ago and nobody recovered it",
    todo: restart,
    isLate: true,
    query: `SELECT 'entry ' || id AS subject FROM inbox WHERE state = 'claimed' AND lease_until < ?`,
  },
  {
    invariant: "I2",
    what: "the conversation and its claimed entry do not agree on what runs",
    todo: report,
    isLate: false,
    query: `SELECT 'conversation ' || c.id AS subject FROM conversation c
      LEFT JOIN inbox i ON i.conversation_id = c.id AND i.state = 'claimed'
      WHERE c.running_entry_id IS DISTINCT FROM i.id`,
  },
  {
    invariant: "I3",
    what: "a turn ended without its settlement",
    todo: report,
    isLate: false,
    query: `SELECT 'turn ' || t.id AS subject FROM turn t JOIN mandate m ON m.id = t.mandate_id
      WHERE t.ended_at IS NOT NULL AND t.settlement_json IS NULL AND m.ended_at IS NULL`,
  },
  {
    invariant: "I3",
    what: "a turn that had begun its work was cut off and never settled",
    todo: report,
    isLate: false,
    query: `SELECT 'turn ' || t.id AS subject FROM turn t
      LEFT JOIN inbox i ON i.id = t.entry_id AND i.fence = t.fence AND i.state = 'claimed'
      WHERE t.ended_at IS NULL AND t.prompt_given_at IS NOT NULL AND i.id IS NULL`,
  },
  {
    invariant: "I4",
    what: "a delivery waits to be accepted",
    todo: "see that the scheduling process runs and the forge answers",
    isLate: true,
    // One that waits for an earlier one of its subject is not late itself.
    query: `SELECT 'delivery ' || d.id AS subject FROM delivery d
      WHERE d.handled_at IS NULL AND d.next_at < ?
        AND NOT EXISTS (SELECT 1 FROM delivery e
          WHERE e.subject = d.subject AND e.id < d.id AND e.handled_at IS NULL)`,
  },
  {
    invariant: "I4",
    what: "a command was taken from a delivery that is still open",
    todo: report,
    isLate: false,
    query: `SELECT 'command ' || c.identity AS subject FROM command c
      JOIN delivery d ON d.id = c.delivery_id WHERE d.handled_at IS NULL`,
  },
  {
    invariant: "I4",
    what: "no command is on record that made it, or more than one",
    todo: report,
    isLate: false,
    query: `SELECT m.id AS subject FROM mandate m WHERE m.parent_id IS NULL AND 1 <>
      (SELECT COUNT(*) FROM command c WHERE c.mandate_id = m.id AND c.at = m.created_at
        AND c.name IN ('do', 'run', 'retry'))`,
  },
  {
    invariant: "I5",
    what: "a message was being sent when its sender vanished, and nobody asked what became of it",
    todo: restart,
    isLate: true,
    query: `SELECT 'message ' || key AS subject FROM outbox
      WHERE state = 'sending' AND lease_until < ?`,
  },
  {
    invariant: "I5",
    what: "a message is due and is not sent, nor was any before it lately",
    todo: "see that the scheduling process runs and the forge answers",
    isLate: true,
    query: `SELECT 'message ' || o.key AS subject FROM outbox o
      WHERE o.state IN ('pending', 'unsure') AND o.next_at < ?1 AND NOT EXISTS
        (SELECT 1 FROM outbox e WHERE e.conversation_id = o.conversation_id AND (e.sent_at >= ?1
          OR (e.lane = o.lane AND e.id < o.id AND e.state IN ('pending', 'sending', 'unsure'))))`,
  },
  {
    invariant: "I5",
    what: "two messages share one comment, or a sent comment has no id",
    todo: report,
    isLate: false,
    query: `SELECT 'message ' || o.key AS subject FROM outbox o
      WHERE o.kind <> 'reaction' AND ((o.state = 'sent' AND o.forge_id IS NULL) OR EXISTS
        (SELECT 1 FROM outbox e WHERE e.conversation_id = o.conversation_id AND e.id < o.id
          AND e.forge_id = o.forge_id AND e.kind <> 'reaction'))`,
  },
  {
    invariant: "I6",
    what: "a wait ends later than its mandate",
    todo: report,
    isLate: false,
    query: `SELECT 'wait ' || w.id AS subject FROM wait w JOIN mandate m ON m.id = w.mandate_id
      WHERE w.deadline_at > m.deadline_at`,
  },
  {
    invariant: "I8",
    what: "a turn was started after the mandate had ended",
    todo: report,
    isLate: false,
    query: `SELECT 'turn ' || t.id AS subject FROM turn t JOIN mandate m ON m.id = t.mandate_id
      WHERE t.started_at > m.ended_at`,
  },
  {
    invariant: "I8",
    what: "a wait is alive in a mandate that has ended or is blocked",
    todo: report,
    isLate: false,
    query: `SELECT 'wait ' || w.id AS subject FROM wait w JOIN mandate m ON m.id = w.mandate_id
      WHERE w.state <> 'ended' AND m.status IN ('completed', 'stopped', 'blocked')`,
  },
  {
    invariant: "I9",
    what: "its history of evidence has gaps or more entries than allowed",
    todo: report,
    isLate: false,
    query: `SELECT mandate_id AS subject FROM evidence GROUP BY mandate_id
      HAVING COUNT(*) > 256 OR COUNT(*) <> MAX(sequence) + 1`,
  },
];
