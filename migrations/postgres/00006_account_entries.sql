-- +goose Up

-- Where an account's events are: an index that is written once for every 4,096
-- events, behind the appends and by index_accounts alone, instead of with each.
-- Block b is the positions after b * 4096 up to (b + 1) * 4096; offsets holds, in
-- two bytes each, big-endian, how far behind the first of them an event of the
-- account lies, in any order: sorting them here would cost as much as all else.
-- All entries of a block come in one transaction, one of the account '', which
-- nobody is, among them: up to the last block that has any, all are there.
-- Events behind it are scanned.
CREATE TABLE account_events (
  block   bigint NOT NULL,
  account bytea  NOT NULL,
  offsets bytea  NOT NULL,
  PRIMARY KEY (block, account)
);
ALTER TABLE account_events ALTER offsets SET STORAGE EXTERNAL;

-- Entries of blocks that are archived, and no others, may be deleted.
-- +goose StatementBegin
CREATE FUNCTION refuse_live() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF (OLD.block + 1) * 4096 > (SELECT coalesce(max(last), 0) FROM archived) THEN
    RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN OLD;
END $$;
-- +goose StatementEnd
CREATE TRIGGER account_events_no_update BEFORE UPDATE ON account_events FOR EACH STATEMENT EXECUTE FUNCTION refuse();
CREATE TRIGGER account_events_no_delete BEFORE DELETE ON account_events FOR EACH ROW EXECUTE FUNCTION refuse_live();
CREATE TRIGGER account_events_no_truncate BEFORE TRUNCATE ON account_events FOR EACH STATEMENT EXECUTE FUNCTION refuse();
ALTER TABLE account_events ENABLE ALWAYS TRIGGER account_events_no_update;
ALTER TABLE account_events ENABLE ALWAYS TRIGGER account_events_no_delete;
ALTER TABLE account_events ENABLE ALWAYS TRIGGER account_events_no_truncate;

-- Enters up to most of the whole blocks that are next, and returns the last
-- position that is indexed then; NULL: somebody else is at it. The application's
-- role may call it, and can enter nothing else. What a crash of the server loses
-- of it is entered again, so nobody waits for the disk.
-- +goose StatementBegin
CREATE FUNCTION index_accounts(most bigint) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  place bigint;
  beyond bigint;
BEGIN
  IF most IS NULL OR most < 1 OR most > 1000 THEN
    RAISE EXCEPTION 'one call enters 1 to 1000 blocks';
  END IF;
  IF NOT pg_try_advisory_xact_lock('account_events'::regclass::oid::bigint) THEN
    RETURN NULL;
  END IF;
  PERFORM set_config('synchronous_commit', 'off', true);
  place := greatest((SELECT max(block) + 1 FROM account_events), (SELECT max(last) / 4096 FROM archived), 0);
  beyond := least(place + most, (SELECT position / 4096 FROM head));
  WHILE place < beyond LOOP
    INSERT INTO account_events (block, account, offsets)
      SELECT place, account, string_agg(int2send(((position - 1) % 4096)::int2), ''::bytea)
      FROM events WHERE position > place * 4096 AND position <= (place + 1) * 4096 AND account <> ''::bytea
        AND octet_length(account) <= 1024
      GROUP BY account
      UNION ALL SELECT place, ''::bytea, ''::bytea;
    place := place + 1;
  END LOOP;
  RETURN place * 4096;
END $$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION index_accounts(bigint) FROM PUBLIC;

-- +goose StatementBegin
DO $$
BEGIN
  EXECUTE format('ALTER FUNCTION index_accounts(bigint) SET search_path = %I, pg_temp', current_schema());
END $$;
-- +goose StatementEnd

-- The index that it takes the place of. Appends wait behind whoever waits for
-- its lock, so a reader that keeps it for long is waited for in short turns.
-- +goose StatementBegin
DO $$
BEGIN
  PERFORM set_config('lock_timeout', '500ms', true);
  FOR turn IN 1..60 LOOP
    BEGIN
      DROP INDEX IF EXISTS events_account;
      RETURN;
    EXCEPTION WHEN lock_not_available THEN
      PERFORM pg_sleep(0.5);
    END;
  END LOOP;
  RAISE EXCEPTION 'index events_account is in use: end what reads table events for long, and start again' USING ERRCODE = 'lock_not_available';
END $$;
-- +goose StatementEnd

-- +goose Down
-- There is no way down: the ledger is append-only.
