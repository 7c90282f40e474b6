-- +goose Up

-- Table events becomes the first segment of a table that is divided by position.
-- No row is written or read for it.
DROP VIEW ledger;
ALTER TABLE events RENAME TO events_1;
ALTER INDEX events_pkey RENAME TO events_1_pkey;
ALTER INDEX events_id RENAME TO events_1_id;
ALTER INDEX events_request RENAME TO events_1_request;
ALTER INDEX events_account RENAME TO events_1_account;

CREATE TABLE events (LIKE events_1 INCLUDING DEFAULTS INCLUDING STORAGE, CONSTRAINT events_hash_check CHECK (octet_length(hash) = 32), PRIMARY KEY (position))
  PARTITION BY RANGE (position);
CREATE INDEX events_request ON events (request, position) WHERE request IS NOT NULL;
CREATE INDEX events_account ON events (account, position) WHERE account IS NOT NULL;

-- An id is unique in each segment, by an index that only a segment can have, and
-- over all of them because whoever appends has looked under the lock of head.
CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE ON events FOR EACH STATEMENT EXECUTE FUNCTION refuse();
CREATE TRIGGER events_no_truncate BEFORE TRUNCATE ON events FOR EACH STATEMENT EXECUTE FUNCTION refuse();
ALTER TABLE events ENABLE ALWAYS TRIGGER events_append_only;
ALTER TABLE events ENABLE ALWAYS TRIGGER events_no_truncate;

-- +goose StatementBegin
DO $$
DECLARE beyond text := (SELECT substring(pg_get_constraintdef(oid) FROM '< (?:''|\()?(\d+)') FROM pg_constraint
                        WHERE conrelid = 'events_1'::regclass AND conname = 'events_bound');
BEGIN
  EXECUTE format('ALTER TABLE events ATTACH PARTITION events_1 FOR VALUES FROM (1) TO (%s)', beyond);
END $$;
-- +goose StatementEnd
ALTER TABLE events_1 DROP CONSTRAINT events_bound;

-- Who could append to the one table can append to the whole.
-- +goose StatementBegin
DO $$
DECLARE r record;
BEGIN
  FOR r IN SELECT a.privilege_type AS what, a.grantee::regrole AS who FROM pg_class c, aclexplode(c.relacl) a
           WHERE c.oid = 'events_1'::regclass AND a.grantee <> c.relowner AND a.grantee <> 0 LOOP
    EXECUTE format('GRANT %s ON events TO %s', r.what, r.who);
  END LOOP;
END $$;
-- +goose StatementEnd

CREATE VIEW ledger AS
  SELECT position, to_timestamp(recorded_at / 1e6) AS recorded_at, to_timestamp(observed_at / 1e6) AS observed_at, id, writer,
         writer_seq, encode(account, 'escape') AS account, encode(model, 'escape') AS model, request, attempt, kind,
         octet_length(payload) AS payload_bytes, encode(hash, 'hex') AS hash
  FROM events;

-- The segments that take events now or later, in order.
CREATE VIEW segments AS
  SELECT c.oid, c.relname AS name, i.inhdetachpending AS leaving,
         substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \(''?(\d+)')::bigint AS first,
         substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''?(\d+)')::bigint - 1 AS last
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'events'::regclass;

-- Makes segments of size positions until two whole ones are ahead of the head,
-- and returns the last position that has a place. The application's role may
-- call it, and can do nothing else to a table. A new segment is empty when it
-- is attached: neither readers nor appends wait.
-- +goose StatementBegin
CREATE FUNCTION extend_events(size bigint) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  reach bigint;
  name text;
  r record;
BEGIN
  IF size IS NULL OR size < 100 OR size > 1000000000 THEN
    RAISE EXCEPTION 'a segment has 100 to 1000000000 positions';
  END IF;
  PERFORM pg_advisory_xact_lock('events'::regclass::oid::bigint);
  SELECT max(last) INTO reach FROM segments;
  WHILE reach < (SELECT position FROM head) + 2 * size LOOP
    name := 'events_' || (reach + 1);
    EXECUTE format('CREATE TABLE %I (LIKE events INCLUDING ALL)', name);
    EXECUTE format('CREATE UNIQUE INDEX %I ON %I (id)', name || '_id', name);
    EXECUTE format('CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE ON %I FOR EACH STATEMENT EXECUTE FUNCTION refuse()', name);
    EXECUTE format('CREATE TRIGGER events_no_truncate BEFORE TRUNCATE ON %I FOR EACH STATEMENT EXECUTE FUNCTION refuse()', name);
    EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER events_append_only', name);
    EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER events_no_truncate', name);
    FOR r IN SELECT a.privilege_type AS what, a.grantee::regrole AS who FROM pg_class c, aclexplode(c.relacl) a
             WHERE c.oid = 'events'::regclass AND a.grantee <> c.relowner AND a.grantee <> 0 LOOP
      EXECUTE format('GRANT %s ON %I TO %s', r.what, name, r.who);
    END LOOP;
    EXECUTE format('ALTER TABLE events ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', name, reach + 1, reach + 1 + size);
    reach := reach + size;
  END LOOP;
  RETURN reach;
END $$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION extend_events(bigint) FROM PUBLIC;

-- It runs as the owner: a caller's temporary tables must not stand before ours.
-- +goose StatementBegin
DO $$
BEGIN
  EXECUTE format('ALTER FUNCTION extend_events(bigint) SET search_path = %I, pg_temp', current_schema());
END $$;
-- +goose StatementEnd

-- Segments that left for archive files; what is recorded here stays. Their
-- tables are detached and dropped by the owner after the row is committed.
CREATE TABLE archived (
  first       bigint PRIMARY KEY,
  last        bigint NOT NULL UNIQUE,
  ledger      uuid   NOT NULL, -- id of the ledger's first event
  before      bytea  NOT NULL, -- hash of the position before first
  started_at  bigint NOT NULL, -- recorded_at of first
  recorded_at bigint NOT NULL, -- of last
  hash        bytea  NOT NULL, -- of last
  path        text   NOT NULL, -- of the archive when it was written
  digest      bytea  NOT NULL, -- SHA-256 of its manifest
  bytes       bigint NOT NULL,
  written_at  bigint NOT NULL
);

-- +goose StatementBegin
CREATE FUNCTION archive_in_order() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF NEW.first <> (SELECT coalesce(max(last), 0) + 1 FROM archived) OR NEW.last < NEW.first
    OR NEW.last >= (SELECT position FROM head)
    OR NOT EXISTS (SELECT FROM events WHERE position = NEW.last AND hash = NEW.hash AND recorded_at = NEW.recorded_at)
    OR NOT EXISTS (SELECT FROM segments WHERE first = NEW.first AND last = NEW.last) THEN
    RAISE EXCEPTION 'what is archived must be a segment, follow the last archive and be what the rows say' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER archived_in_order BEFORE INSERT ON archived FOR EACH ROW EXECUTE FUNCTION archive_in_order();
CREATE TRIGGER archived_append_only BEFORE UPDATE OR DELETE ON archived FOR EACH STATEMENT EXECUTE FUNCTION refuse();
CREATE TRIGGER archived_no_truncate BEFORE TRUNCATE ON archived FOR EACH STATEMENT EXECUTE FUNCTION refuse();
ALTER TABLE archived ENABLE ALWAYS TRIGGER archived_in_order;
ALTER TABLE archived ENABLE ALWAYS TRIGGER archived_append_only;
ALTER TABLE archived ENABLE ALWAYS TRIGGER archived_no_truncate;

-- +goose Down
-- There is no way down: the ledger is append-only.
