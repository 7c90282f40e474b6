-- +goose Up

-- The ledger's end: one row. Whoever appends locks it until commit, so that
-- position order is commit order and a follower misses nothing.
CREATE TABLE head (
  one         boolean PRIMARY KEY DEFAULT true CHECK (one),
  position    bigint NOT NULL,
  recorded_at bigint NOT NULL,
  hash        bytea  NOT NULL CHECK (octet_length(hash) = 32)
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

INSERT INTO head (position, recorded_at, hash) VALUES (0, 0, decode(repeat('00', 32), 'hex'));

-- One row is one event, in commit order, without gaps. Texts are bytes: a
-- client may send what is not UTF-8; the view ledger shows them to people.
CREATE TABLE events (
  position    bigint  PRIMARY KEY,
  recorded_at bigint  NOT NULL, -- microseconds since 1970, UTC; the database's clock, grows with position
  observed_at bigint  NOT NULL, -- likewise; the writer's clock
  id          uuid    NOT NULL, -- UUIDv7, the idempotency key
  writer      uuid,
  writer_seq  bigint  NOT NULL,
  account     bytea,
  epoch       bigint  NOT NULL,
  model       bytea,
  request     uuid,
  attempt     bigint  NOT NULL,
  kind        integer NOT NULL, -- permanent numbers, see docs/events.md
  format      integer NOT NULL, -- schema version * 256 + codec
  payload     bytea   NOT NULL, -- exact bytes, as hashed
  hash        bytea   NOT NULL CHECK (octet_length(hash) = 32)
);

ALTER TABLE events ALTER payload SET STORAGE MAIN;

CREATE UNIQUE INDEX events_id ON events (id);
CREATE INDEX events_request ON events (request, position) WHERE request IS NOT NULL;
CREATE INDEX events_account ON events (account, position) WHERE account IS NOT NULL;

CREATE VIEW ledger AS
  SELECT position, to_timestamp(recorded_at / 1e6) AS recorded_at, to_timestamp(observed_at / 1e6) AS observed_at, id, writer,
         writer_seq, encode(account, 'escape') AS account, encode(model, 'escape') AS model, request, attempt, kind,
         octet_length(payload) AS payload_bytes, encode(hash, 'hex') AS hash
  FROM events;

-- +goose StatementBegin
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;
-- +goose StatementEnd

CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE ON events FOR EACH STATEMENT EXECUTE FUNCTION refuse();
CREATE TRIGGER events_no_truncate BEFORE TRUNCATE ON events FOR EACH STATEMENT EXECUTE FUNCTION refuse();
CREATE TRIGGER head_one_row BEFORE INSERT OR DELETE ON head FOR EACH STATEMENT EXECUTE FUNCTION refuse();
CREATE TRIGGER head_no_truncate BEFORE TRUNCATE ON head FOR EACH STATEMENT EXECUTE FUNCTION refuse();

ALTER TABLE events ENABLE ALWAYS TRIGGER events_append_only;
ALTER TABLE events ENABLE ALWAYS TRIGGER events_no_truncate;
ALTER TABLE head ENABLE ALWAYS TRIGGER head_one_row;
ALTER TABLE head ENABLE ALWAYS TRIGGER head_no_truncate;

-- +goose Down
-- There is no way down: the ledger is append-only.
