-- The ledger's schema, version 1 (spec 8.2). Instants are epoch milliseconds. `*_json` columns hold JSON text.
-- Constraints are the last line of the invariants: what they forbid cannot be in the ledger at all.

CREATE TABLE repository (
  id TEXT PRIMARY KEY,
  connection TEXT NOT NULL,
  forge_id TEXT NOT NULL,
  name TEXT NOT NULL,
  source TEXT NOT NULL,
  default_branch TEXT NOT NULL,
  -- The last good policy file, and what is wrong with a newer one that is not (7.3).
  policy_json TEXT,
  policy_commit TEXT,
  problems_json TEXT,
  UNIQUE (connection, forge_id)
) STRICT;

CREATE TABLE conversation (
  id TEXT PRIMARY KEY,
  repository_id TEXT NOT NULL REFERENCES repository (id),
  number INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('issue', 'pull')),
  -- One turn at a time per conversation (1.3): the entry that is being worked on.
  running_entry_id INTEGER,
  last_claimed_at INTEGER NOT NULL DEFAULT 0,
  muted_until INTEGER NOT NULL DEFAULT 0,
  UNIQUE (repository_id, number)
) STRICT;

CREATE TABLE mandate (
  id TEXT PRIMARY KEY,
  conversation_id TEXT NOT NULL REFERENCES conversation (id),
  kind TEXT NOT NULL CHECK (kind IN ('request', 'task')),
  status TEXT NOT NULL
    CHECK (status IN ('queued', 'running', 'assessing', 'waiting', 'blocked', 'completed', 'stopped')),
  reason TEXT,
  -- One sentence for people beside the reason code, and the way out that fits this very block.
  reason_text TEXT,
  way_out TEXT,
  title TEXT NOT NULL,
  next_step TEXT NOT NULL,
  next_step_by TEXT NOT NULL,
  deadline_at INTEGER NOT NULL,
  deadline_max_at INTEGER NOT NULL,
  counters_json TEXT NOT NULL,
  ceilings_json TEXT NOT NULL,
  checklist_json TEXT,
  task_json TEXT,
  grant_json TEXT,
  policy_json TEXT NOT NULL,
  binding_json TEXT,
  -- Whose right counts: the author, or who took it over with `continue` or `retry`.
  actor_id TEXT NOT NULL,
  actor_name TEXT NOT NULL,
  parent_id TEXT REFERENCES mandate (id),
  depth INTEGER NOT NULL DEFAULT 0,
  branch TEXT NOT NULL,
  base_commit TEXT,
  published_commit TEXT,
  pull_number INTEGER,
  created_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  ended_at INTEGER,
  last_ran_at INTEGER NOT NULL DEFAULT 0,
  -- I1: the instant by which its mover must have moved it; null only when nothing has to.
  look_at INTEGER,
  notice_key TEXT,
  CHECK ((status IN ('completed', 'stopped')) = (ended_at IS NOT NULL)),
  CHECK (status <> 'blocked' OR reason IS NOT NULL),
  CHECK (status NOT IN ('completed', 'stopped') OR look_at IS NULL),
  CHECK (status IN ('completed', 'stopped', 'blocked') OR look_at IS NOT NULL)
) STRICT;
CREATE INDEX mandate_look ON mandate (look_at) WHERE look_at IS NOT NULL;
CREATE INDEX mandate_conversation ON mandate (conversation_id, created_at);
-- I8: nothing revives.
CREATE TRIGGER mandate_terminal BEFORE UPDATE OF status ON mandate
  WHEN OLD.status IN ('completed', 'stopped') AND NEW.status <> OLD.status
  BEGIN SELECT RAISE(ABORT, 'I8: a stopped or completed mandate never revives'); END;

CREATE TABLE anchor (
  mandate_id TEXT PRIMARY KEY REFERENCES mandate (id),
  text TEXT NOT NULL,
  comment_kind TEXT NOT NULL,
  comment_id TEXT NOT NULL,
  comment_url TEXT NOT NULL,
  author_id TEXT NOT NULL,
  author_name TEXT NOT NULL,
  permission TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  captured_at INTEGER NOT NULL
) STRICT;
CREATE TRIGGER anchor_immutable BEFORE UPDATE ON anchor
  BEGIN SELECT RAISE(ABORT, 'the anchor is immutable'); END;

