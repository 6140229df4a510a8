// What notices, pages and the CLI say about a mandate (spec 1.6) and the installation (7.4), assembled from rows.
// Changes and decides nothing: the words are in notices/.

import { isTerminal, type Status } from "../../policies/mandate/mandate.ts";
import { stepLabel } from "../../policies/tasks.ts";
import type { MandateFacts } from "../notices/facts.ts";
import { holdOn } from "./history.ts";
import type { Sql, Tx } from "./ledger.ts";
import { findAnchor, mandateOf, type Anchor, type MandateRow } from "./mandates.ts";
import { insertOnce } from "./rows.ts";
import { lastTurn, type ToolCallRow } from "./turns.ts";
import { liveWait } from "./waits.ts";

const seenLimit = 500;

/** How facts are shown: where a record is (null where no page is served), and deadlines in which zone beside UTC. */
export interface Shown {
  recordUrl(id: string): string | null;
  readonly timeZone?: string;
}

/** Throws when there is no such mandate. */
export async function factsOf(sql: Sql, id: string, shown: Shown): Promise<MandateFacts> {
  const mandate = await mandateOf(sql, id);
  const anchor = await findAnchor(sql, id);
  return {
    id: mandate.id,
    title: mandate.title,
    status: mandate.status,
    reason: mandate.reason,
    reasonText: mandate.reasonText,
    wayOut: mandate.wayOut,
    nextStep: mandate.nextStep,
    nextStepBy: mandate.nextStepBy,
    deadlineAt: mandate.deadlineAt,
    counters: mandate.counters,
    ceilings: mandate.ceilings,
    head: mandate.pinnedHead,
    branch: mandate.branch,
    publishedCommit: mandate.publishedCommit,
    createdAt: mandate.createdAt,
    endedAt: mandate.endedAt,
    hold: await holdOf(sql, mandate),
    wait: await waitOf(sql, mandate),
    checklist: mandate.checklist ?? [],
    anchor: {
      text: anchor?.text ?? "",
      url: anchor?.commentUrl ?? "",
      authorId: anchor?.authorId ?? "",
      authorName: anchor?.authorName ?? "",
    },
    pull: pullOf(mandate, anchor),
    phase: mandate.status === "running" ? ((await lastTurn(sql, id))?.phase ?? null) : null,
    recordUrl: shown.recordUrl(id),
    timeZone: shown.timeZone,
    taskName: mandate.task?.name ?? null,
    steps: stepsOf(mandate),
  };
}

export async function factsOfEach(
  sql: Sql,
  mandates: readonly Pick<MandateRow, "id">[],
  shown: Shown,
): Promise<MandateFacts[]> {
  const facts: MandateFacts[] = [];
  for (const { id } of mandates) facts.push(await factsOf(sql, id, shown));
  return facts;
}

/** A hold shows only where a mandate would go on by itself (1.1). */
async function holdOf(sql: Sql, mandate: MandateRow): Promise<MandateFacts["hold"]> {
  const holdable: readonly Status[] = ["queued", "assessing", "waiting"];
  if (!holdable.includes(mandate.status)) return null;
  const hold = await holdOn(sql, mandate);
  if (hold === undefined) return null;
  return { reason: hold.reason, byName: hold.byName, at: hold.at };
}

async function waitOf(sql: Sql, mandate: MandateRow): Promise<MandateFacts["wait"]> {
  if (isTerminal(mandate.status)) return null;
  const wait = await liveWait(sql, mandate.id);
  if (wait === undefined) return null;
  return { reason: wait.reason, dueAt: wait.dueAt, deadlineAt: wait.deadlineAt };
}

/**
 * The ledger keeps the number alone. Issues and pull requests share one sequence on every forge, which finds a pull
 * request under an issue's address too, so the anchor's address with the other number leads there.
 */
