-- Runs of positions that left for archive files. Their rows, and no others, may be
-- deleted from events; what is recorded here stays.

CREATE TABLE archived (
  first       INTEGER PRIMARY KEY,
  last        INTEGER NOT NULL UNIQUE,
  ledger      BLOB    NOT NULL, -- id of the ledger's first event
  before      BLOB    NOT NULL, -- hash of the position before first
  started_at  INTEGER NOT NULL, -- recorded_at of first
  recorded_at INTEGER NOT NULL, -- of last
  hash        BLOB    NOT NULL, -- of last
  path        TEXT    NOT NULL, -- of the archive when it was written
  digest      BLOB    NOT NULL, -- SHA-256 of its manifest
  bytes       INTEGER NOT NULL,
  written_at  INTEGER NOT NULL
) STRICT;

CREATE TRIGGER archived_no_update BEFORE UPDATE ON archived BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER archived_no_delete BEFORE DELETE ON archived BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER archived_in_order BEFORE INSERT ON archived
  WHEN NEW.first <> (SELECT coalesce(max(last), 0) + 1 FROM archived) OR NEW.last < NEW.first
    OR NOT EXISTS (SELECT 1 FROM events WHERE position = NEW.last AND hash = NEW.hash AND recorded_at = NEW.recorded_at)
    OR NOT EXISTS (SELECT 1 FROM events WHERE position = NEW.last + 1)
  BEGIN SELECT RAISE(ABORT, 'what is archived must follow the last archive and be what the rows say'); END;

DROP TRIGGER events_no_delete;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events WHEN OLD.position > (SELECT coalesce(max(last), 0) FROM archived)
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
DROP TRIGGER account_events_no_delete;
CREATE TRIGGER account_events_no_delete BEFORE DELETE ON account_events WHEN (OLD.block + 1) * 4096 > (SELECT coalesce(max(last), 0) FROM archived)
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
