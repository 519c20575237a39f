-- The audit log: one row per administrative act. Nothing personal and no secret stands in it.
--   venue     The venue that the act was about; 0 for the server as a whole. An act on several
--             venues has a row in the log of each.
--   position  From 1, in the order of the commits; counted per venue, so that no log tells what
--             goes on in another.
--   act       Its stable name.
--   api_key, uid  Who: the key, or the user of the command line.
--   thing     The id of what it was about, once that is known to be one.
--   result    done; begun, of an act of several transactions; or the code of its refusal.
--   count     Of how many things, where the act counts them.
--   trace     The trace id of its request.
CREATE TABLE audit (
    venue    INTEGER NOT NULL,
    position INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    act      TEXT    NOT NULL,
    api_key  INTEGER,
    uid      INTEGER,
    thing    TEXT,
    result   TEXT    NOT NULL,
    count    INTEGER,
    trace    TEXT,
    PRIMARY KEY (venue, position)
) STRICT, WITHOUT ROWID;

-- The highest position that each log has given. Apart from the rows, so that it outlives those
-- that retention takes away.
CREATE TABLE audit_positions (
    venue INTEGER PRIMARY KEY,
    last  INTEGER NOT NULL
) STRICT;
