-- Alarms, what they go by, and what was found when the booking system stated a day's set.

-- What needs a person at a venue, and what needed one.
--   alarm      From 1, counted per venue. The oldest that have ended are removed.
--   kind       capacity_80, no_tickets_tomorrow, …: a stable name.
--   thing      What it is about: a session, a session and a zone, a service day, or the venue.
--   detail     A JSON object, as of the opening.
--   opened_at, ended_at  By the server's clock, epoch ms; no end while it is open.
CREATE TABLE alarms (
    venue     INTEGER NOT NULL,
    alarm     INTEGER NOT NULL,
    kind      TEXT    NOT NULL,
    thing     TEXT    NOT NULL,
    detail    TEXT    NOT NULL,
    opened_at INTEGER NOT NULL,
    ended_at  INTEGER,
    PRIMARY KEY (venue, alarm)
) STRICT, WITHOUT ROWID;
-- Of two servers that find the same, one opens it.
CREATE UNIQUE INDEX alarms_open ON alarms (venue, kind, thing) WHERE ended_at IS NULL;

-- When the booking system last wrote tickets of a venue, whatever they changed. A venue that was
-- there before counts from now on.
CREATE TABLE ticket_feeds (
    venue      INTEGER PRIMARY KEY,
    written_at INTEGER NOT NULL
) STRICT;
INSERT INTO ticket_feeds (venue, written_at) SELECT venue, unixepoch() * 1000 FROM venues;

-- Persons that a session takes at once, none if nobody says; and that its zones take, as a JSON
-- object by zone.
ALTER TABLE sessions ADD COLUMN capacity INTEGER;
ALTER TABLE sessions ADD COLUMN zone_capacities TEXT NOT NULL DEFAULT '{}';

-- Sets of a day's tickets that the booking system stated, and looks at what became of them.
--   reconciliation   From 1, counted per venue. The oldest are removed.
--   form             set, put_day, digest, nightly.
--   stated, held     Tickets that it stated, and that were here.
--   sha256           Of the file, without any content encoding; none of a nightly look.
--   differences      How many of each kind, a JSON object.
--   tickets_version  The highest version of the day's rows then: a ticket changed since has a higher
--                    one.
CREATE TABLE reconciliations (
    venue           INTEGER NOT NULL,
    reconciliation  INTEGER NOT NULL,
    service_day     TEXT    NOT NULL,
    at              INTEGER NOT NULL,
    form            TEXT    NOT NULL,
    stated          INTEGER NOT NULL,
    held            INTEGER NOT NULL,
    sha256          BLOB,
    differences     TEXT    NOT NULL,
    tickets_version INTEGER NOT NULL,
    PRIMARY KEY (venue, reconciliation)
) STRICT, WITHOUT ROWID;
CREATE INDEX reconciliations_by_day ON reconciliations (venue, service_day, reconciliation);
