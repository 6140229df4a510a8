// The schema's constraints (spec 8.3): each one is shown to bite, and none is left out.
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Ledger } from "../../../app/ledger/ledger.ts";
import { openSqlite } from "../../../app/ledger/sqlite/sqlite.ts";
import { plant, startAt } from "../../fakes/ledger.ts";

const folder = new URL("../../../app/ledger/sqlite/", import.meta.url);

/** All versions together; a table that a later one makes anew counts as the later one says. */
const schema = readdirSync(folder)
  .filter((file) => file.endsWith(".sql"))
  .map((file) => readFileSync(new URL(file, folder), "utf8"))
  .join("\n")
  .replaceAll(/\s+/g, " ")
  .replace(/CREATE TABLE delivery \(.*?\) STRICT;/, "")
  .replaceAll("delivery_2", "delivery");

/** A ledger with one row wherever a second one could do harm. */
async function openFilled(): Promise<Ledger> {
  const ledger = openSqlite({ file: ":memory:", now: () => startAt });
  onTestFinished(() => ledger.close());
  await ledger.write(async (tx) => {
    await plant(tx, { entry: { cause: "c" } });
    for (const statement of filling) await tx.run(statement);
  });
  return ledger;
}

const mandate = "(SELECT id FROM mandate)";
const claimed = `UPDATE inbox SET state = 'claimed', lease_until = 1`;
const anEntry = `INSERT INTO inbox (mandate_id, conversation_id, kind, state, lease_until, cause, rank, order_at, available_at,
  created_at) SELECT mandate_id, conversation_id, kind`;
const aWait = `INSERT INTO wait (mandate_id, reason, next_step, subject, every_ms, signals_json, created_at, due_at,
  deadline_at, state)`;
const aCall = "INSERT INTO tool_call (turn_id, sequence, name, started_at, kind)";
const aTurn = "INSERT INTO turn (mandate_id, number, entry_id, fence, cause, phase, started_at)";
const evidence = "INSERT INTO evidence (mandate_id, sequence, kind, hash, credited, at)";
const aMessage = `INSERT INTO outbox (key, conversation_id, kind, payload_json, lane, priority, next_at, created_at, state)`;
const anIssue = `INSERT INTO local_issue (repository_id, number, title, body, author_id, author_name, created_at, kind,
  state, head)`;
const aComment = `INSERT INTO local_comment (repository_id, author_id, author_name, body, created_at, number,
  request_key)`;
const aCommand = `INSERT INTO command VALUES ('i', 't', 1, 'c', 'do', NULL, 'b', 'h', '1', 1)`;
const delivered = `INSERT INTO delivery (connection, guid, event, payload_json, subject, text_identity,
  received_at, next_at)`;
const aDelivery = `${delivered} VALUES ('local', 'g', NULL, '{}', 's', 't', 1, 1)`;
const aNudge = `INSERT INTO nudge (delivery_id, mandate_id, event, facts_json, at)
  SELECT 1, id, 'push', '{}', 1 FROM mandate`;
const aLimit = `INSERT INTO forge_limit VALUES ('55', 1)`;
const aConnection = `INSERT INTO connection (name) VALUES ('github')`;
const aPoll = `INSERT INTO poll (connection, subject, asked_at) VALUES ('github', 's', 1)`;
const aDuty = `INSERT INTO duty VALUES ('sweep', 'one', 1)`;
const aProcess = `INSERT INTO process VALUES ('one', 'server', '1', 1, 1, 1)`;
const aState = `INSERT INTO saved_state SELECT id, 'home', 'c', 'b', x'00', 1 FROM mandate`;
const aHold = `INSERT INTO hold VALUES ('installation', '', 'paused', 'ada', 1)`;
const aGrant = `INSERT INTO recovery_grant SELECT id, 1, 'ada', 1, 2, NULL FROM mandate`;
const aReaction = `INSERT INTO local_reaction VALUES ('r-1', 'issue:1', 'eyes', '1', 1)`;
const aMeta = `INSERT INTO meta VALUES ('k', 'v')`;

