-- An invitation may want an operator's word before its device is enrolled.
--   confirm       Whether it does.
--   name, model   What the device that has shown its text says of itself, …
--   claimed_at    … and when it first did.
--   confirmed_at  When somebody gave the digits that the device shows. It is enrolled when it asks
--                 next.
--   refused_at    When somebody took the invitation back, or gave wrong digits once too often.
--   wrong_digits  How often wrong ones were given.
--   other_at      When another key first showed the text as well.
ALTER TABLE enrolments ADD COLUMN confirm INTEGER NOT NULL DEFAULT 0;
ALTER TABLE enrolments ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE enrolments ADD COLUMN model TEXT NOT NULL DEFAULT '';
ALTER TABLE enrolments ADD COLUMN claimed_at INTEGER;
ALTER TABLE enrolments ADD COLUMN confirmed_at INTEGER;
ALTER TABLE enrolments ADD COLUMN refused_at INTEGER;
ALTER TABLE enrolments ADD COLUMN wrong_digits INTEGER NOT NULL DEFAULT 0;
ALTER TABLE enrolments ADD COLUMN other_at INTEGER;
