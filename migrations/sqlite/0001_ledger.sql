-- The ledger. One row is one event, in commit order, without gaps.
-- Names are stored once and referred to by number; 0 is "none".

CREATE TABLE accounts (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE models (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE writers (
  id   INTEGER PRIMARY KEY,
  name BLOB NOT NULL UNIQUE -- UUID of the process
) STRICT;

CREATE TABLE events (
  position    INTEGER PRIMARY KEY,
  recorded_at INTEGER NOT NULL, -- microseconds since 1970, UTC; grows with position
  observed_at INTEGER NOT NULL, -- likewise; the writer's clock
  id          BLOB    NOT NULL, -- UUIDv7, the idempotency key
  writer      INTEGER NOT NULL,
  writer_seq  INTEGER NOT NULL,
  account     INTEGER NOT NULL,
  epoch       INTEGER NOT NULL,
  model       INTEGER NOT NULL,
  request     BLOB,             -- UUID of the client's request
  attempt     INTEGER NOT NULL,
  kind        INTEGER NOT NULL, -- permanent numbers, see docs/events.md
  format      INTEGER NOT NULL, -- schema version * 256 + codec
  payload     BLOB    NOT NULL, -- exact bytes, as hashed
  hash        BLOB    NOT NULL  -- SHA-256 of the chain
) STRICT;

CREATE UNIQUE INDEX events_id ON events (id);
CREATE INDEX events_request ON events (request) WHERE request IS NOT NULL;

-- Where an account's events are: an index that is written once for every 4,096
-- events, in the transaction that completes them, instead of with each. Block b
-- is the positions after b * 4096 up to (b + 1) * 4096; offsets holds, in two
-- bytes each, big-endian and ascending, how far behind the first of them an
-- event of the account lies. Events behind the last whole block are scanned.
CREATE TABLE account_events (
  account INTEGER NOT NULL,
  block   INTEGER NOT NULL,
  offsets BLOB    NOT NULL,
  PRIMARY KEY (account, block)
) STRICT, WITHOUT ROWID;

-- REPLACE deletes without firing a trigger, and a trigger on inserts would cost more
-- than the insert itself: in events it is left to the chain to reveal.
CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER account_events_no_update BEFORE UPDATE ON account_events BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER account_events_no_delete BEFORE DELETE ON account_events BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER accounts_no_update BEFORE UPDATE ON accounts BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER accounts_no_delete BEFORE DELETE ON accounts BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER models_no_update BEFORE UPDATE ON models BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER models_no_delete BEFORE DELETE ON models BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER writers_no_update BEFORE UPDATE ON writers BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER writers_no_delete BEFORE DELETE ON writers BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER accounts_no_replace BEFORE INSERT ON accounts WHEN EXISTS (SELECT 1 FROM accounts WHERE id = NEW.id OR name = NEW.name) BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER models_no_replace BEFORE INSERT ON models WHEN EXISTS (SELECT 1 FROM models WHERE id = NEW.id OR name = NEW.name) BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER writers_no_replace BEFORE INSERT ON writers WHEN EXISTS (SELECT 1 FROM writers WHERE id = NEW.id OR name = NEW.name) BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
