-- What a device must never lose: its check-ins and its outbox. An admission and its record are
-- one transaction here, durable before the gate opens.

-- Small facts of the device, one JSON text each: the clock's state, the key manifest, where
-- unsent records begin.
CREATE TABLE fact (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

-- The lives of this journal: a new one starts when the machine is another than before.
CREATE TABLE log (
  log         INTEGER PRIMARY KEY,
  log_id      BLOB NOT NULL UNIQUE, -- UUID, random
  fingerprint TEXT NOT NULL,        -- of the machine that it was made on
  text_key    BLOB NOT NULL         -- 32 random bytes that scanned texts are hashed with
);

-- The records in the order made. `record` is the JSON text that is uploaded, to the byte.
CREATE TABLE sync_log (
  position    INTEGER PRIMARY KEY,
  log         INTEGER NOT NULL REFERENCES log (log),
  sequence    INTEGER NOT NULL, -- from 1, without gaps within a log
  record_id   BLOB NOT NULL,    -- UUIDv7
  sync_status INTEGER NOT NULL, -- 0 unsent, 1 synced, 2 quarantined, 3 stuck
  record      TEXT NOT NULL
);

-- What moved people of a ticket past a checkpoint, for the fold.
CREATE TABLE admission (
  service_day   TEXT NOT NULL,
  ticket_number INTEGER NOT NULL,
  checkpoint    TEXT NOT NULL,
  record_id     BLOB NOT NULL,    -- UUIDv7
  gate_id       TEXT NOT NULL,
  is_exit       INTEGER NOT NULL, -- 0 entry, 1 exit
  persons       INTEGER NOT NULL,
  at            INTEGER NOT NULL, -- epoch ms
  anchored      INTEGER NOT NULL, -- 0 or 1
  log           INTEGER NOT NULL,
  sequence      INTEGER NOT NULL,
  PRIMARY KEY (service_day, ticket_number, checkpoint, record_id)
) WITHOUT ROWID;
