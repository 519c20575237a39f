-- Lines of sets of tickets that are still being read: a set is applied whole or not at all, so its
-- lines wait here. Empty while no set is on its way; what a crash left is removed after a day.
--   upload          The set: a UUIDv7, which says when it was begun.
--   line            Where the ticket's last line stands in its file.
--   source_version  As in `tickets`, of that line.
--   ticket          That line, as JSON; null where none could be taken: the ticket is in the set,
--                   and stays as it is.
CREATE TABLE staged_tickets (
    venue          INTEGER NOT NULL,
    upload         BLOB    NOT NULL,
    number         INTEGER NOT NULL,
    line           INTEGER NOT NULL,
    source_version INTEGER,
    ticket         TEXT,
    PRIMARY KEY (venue, upload, number)
) STRICT, WITHOUT ROWID;
