-- +goose NO TRANSACTION
-- +goose Up

-- What the first segment may hold, proved while appends go on: so the next
-- migration can make table events a partition without reading it again.
-- +goose StatementBegin
DO $$
DECLARE
  size bigint := coalesce(nullif(current_setting('waybill.segment', true), '')::bigint, 1000000);
  head bigint := (SELECT position FROM head);
BEGIN
  IF NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = 'events'::regclass AND conname = 'events_bound') THEN
    EXECUTE format('ALTER TABLE events ADD CONSTRAINT events_bound CHECK (position >= 1 AND position < %s) NOT VALID',
      CASE head WHEN 0 THEN size ELSE (head / size + 2) * size END + 1);
  END IF;
END $$;
-- +goose StatementEnd

ALTER TABLE events VALIDATE CONSTRAINT events_bound;

-- +goose Down
-- There is no way down: the ledger is append-only.
