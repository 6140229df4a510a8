-- The ledger's schema, version 2 (spec 6.2-6.4, 1.5, 1.7): forges behind a network.

-- What a repository is reached through, whether it can be reached, and up to when its texts were read (6.2).
ALTER TABLE repository ADD COLUMN account TEXT;
ALTER TABLE repository ADD COLUMN reach TEXT NOT NULL DEFAULT 'open'
  CHECK (reach IN ('open', 'suspended', 'gone'));
ALTER TABLE repository ADD COLUMN texts_read_to INTEGER NOT NULL DEFAULT 0;
CREATE INDEX repository_account ON repository (connection, account);

-- A conversation in which nothing can be written any more (1.7), and the last known mover of its head (1.5).
ALTER TABLE conversation ADD COLUMN gone_at INTEGER;
ALTER TABLE conversation ADD COLUMN moved_head_json TEXT;
-- 1 after a mandate made by a bot: until a person has written, no bot is obeyed here (1.5).
ALTER TABLE conversation ADD COLUMN bot_had_its_turn INTEGER NOT NULL DEFAULT 0;

-- The pull request head that a mandate works on (1.5), and the commit that it was about to push (6.4).
ALTER TABLE mandate ADD COLUMN pinned_head_json TEXT;
ALTER TABLE mandate ADD COLUMN intended_commit TEXT;

-- A delivery arrives raw; its event is read out of it afterwards, and an event without a body comes from ourselves.
CREATE TABLE delivery_2 (
  id INTEGER PRIMARY KEY,
  connection TEXT NOT NULL,
  guid TEXT NOT NULL,
  -- The forge's word for it and the body as it came; the body is dropped 7 days after it was handled.
  event TEXT,
  body TEXT,
  payload_json TEXT,
  -- What must be accepted in order (6.2); null until the body was read.
  subject TEXT,
  -- A new text is taken once, by whichever GUID, hook or look it comes (1.4, identity).
  text_identity TEXT,
  received_at INTEGER NOT NULL,
  handled_at INTEGER,
  outcome TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL,
  CHECK (event IS NOT NULL OR payload_json IS NOT NULL),
  CHECK ((payload_json IS NULL) = (subject IS NULL)),
  UNIQUE (connection, guid),
  UNIQUE (connection, text_identity)
) STRICT;
INSERT INTO delivery_2
  (id, connection, guid, payload_json, subject, received_at, handled_at, outcome, attempts, next_at)
  SELECT id, connection, guid, payload_json, 'before version 2', received_at, handled_at, outcome, attempts, next_at
  FROM delivery;
DROP TABLE delivery;
ALTER TABLE delivery_2 RENAME TO delivery;
CREATE INDEX delivery_open ON delivery (next_at) WHERE handled_at IS NULL;
CREATE INDEX delivery_subject ON delivery (subject, id) WHERE handled_at IS NULL;
CREATE INDEX delivery_body ON delivery (handled_at) WHERE body IS NOT NULL;

-- 1 after a comment of ours was drawn again because somebody changed it (6.3): that happens once.
ALTER TABLE outbox ADD COLUMN redrawn INTEGER NOT NULL DEFAULT 0;

-- Writes to a forge, counted for all processes (6.3), and until when it takes none.
CREATE TABLE forge_write (
  account TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_write_account ON forge_write (account, at);
CREATE TABLE forge_limit (account TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT;

-- What outside events told (3.4): data for the recheck that they bring forward.
CREATE TABLE nudge (
  id INTEGER PRIMARY KEY,
  delivery_id INTEGER NOT NULL,
  mandate_id TEXT NOT NULL REFERENCES mandate (id),
  event TEXT NOT NULL,
  facts_json TEXT NOT NULL,
  at INTEGER NOT NULL,
  told_at INTEGER,
  UNIQUE (delivery_id, mandate_id)
) STRICT;
CREATE INDEX nudge_mandate ON nudge (mandate_id, at);

-- How a connection is kept up (6.2): shown by doctor and Health.
CREATE TABLE connection (
  name TEXT PRIMARY KEY,
  last_delivery_at INTEGER,
  swept_at INTEGER,
  deliveries_read_to INTEGER NOT NULL DEFAULT 0,
  recovered INTEGER NOT NULL DEFAULT 0
) STRICT;
