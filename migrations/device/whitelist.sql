-- One day's list as a gate holds it, in a file of its own. The file is built aside, checked
-- against its signed manifest and put in place whole; it is never changed afterwards and never
-- migrated, since it can be fetched again: a file of another layout is dropped.

-- The signed head that the rows were checked against. One row.
CREATE TABLE list (
  head TEXT NOT NULL -- JSON: protocol::ListHead
);

-- The tickets, tombstones included.
CREATE TABLE ticket (
  number    INTEGER PRIMARY KEY, -- the ticket number
  ticket_id TEXT NOT NULL,       -- for v1 codes, which carry it
  order_end TEXT NOT NULL,       -- the folded order number, last character first
  last_four INTEGER,             -- digits of phone or document, if any
  row       BLOB NOT NULL        -- the bytes that were digested
);

-- Documents by their hash. Several tickets may stand behind one document.
CREATE TABLE document (
  hash   BLOB NOT NULL,    -- 5 bytes
  number INTEGER NOT NULL, -- the ticket number
  PRIMARY KEY (hash, number)
) WITHOUT ROWID;

-- Opaque codes by their hash. Several tickets may stand behind one code.
CREATE TABLE opaque (
  hash   BLOB NOT NULL,    -- 16 bytes
  number INTEGER NOT NULL, -- the ticket number
  PRIMARY KEY (hash, number)
) WITHOUT ROWID;
