-- What gates learn of each other, admissions that are taken back, and what attendance counts.

-- When the server took the ticket, or its session, to be cancelled; null while it is not. A scan
-- after that is marked. What was cancelled before this column was there counts from now on.
ALTER TABLE tickets ADD COLUMN cancelled_at INTEGER;
UPDATE tickets SET cancelled_at = unixepoch() * 1000 WHERE status = 'cancelled';
ALTER TABLE sessions ADD COLUMN cancelled_at INTEGER;
UPDATE sessions SET cancelled_at = unixepoch() * 1000 WHERE status = 'cancelled';

-- Of a record that moved people of a ticket, or took such a record back: the ticket, the day and
-- the checkpoint.
ALTER TABLE records ADD COLUMN number INTEGER;
ALTER TABLE records ADD COLUMN service_day TEXT;
ALTER TABLE records ADD COLUMN checkpoint TEXT;
-- Whether a check-in's ticket was cancelled before its scan.
ALTER TABLE records ADD COLUMN after_cancel INTEGER NOT NULL DEFAULT 0;
-- Whether a later record took this one back. It stands nowhere then, and the fold leaves it out.
ALTER TABLE records ADD COLUMN taken_back INTEGER NOT NULL DEFAULT 0;
UPDATE records
   SET number = movements.number,
       service_day = movements.service_day,
       checkpoint = movements.checkpoint
  FROM movements WHERE movements.place = records.place;

-- Undos, and passages that free, which came before what they take back; applied and removed when
-- that comes. Only the same device's count.
CREATE TABLE undos_ahead (
    venue     INTEGER NOT NULL,
    id        BLOB    NOT NULL,
    device_id TEXT    NOT NULL,
    place     INTEGER NOT NULL,
    PRIMARY KEY (venue, id, device_id)
) STRICT, WITHOUT ROWID;

-- The admissions feed: a record enters it when it is accepted, and again when its standing
-- changes, so that whoever has read up to a position knows the present state.
--   entry  venue * 2^47 + position, as `records.place`, in a count of its own.
--   place  The record.
CREATE TABLE feed (
    entry INTEGER PRIMARY KEY,
    place INTEGER NOT NULL
) STRICT;

-- The highest position that a venue's feed has given.
CREATE TABLE feed_positions (
    venue INTEGER PRIMARY KEY,
    last  INTEGER NOT NULL
) STRICT;

-- The position of each day's first entry: a gate that begins anew need not go through the years.
CREATE TABLE feed_days (
    venue       INTEGER NOT NULL,
    service_day TEXT    NOT NULL,
    first       INTEGER NOT NULL,
    PRIMARY KEY (venue, service_day)
) STRICT, WITHOUT ROWID;

-- Days that are not long over are put into the feed.
INSERT INTO feed (entry, place)
SELECT (m.venue << 47) | row_number() OVER (PARTITION BY m.venue ORDER BY m.place), m.place
  FROM movements m JOIN list_days USING (venue, service_day)
 WHERE day_until > unixepoch() - 72 * 3600;
INSERT INTO feed_positions (venue, last)
SELECT entry >> 47, count(*) FROM feed GROUP BY entry >> 47;
INSERT INTO feed_days (venue, service_day, first)
SELECT entry >> 47, service_day, min(entry) & ((1 << 47) - 1)
  FROM feed JOIN records USING (place) GROUP BY entry >> 47, service_day;

-- Persons that entered or left without a ticket.
CREATE TABLE walk_ins (
    venue       INTEGER NOT NULL,
    service_day TEXT    NOT NULL,
    place       INTEGER NOT NULL,
    direction   TEXT    NOT NULL,
    category    TEXT    NOT NULL,
    persons     INTEGER NOT NULL,
    PRIMARY KEY (venue, service_day, place)
) STRICT, WITHOUT ROWID;