CREATE TABLE inbox (
  id INTEGER PRIMARY KEY,
  mandate_id TEXT NOT NULL REFERENCES mandate (id),
  conversation_id TEXT NOT NULL REFERENCES conversation (id),
  kind TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'claimed', 'done', 'dropped')),
  -- One cause makes one entry, however often it is told.
  cause TEXT UNIQUE,
  rank INTEGER NOT NULL,
  order_at INTEGER NOT NULL,
  available_at INTEGER NOT NULL,
  note TEXT,
  payload_json TEXT,
  wait_id INTEGER,
  fence INTEGER NOT NULL DEFAULT 0,
  worker TEXT,
  lease_until INTEGER,
  leases_lost INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  done_at INTEGER,
  CHECK ((state = 'claimed') = (lease_until IS NOT NULL))
) STRICT;
CREATE INDEX inbox_queued ON inbox (available_at) WHERE state = 'queued';
CREATE INDEX inbox_conversation ON inbox (conversation_id) WHERE state IN ('queued', 'claimed');
CREATE INDEX inbox_mandate ON inbox (mandate_id, state);
CREATE INDEX inbox_lease ON inbox (lease_until) WHERE state = 'claimed';
-- I2: one live claim a conversation.
CREATE UNIQUE INDEX inbox_one_claim ON inbox (conversation_id) WHERE state = 'claimed';

CREATE TABLE turn (
  id INTEGER PRIMARY KEY,
  mandate_id TEXT NOT NULL REFERENCES mandate (id),
  number INTEGER NOT NULL,
  entry_id INTEGER NOT NULL REFERENCES inbox (id),
  fence INTEGER NOT NULL,
  cause TEXT NOT NULL,
  phase TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  prompt_given_at INTEGER,
  ended_at INTEGER,
  end_json TEXT,
  report_json TEXT,
  reply TEXT,
  fingerprint_before TEXT,
  fingerprint_after TEXT,
  fingerprint_all TEXT,
  events_json TEXT,
  receipt TEXT,
  receipt_reasons_json TEXT,
  saved_commit TEXT,
  isolation TEXT,
  -- The checkpoint that this turn left (2.1 step 4); null while it runs, or when it was cut off.
  settlement_json TEXT,
  UNIQUE (mandate_id, number)
) STRICT;

CREATE TABLE tool_call (
  turn_id INTEGER NOT NULL REFERENCES turn (id),
  sequence INTEGER NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('work', 'control')),
  step INTEGER,
  started_at INTEGER NOT NULL,
  finished_at INTEGER,
  exit_code INTEGER,
  failed INTEGER NOT NULL DEFAULT 0,
  text_head TEXT NOT NULL DEFAULT '',
  text_tail TEXT NOT NULL DEFAULT '',
  text_length INTEGER NOT NULL DEFAULT 0,
  text_hash TEXT,
  PRIMARY KEY (turn_id, sequence)
) STRICT;

CREATE TABLE wait (
  id INTEGER PRIMARY KEY,
  mandate_id TEXT NOT NULL REFERENCES mandate (id),
  turn_id INTEGER,
  -- armed: its recheck is to come; claimed: it has become an entry; ended: replaced, fulfilled or expired.
  state TEXT NOT NULL DEFAULT 'armed' CHECK (state IN ('armed', 'claimed', 'ended')),
  reason TEXT NOT NULL,
  next_step TEXT NOT NULL,
  subject TEXT NOT NULL,
  every_ms INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  deadline_at INTEGER NOT NULL,
  signals_json TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  ended_at INTEGER,
  CHECK (due_at <= deadline_at)
) STRICT;
CREATE UNIQUE INDEX wait_one_live ON wait (mandate_id) WHERE state <> 'ended';
-- I6: a registered deadline is never moved.
CREATE TRIGGER wait_deadline BEFORE UPDATE OF deadline_at ON wait
  BEGIN SELECT RAISE(ABORT, 'I6: the deadline of a wait is never moved'); END;

CREATE TABLE evidence (
  mandate_id TEXT NOT NULL REFERENCES mandate (id),
  sequence INTEGER NOT NULL CHECK (sequence < 256),
  kind TEXT NOT NULL CHECK (kind IN ('fingerprint', 'receipt', 'milestone')),
  hash TEXT NOT NULL,
  turn_id INTEGER,
  credited INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (mandate_id, sequence),
  -- I9: what was seen once earns nothing again.
  UNIQUE (mandate_id, kind, hash)
) STRICT;

CREATE TABLE hold (
  scope TEXT NOT NULL CHECK (scope IN ('installation', 'conversation', 'mandate')),
  subject TEXT NOT NULL,
  reason TEXT NOT NULL,
  by_name TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (scope, subject)
) STRICT;

