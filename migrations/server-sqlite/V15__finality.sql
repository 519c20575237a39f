-- When nothing more can be missing of a session, and what others are to hear of.

-- What each device last said of its outbox.
--   at                 When, by the server's clock.
--   delivered_through  Every record that it made before this, epoch ms, is here.
--   outstanding        Records that it held back then.
CREATE TABLE outbox_reports (
    venue             INTEGER NOT NULL,
    device_id         TEXT    NOT NULL,
    at                INTEGER NOT NULL,
    delivered_through INTEGER NOT NULL,
    outstanding       INTEGER NOT NULL,
    PRIMARY KEY (venue, device_id)
) STRICT, WITHOUT ROWID;

-- Devices of which an operator said that nobody uses them any more, and when: nothing waits for
-- one until it reports again.
CREATE TABLE devices_out_of_use (
    venue     INTEGER NOT NULL,
    device_id TEXT    NOT NULL,
    since     INTEGER NOT NULL,
    PRIMARY KEY (venue, device_id)
) STRICT, WITHOUT ROWID;

-- Sessions that are final: every gate that could have admitted to them had reported past
-- `admit_until`, epoch seconds. One that is put with a later end is open again until that is past.
--   late  Records that came afterwards and change what was counted.
CREATE TABLE session_finals (
    venue        INTEGER NOT NULL,
    session_id   TEXT    NOT NULL,
    admit_until  INTEGER NOT NULL,
    finalized_at INTEGER NOT NULL,
    generation   INTEGER NOT NULL,
    late         INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (venue, session_id)
) STRICT, WITHOUT ROWID;

-- Whether a record came after its session was final.
ALTER TABLE records ADD COLUMN late_after_final INTEGER NOT NULL DEFAULT 0;

-- Finds the sessions that end between two moments.
CREATE INDEX sessions_by_end ON sessions (venue, admit_until);
-- Finds the tickets that admit elsewhere or longer than their session.
CREATE INDEX tickets_of_their_own ON tickets (venue, service_day, session_id, zones, admit_until)
    WHERE zones <> '' OR admit_until IS NOT NULL;

-- What happened at a venue that other systems are told of, in the order of the commits.
--   position    From 1, counted per venue.
--   generation  Of the server as it happened.
--   kind        session.finalized, alarm.opened, …: a stable name.
--   thing       The id of what it is about.
--   detail      A JSON object.
CREATE TABLE events (
    venue      INTEGER NOT NULL,
    position   INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    thing      TEXT    NOT NULL,
    detail     TEXT    NOT NULL,
    PRIMARY KEY (venue, position)
) STRICT, WITHOUT ROWID;

-- The highest position that each venue's events have given. Apart from them, so that it outlives
-- those that are removed.
CREATE TABLE event_positions (
    venue INTEGER PRIMARY KEY,
    last  INTEGER NOT NULL
) STRICT;
