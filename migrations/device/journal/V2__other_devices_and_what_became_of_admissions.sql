-- What other devices did, what was taken back, and whether the gate has opened for a check-in.

-- Undo, resume and passage speak of a record by its id.
CREATE INDEX sync_log_by_record ON sync_log (record_id);

-- An admission of a ticket that no held list had names no day (service_day ''): it counts on any
-- day that its moment belongs to.
ALTER TABLE admission ADD COLUMN claim_granted INTEGER NOT NULL DEFAULT 0;       -- 0 or 1
ALTER TABLE admission ADD COLUMN waived_already_used INTEGER NOT NULL DEFAULT 0; -- 0 or 1
-- 0 not known, 1 released: the open command has returned, 2 passed: a sensor said so, 3 resumed.
-- Rows from before this version count as released, so that none of them opens a gate again.
ALTER TABLE admission ADD COLUMN carried_out INTEGER NOT NULL DEFAULT 1;

-- Records that count no longer: undone, or nobody passed. One may stand here before what it takes
-- back is known.
CREATE TABLE taken_back (
  record_id     BLOB PRIMARY KEY, -- what counts no longer
  ticket_number INTEGER,          -- its ticket, if it had one
  by_passage    INTEGER NOT NULL  -- 1 if this device's sensor saw nobody pass, else 0
) WITHOUT ROWID;
CREATE INDEX taken_back_by_passage ON taken_back (ticket_number) WHERE by_passage = 1;

-- The admissions feed: what any device of the venue did, this one included. It goes with the
-- day's list and can be fetched again; how far it was read is the fact feed_cursor.
CREATE TABLE feed (
  service_day         TEXT NOT NULL,
  ticket_number       INTEGER NOT NULL,
  checkpoint          TEXT NOT NULL,
  record_id           BLOB NOT NULL,    -- UUIDv7
  gate_id             TEXT NOT NULL,
  device_id           TEXT NOT NULL,
  log_id              BLOB NOT NULL,    -- UUID
  sequence            INTEGER NOT NULL,
  is_exit             INTEGER NOT NULL, -- 0 entry, 1 exit
  persons             INTEGER NOT NULL,
  at                  INTEGER NOT NULL, -- epoch ms
  anchored            INTEGER NOT NULL, -- 0 or 1
  claim_granted       INTEGER NOT NULL, -- 0 or 1
  waived_already_used INTEGER NOT NULL, -- 0 or 1
  loses               INTEGER NOT NULL, -- 1 if the server has it as a loser, else 0
  PRIMARY KEY (service_day, ticket_number, checkpoint, record_id)
) WITHOUT ROWID;
CREATE INDEX feed_losers ON feed (device_id) WHERE loses = 1;

-- What holds the gate open for everybody now: a row from its beginning to its end.
CREATE TABLE free_passage (
  record_id BLOB PRIMARY KEY,  -- of its beginning
  cause     TEXT NOT NULL,     -- emergency, scheduled, staff
  passages  INTEGER            -- counted so far; NULL before the first
) WITHOUT ROWID;
