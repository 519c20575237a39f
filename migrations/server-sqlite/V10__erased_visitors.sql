-- Tickets whose visitors were erased: what an import says of their holders is dropped, so that a
-- booking system that still has it does not bring it back.
CREATE TABLE erased (
    venue  INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (venue, number)
) STRICT, WITHOUT ROWID;