function pullOf(mandate: MandateRow, anchor: Anchor | undefined): MandateFacts["pull"] {
  const number = mandate.pullNumber;
  if (number === null) return null;
  const near = anchor?.commentUrl ?? `#${number}`;
  return { number, url: near.replace(/\d+(?:#.*)?$/, String(number)) };
}

function stepsOf({ task }: MandateRow): MandateFacts["steps"] {
  if (task === null) return [];
  return task.task.steps.map((step, index) => ({
    title: stepLabel(step),
    state: task.progress[index]?.state ?? "open",
  }));
}

/** The last finished work call in words, its last lines cut to 500 characters; null before the first one. */
export async function lastSeen(sql: Sql, mandateId: string): Promise<string | null> {
  const call = await sql.first<ToolCallRow>(
    `SELECT c.* FROM tool_call c JOIN turn t ON t.id = c.turn_id
     WHERE t.mandate_id = ? AND c.kind = 'work' AND c.finished_at IS NOT NULL
     ORDER BY t.number DESC, c.sequence DESC LIMIT 1`,
    mandateId,
  );
  if (call === undefined) return null;
  const { task } = await mandateOf(sql, mandateId);
  const step = call.step === null ? undefined : task?.task.steps[call.step];
  const what = step === undefined ? call.name : `step ${(call.step ?? 0) + 1} (${stepLabel(step)})`;
  const output = (call.textTail === "" ? call.textHead : call.textTail).trim();
  const lines = output.length > seenLimit ? `…${output.slice(1 - seenLimit)}` : output;
  return `${what} ${endOf(call)}${lines === "" ? ", without any output" : `: ${lines}`}`;
}

function endOf({ exitCode, failed }: ToolCallRow): string {
  if (exitCode !== null) return `ended with exit ${exitCode}`;
  return failed === 1 ? "failed" : "ended";
}

/** Queues and lags of the whole installation, by their oldest instants; null where nothing waits. */
export interface Health {
  readonly running: number;
  readonly queued: number;
  readonly waits: number;
  readonly overdueAt: number | null;
  readonly deliveryAt: number | null;
  readonly messageAt: number | null;
  /** Given up, or a block or question for a place that takes nothing now (6.3, 1.7). */
  readonly undelivered: number;
}

export async function healthOf(sql: Sql): Promise<Health> {
  const health = await sql.first<Health>(
    `SELECT (SELECT COUNT(*) FROM inbox WHERE state = 'claimed') AS running,
       (SELECT COUNT(*) FROM inbox WHERE state = 'queued') AS queued,
       (SELECT COUNT(*) FROM wait WHERE state = 'armed') AS waits,
       (SELECT MIN(look_at) FROM mandate WHERE look_at IS NOT NULL) AS overdue_at,
       (SELECT MIN(received_at) FROM delivery WHERE handled_at IS NULL) AS delivery_at,
       (SELECT MIN(next_at) FROM outbox WHERE state IN ('pending', 'unsure')) AS message_at,
       (SELECT COUNT(*) FROM outbox o JOIN conversation c ON c.id = o.conversation_id
         WHERE o.state = 'dead' OR (o.state = 'pending' AND o.kind = 'ask' AND c.gone_at IS NOT NULL)
       ) AS undelivered`,
  );
  if (health === undefined) throw new Error("a query of counts gave no row");
  return health;
}

/** What is kept under a key: the first value that anybody gave is everybody's. */
export async function firstValue(tx: Tx, key: string, value: string): Promise<string> {
  await insertOnce(tx, "meta", { key, value });
  const row = await tx.first<{ value: string }>("SELECT value FROM meta WHERE key = ?", key);
  return row?.value ?? value;
}

/** Fails where nothing can be written now; changes nothing that anybody reads. */
export async function proveWritable(tx: Tx): Promise<void> {
  await tx.run(
    `INSERT INTO meta (key, value) VALUES ('probed-at', ?)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
    String(tx.now),
  );
}