const filling: readonly string[] = [
  `${aWait} SELECT id, 'r', 'n', '', 1, '[]', 1, 1, 2, 'armed' FROM mandate`,
  `${aTurn} SELECT mandate_id, 1, id, 1, 'request', 'claimed', 1 FROM inbox`,
  `${aCall} VALUES (1, 1, 'x', 1, 'work')`,
  `${evidence} VALUES (${mandate}, 0, 'receipt', 'a', 1, 1)`,
  `${aMessage} VALUES ('k', 'r-1#1', 'tell', '{}', 'l', 1, 1, 1, 'pending')`,
  `${anIssue} VALUES ('r-1', 1, 't', 'b', '1', 'ada', 1, 'pull', 'open', 'topic')`,
  `${aComment} VALUES ('r-1', '1', 'ada', 'b', 1, 1, 'k')`,
  `INSERT INTO event (at, kind, facts_json) VALUES (1, 'accepted', '{}')`,
  aCommand,
  aDelivery,
  aHold,
  aGrant,
  aReaction,
  aMeta,
  aNudge,
  aLimit,
  aConnection,
  aPoll,
  aDuty,
  aProcess,
  aState,
];

/** What the schema says, and what it therefore refuses. */
const constraints: readonly (readonly [string, string, string?])[] = [
  [
    "UNIQUE (connection, forge_id)",
    `INSERT INTO repository (id, connection, forge_id, name, source, default_branch)
     VALUES ('r-2', 'local', 'r-1', 'n', 's', 'main')`,
  ],
  [
    "CHECK (kind IN ('issue', 'pull')), -- One turn",
    `INSERT INTO conversation (id, repository_id, number, kind) VALUES ('c', 'r-1', 2, 'chat')`,
  ],
  [
    "UNIQUE (repository_id, number)",
    `INSERT INTO conversation (id, repository_id, number, kind) VALUES ('c', 'r-1', 1, 'issue')`,
  ],
  ["CHECK (kind IN ('request', 'task'))", "UPDATE mandate SET kind = 'other'"],
  [
    "CHECK (status IN ('queued', 'running', 'assessing', 'waiting', 'blocked', 'completed', 'stopped'))",
    "UPDATE mandate SET status = 'held'",
  ],
  [
    "CHECK ((status IN ('completed', 'stopped')) = (ended_at IS NOT NULL))",
    "UPDATE mandate SET status = 'completed', look_at = NULL",
  ],
  ["CHECK (status <> 'blocked' OR reason IS NOT NULL)", "UPDATE mandate SET status = 'blocked'"],
  [
    "CHECK (status NOT IN ('completed', 'stopped') OR look_at IS NULL)",
    "UPDATE mandate SET status = 'stopped', ended_at = 1",
  ],
  [
    "CHECK (status IN ('completed', 'stopped', 'blocked') OR look_at IS NOT NULL)",
    "UPDATE mandate SET look_at = NULL",
  ],
  ["CREATE TRIGGER mandate_terminal", "UPDATE mandate SET status = 'queued'", "I8"],
  ["CREATE TRIGGER anchor_immutable", "UPDATE anchor SET text = 'x'", "the anchor is immutable"],
  ["CHECK (state IN ('queued', 'claimed', 'done', 'dropped'))", "UPDATE inbox SET state = 'x'"],
  ["cause TEXT UNIQUE", `${anEntry}, 'queued', NULL, cause, 0, 0, 0, 0 FROM inbox`],
  ["CHECK ((state = 'claimed') = (lease_until IS NOT NULL))", "UPDATE inbox SET state = 'claimed'"],
  ["CREATE UNIQUE INDEX inbox_one_claim", `${anEntry}, 'claimed', 1, 'd', 0, 0, 0, 0 FROM inbox`],
  [
    "UNIQUE (mandate_id, number)",
    `${aTurn} SELECT mandate_id, 1, id, 2, 'request', 'claimed', 1 FROM inbox`,
  ],
  ["CHECK (kind IN ('work', 'control'))", `${aCall} VALUES (1, 2, 'x', 1, 'other')`],
  ["PRIMARY KEY (turn_id, sequence)", `${aCall} VALUES (1, 1, 'x', 1, 'work')`],
  ["CHECK (state IN ('armed', 'claimed', 'ended'))", "UPDATE wait SET state = 'lost'"],
  ["CHECK (due_at <= deadline_at)", "UPDATE wait SET due_at = 3"],
  [
    "CREATE UNIQUE INDEX wait_one_live",
    `${aWait} SELECT id, 'r', 'n', '', 1, '[]', 1, 1, 2, 'claimed' FROM mandate`,
  ],
  ["CREATE TRIGGER wait_deadline", "UPDATE wait SET deadline_at = 9", "I6"],
  ["CHECK (sequence < 256)", `${evidence} VALUES (${mandate}, 256, 'receipt', 'b', 1, 1)`],
  [
    "CHECK (kind IN ('fingerprint', 'receipt', 'milestone'))",
    `${evidence} VALUES (${mandate}, 1, 'claim', 'b', 1, 1)`,
  ],
  [
    "PRIMARY KEY (mandate_id, sequence)",
    `${evidence} VALUES (${mandate}, 0, 'receipt', 'b', 1, 1)`,
  ],
  ["UNIQUE (mandate_id, kind, hash)", `${evidence} VALUES (${mandate}, 1, 'receipt', 'a', 1, 1)`],
  [
    "CHECK (scope IN ('installation', 'conversation', 'mandate'))",
    `INSERT INTO hold VALUES ('world', '', 'paused', 'ada', 1)`,
  ],
  ["PRIMARY KEY (scope, subject)", aHold],
  ["PRIMARY KEY (mandate_id, turn_id, at)", aGrant],
  ["UNIQUE (connection, guid)", `${delivered} VALUES ('local', 'g', 'x', NULL, NULL, NULL, 1, 1)`],
  [
    "UNIQUE (connection, text_identity)",
    `${delivered} VALUES ('local', 'h', NULL, '{}', 's', 't', 1, 1)`,
  ],
  [
    "CHECK (event IS NOT NULL OR payload_json IS NOT NULL)",
    `${delivered} VALUES ('local', 'h', NULL, NULL, NULL, NULL, 1, 1)`,
  ],
  [
    "CHECK ((payload_json IS NULL) = (subject IS NULL))",
    `${delivered} VALUES ('local', 'h', NULL, '{}', NULL, NULL, 1, 1)`,
  ],
  ["CHECK (reach IN ('open', 'suspended', 'gone'))", "UPDATE repository SET reach = 'lost'"],
  ["UNIQUE (delivery_id, mandate_id)", aNudge],
  ["CREATE TABLE forge_limit (account TEXT PRIMARY KEY", aLimit],
  ["CREATE TABLE connection ( name TEXT PRIMARY KEY", aConnection],
  ["PRIMARY KEY (connection, subject)", aPoll],
  ["CREATE TABLE duty ( name TEXT PRIMARY KEY", aDuty],
  ["CREATE TABLE process ( id TEXT PRIMARY KEY", aProcess],
  ["CREATE TABLE saved_state ( mandate_id TEXT PRIMARY KEY", aState],
  [
    "CHECK ((pack IS NULL) = (commit_hash IS NULL) AND (pack IS NULL) = (base_hash IS NULL))",
    "UPDATE saved_state SET pack = NULL",
  ],
  ["CHECK (kind IN ('server', 'worker'))", "UPDATE process SET kind = 'launcher'"],
  ["identity TEXT PRIMARY KEY", aCommand],
  [
    "key TEXT NOT NULL UNIQUE",
    `${aMessage} VALUES ('k', 'r-1#1', 'tell', '{}', 'l', 1, 1, 1, 'pending')`,
  ],
  [
    "CHECK (state IN ('pending', 'sending', 'unsure', 'sent', 'dead', 'dropped'))",
    "UPDATE outbox SET state = 'lost'",
  ],
  ["CREATE TRIGGER event_no_update", "UPDATE event SET kind = 'x'", "append-only"],
  ["CREATE TRIGGER event_no_delete", "DELETE FROM event", "append-only"],
  ["CREATE TABLE meta (key TEXT PRIMARY KEY", aMeta],
  [
    "CHECK (kind IN ('issue', 'pull')), title",
    `${anIssue} VALUES ('r-1', 2, 't', 'b', '1', 'ada', 1, 'chat', 'open', NULL)`,
  ],
  ["CHECK (state IN ('open', 'closed', 'merged'))", "UPDATE local_issue SET state = 'lost'"],
  [
    "PRIMARY KEY (repository_id, number)",
    `${anIssue} VALUES ('r-1', 1, 't', 'b', '1', 'ada', 1, 'issue', 'open', NULL)`,
  ],
  [
    "CREATE UNIQUE INDEX local_pull_head",
    `${anIssue} VALUES ('r-1', 2, 't', 'b', '1', 'ada', 1, 'pull', 'open', 'topic')`,
  ],
  ["request_key TEXT UNIQUE", `${aComment} VALUES ('r-1', '1', 'ada', 'b', 1, 1, 'k')`],
  [
    "FOREIGN KEY (repository_id, number) REFERENCES local_issue",
    `${aComment} VALUES ('r-1', '1', 'ada', 'b', 1, 99, 'l')`,
    "FOREIGN KEY",
  ],
  ["PRIMARY KEY (repository_id, target, content, user_id)", aReaction],
];

