-- Documents as credentials: of a holder's document a ticket has a keyed hash, never the number.
--   last_four_of   What last_four are of, where there are any.
--   document_day   The service day whose key made document_hash. The hash goes along when the
--                  ticket moves, and stands in that day's list alone.
ALTER TABLE tickets ADD COLUMN last_four_of TEXT NOT NULL DEFAULT 'phone';
ALTER TABLE tickets ADD COLUMN document_day TEXT;
ALTER TABLE tickets ADD COLUMN document_hash BLOB;

-- The keys of these hashes, one per service day, random, sealed under the master key. Made when a
-- day's first document arrives, removed 72 h after the day.
CREATE TABLE document_keys (
    venue       INTEGER NOT NULL REFERENCES venues,
    service_day TEXT    NOT NULL,
    sealed      BLOB    NOT NULL,
    PRIMARY KEY (venue, service_day)
) STRICT, WITHOUT ROWID;