CREATE TABLE recovery_grant (
  mandate_id TEXT NOT NULL REFERENCES mandate (id),
  turn_id INTEGER NOT NULL,
  by_name TEXT NOT NULL,
  at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  consumed_at INTEGER,
  PRIMARY KEY (mandate_id, turn_id, at)
) STRICT;

CREATE TABLE delivery (
  id INTEGER PRIMARY KEY,
  connection TEXT NOT NULL,
  guid TEXT NOT NULL,
  payload_json TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  handled_at INTEGER,
  outcome TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL,
  UNIQUE (connection, guid)
) STRICT;
CREATE INDEX delivery_open ON delivery (next_at) WHERE handled_at IS NULL;

-- I4: what a command is, however often and by whichever way it arrives (1.4, identity).
CREATE TABLE command (
  identity TEXT PRIMARY KEY,
  text_identity TEXT NOT NULL,
  delivery_id INTEGER NOT NULL,
  conversation_id TEXT NOT NULL,
  name TEXT NOT NULL,
  mandate_id TEXT,
  body_hash TEXT NOT NULL,
  command_hash TEXT NOT NULL,
  by_id TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;

CREATE INDEX command_text ON command (text_identity);

CREATE TABLE outbox (
  id INTEGER PRIMARY KEY,
  -- I5: one key, one effect.
  key TEXT NOT NULL UNIQUE,
  conversation_id TEXT NOT NULL REFERENCES conversation (id),
  mandate_id TEXT REFERENCES mandate (id),
  kind TEXT NOT NULL,
  payload_json TEXT NOT NULL,
  -- Rows of one lane are delivered one after the other.
  lane TEXT NOT NULL,
  priority INTEGER NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending'
    CHECK (state IN ('pending', 'sending', 'unsure', 'sent', 'dead', 'dropped')),
  revision INTEGER NOT NULL DEFAULT 1,
  sent_revision INTEGER NOT NULL DEFAULT 0,
  sent_hash TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  probes INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL,
  lease_until INTEGER,
  intent_at INTEGER,
  forge_id TEXT,
  url TEXT,
  created_at INTEGER NOT NULL,
  sent_at INTEGER
) STRICT;
CREATE INDEX outbox_open ON outbox (next_at) WHERE state IN ('pending', 'unsure');
CREATE INDEX outbox_lane ON outbox (lane, id) WHERE state IN ('pending', 'sending', 'unsure');
CREATE INDEX outbox_mandate ON outbox (mandate_id);
CREATE INDEX outbox_conversation ON outbox (conversation_id, created_at);

-- Append-only history: what people read under "timeline", and what `log` prints.
CREATE TABLE event (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  conversation_id TEXT,
  mandate_id TEXT,
  turn_id INTEGER,
  kind TEXT NOT NULL,
  facts_json TEXT NOT NULL
) STRICT;
CREATE INDEX event_mandate ON event (mandate_id, id);
CREATE TRIGGER event_no_update BEFORE UPDATE ON event
  BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER event_no_delete BEFORE DELETE ON event
  BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

-- The local forge (6.1): its issues, pull requests, comments and reactions live beside the rest.
CREATE TABLE local_issue (
  repository_id TEXT NOT NULL REFERENCES repository (id),
  number INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('issue', 'pull')),
  title TEXT NOT NULL,
  body TEXT NOT NULL,
  author_id TEXT NOT NULL,
  author_name TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'closed', 'merged')),
  is_draft INTEGER NOT NULL DEFAULT 0,
  head TEXT,
  base TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (repository_id, number)
) STRICT;
CREATE UNIQUE INDEX local_pull_head ON local_issue (repository_id, head) WHERE kind = 'pull' AND state = 'open';

CREATE TABLE local_comment (
  id INTEGER PRIMARY KEY,
  repository_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  author_id TEXT NOT NULL,
  author_name TEXT NOT NULL,
  body TEXT NOT NULL,
  -- What the caller named this write, so that a repeated one is the same comment.
  request_key TEXT UNIQUE,
  created_at INTEGER NOT NULL,
  edited_at INTEGER,
  FOREIGN KEY (repository_id, number) REFERENCES local_issue (repository_id, number)
) STRICT;
CREATE INDEX local_comment_thread ON local_comment (repository_id, number, id);

CREATE TABLE local_reaction (
  repository_id TEXT NOT NULL,
  target TEXT NOT NULL,
  content TEXT NOT NULL,
  user_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (repository_id, target, content, user_id)
) STRICT;