describe("each constraint of the schema bites", () => {
  const rows = constraints.map(
    ([said, statement, message]) => [said, statement, message ?? kindOf(said)] as const,
  );

  test.each(rows)("%s", async (said, statement, message) => {
    const ledger = await openFilled();
    expect(schema).toContain(said);
    if (said.endsWith("mandate_terminal")) {
      await ledger.write((tx) =>
        tx.run("UPDATE mandate SET status = 'stopped', ended_at = 1, look_at = NULL"),
      );
    }
    if (said.endsWith("inbox_one_claim")) await ledger.write((tx) => tx.run(claimed));
    await expect(ledger.write((tx) => tx.run(statement))).rejects.toThrow(message);
  });

  test("a row must belong to something that exists", async () => {
    const ledger = await openFilled();
    expect(references()).toContainEqual(["mandate_id", "turn"]);
    for (const [column, table] of references()) {
      const breaking = ledger.write((tx) => tx.run(`UPDATE ${table} SET ${column} = 'm-none'`));
      await expect(breaking, `${table}.${column}`).rejects.toThrow(/FOREIGN KEY|immutable/);
    }
  });

  test("none is left out", () => {
    const rest = constraints.reduce((text, [said]) => text.replace(said, ""), schema);
    const others = rest.match(
      /CHECK \([^,]*|[^,(]*UNIQUE[^,]*|CREATE TRIGGER \w+|PRIMARY KEY \([^)]*/g,
    );
    expect(others).toBeNull();
  });
});

function kindOf(said: string): string {
  return said.startsWith("CHECK") ? "CHECK constraint failed" : "UNIQUE constraint failed";
}

/** Text columns that name a row of another table. */
function references(): (readonly [column: string, table: string])[] {
  return [...schema.matchAll(/CREATE TABLE (\w+) \((.*?)\) STRICT/g)].flatMap(
    ([, table, columns]) =>
      [...(columns ?? "").matchAll(/(\w+) TEXT (?:NOT NULL |PRIMARY KEY )?REFERENCES/g)].map(
        ([, column]) => [column ?? "", table ?? ""] as const,
      ),
  );
}
