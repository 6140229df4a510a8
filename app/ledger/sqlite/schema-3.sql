-- The ledger's schema, version 3 (spec 3.4-3.7, 8.2): checked waits, and more than one process.

-- A condition that the host itself looks at (3.7): what to look for, failures in a row, and what was seen last.
ALTER TABLE wait ADD COLUMN check_json TEXT;
ALTER TABLE wait ADD COLUMN check_failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE wait ADD COLUMN seen TEXT;

-- One poll for all waits on a subject (3.7): its validator and its last answer are a cache.
CREATE TABLE poll (
  connection TEXT NOT NULL,
  subject TEXT NOT NULL,
  etag TEXT,
  answer_json TEXT,
  asked_at INTEGER NOT NULL,
  PRIMARY KEY (connection, subject)
) STRICT;

-- What only one process does at a time, the sweep for one: who, and until when (3.6).
CREATE TABLE duty (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  until INTEGER NOT NULL
) STRICT;

-- Processes that work on this ledger, for people to see; nothing is decided by it.
CREATE TABLE process (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('server', 'worker')),
  version TEXT NOT NULL,
  slots INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL
) STRICT;

-- Writes to a forge get a name, so that one that was not made can be taken back (6.3).
DROP TABLE forge_write;
CREATE TABLE forge_write (
  id INTEGER PRIMARY KEY,
  account TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_write_account ON forge_write (account, at);

-- The saved state of a mandate where workers on several machines share the ledger (5.1): in which home its files are, and
-- what others go on with. Without a pack only that home can.
CREATE TABLE saved_state (
  mandate_id TEXT PRIMARY KEY REFERENCES mandate (id),
  home TEXT NOT NULL,
  commit_hash TEXT,
  base_hash TEXT,
  pack BLOB,
  at INTEGER NOT NULL,
  CHECK ((pack IS NULL) = (commit_hash IS NULL) AND (pack IS NULL) = (base_hash IS NULL))
) STRICT;
CREATE INDEX saved_state_at ON saved_state (at);

-- What is being sent and past its lease is found without the many that were sent (3.6).
CREATE INDEX outbox_sending ON outbox (lease_until) WHERE state = 'sending';
