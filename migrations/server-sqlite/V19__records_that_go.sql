-- Records, their ids and what happened go when their time is over; and by which request what came.

-- One more kind of span: `received`, the day since 1970, UTC, on which the server got the records.
INSERT INTO log_spans
SELECT place >> 47, 'received',
       (received_at - CASE WHEN received_at < 0 THEN 86399999 ELSE 0 END) / 86400000,
       min(place), max(place)
  FROM records GROUP BY 1, 3;

-- How much of each venue's log was removed: always its beginning.
--   through           The last position that is gone.
--   check_in_through  The last one of a check-in, or of what took one back, that is gone.
--   came_before       What was removed came before this, epoch ms; what came later is all here.
CREATE TABLE removed_records (
    venue            INTEGER PRIMARY KEY,
    through          INTEGER NOT NULL,
    check_in_through INTEGER NOT NULL,
    came_before      INTEGER NOT NULL
) STRICT;

-- Ids of records that are gone, which stay taken for a while longer: whoever sends such a record
-- again hears that it was here.
--   day  On which the record came, since 1970, UTC.
CREATE TABLE removed_ids (
    venue INTEGER NOT NULL,
    day   INTEGER NOT NULL,
    id    BLOB    NOT NULL,
    PRIMARY KEY (venue, day, id)
) STRICT, WITHOUT ROWID;

-- Find what goes along with the records of a part of the log, and what was set aside long ago.
CREATE INDEX walk_ins_by_place ON walk_ins (venue, place);
CREATE INDEX quarantine_by_arrival ON quarantine (venue, received_at);

-- The trace of the request that brought records: one row for each that brought any, since a request
-- gives positions without another in between.
--   through  The last position that it gave; its first follows the row before.
--   trace    The trace id, 16 bytes; null where there was no request.
CREATE TABLE log_traces (
    venue   INTEGER NOT NULL,
    through INTEGER NOT NULL,
    trace   BLOB,
    PRIMARY KEY (venue, through)
) STRICT, WITHOUT ROWID;

-- Of records from before this, nothing is known.
INSERT INTO log_traces SELECT venue, last, NULL FROM positions WHERE last > 0;

-- That of the request in which something happened.
ALTER TABLE events ADD COLUMN trace BLOB;
