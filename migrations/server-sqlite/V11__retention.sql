-- What is removed when its time is over, and when that was done.

-- Days that the audit log is kept.
ALTER TABLE server ADD COLUMN keep_days INTEGER NOT NULL DEFAULT 180 CHECK (keep_days >= 180);

-- The version of a list that is long over when the hashes in it were last removed: with any other
-- version there may be some again.
ALTER TABLE list_days ADD COLUMN swept_version INTEGER;

-- Runs of the jobs, in the order in which they ended.
--   job      What they remove.
--   removed  How many.
--   held     Why nothing was removed, if something stood against it.
CREATE TABLE retention_runs (
    run     INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    job     TEXT    NOT NULL,
    removed INTEGER NOT NULL,
    held    TEXT
) STRICT;
