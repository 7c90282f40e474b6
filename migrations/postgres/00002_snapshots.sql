-- +goose Up

-- States that were derived from the ledger, so that they need not be derived
-- from its beginning again. Disposable: rows may be deleted at any time.
CREATE TABLE snapshots (
  name     text    NOT NULL COLLATE "C",
  version  bigint  NOT NULL,
  position bigint  NOT NULL,
  hash     bytea   NOT NULL CHECK (octet_length(hash) = 32), -- of the event at the position
  state    bytea   NOT NULL, -- compressed
  PRIMARY KEY (name, version, position)
);

ALTER TABLE snapshots ALTER state SET STORAGE EXTERNAL;

-- +goose Down
DROP TABLE snapshots;
