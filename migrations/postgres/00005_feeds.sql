-- +goose Up

-- What consumers of committed events keep beside the ledger: their places, and
-- the messages that they would not take. None of it is part of the ledger.
CREATE TABLE feeds (
  name  text   PRIMARY KEY,
  place bigint NOT NULL -- last position that is done with
);

CREATE TABLE feeds_aside (
  feed     text    NOT NULL,
  id       uuid    NOT NULL,
  position bigint  NOT NULL, -- 0: it tells of no event
  requeued boolean NOT NULL, -- will be delivered again
  message  bytea   NOT NULL, -- JSON
  PRIMARY KEY (feed, id)
);

-- +goose Down
DROP TABLE feeds_aside, feeds;
