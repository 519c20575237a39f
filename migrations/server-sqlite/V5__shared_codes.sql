-- Phones of tickets whose v1 codes the booking system signs with its shared secret, sealed under
-- the master key: to verify codes with, never shown, and removed 72 h after the ticket's day.
CREATE TABLE holders (
    venue  INTEGER NOT NULL,
    number INTEGER NOT NULL,
    sealed BLOB    NOT NULL,
    PRIMARY KEY (venue, number)
) STRICT, WITHOUT ROWID;
