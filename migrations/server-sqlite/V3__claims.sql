-- Claims that gates made before they opened: no records, and gone after ten minutes.
--   live     Whether it still holds the admission: granted, and neither settled by its record nor
--            void, since its device has uploaded further.
--   winner_… Of a denied one: who had the admission, as it was answered.
CREATE TABLE claims (
    venue         INTEGER NOT NULL,
    scan_id       BLOB    NOT NULL,
    number        INTEGER NOT NULL,
    service_day   TEXT    NOT NULL,
    checkpoint    TEXT    NOT NULL,
    persons       INTEGER NOT NULL,
    gate_id       TEXT    NOT NULL,
    device_id     TEXT    NOT NULL,
    log_id        BLOB    NOT NULL,
    sequence      INTEGER NOT NULL,
    at            INTEGER NOT NULL,
    asked_at      INTEGER NOT NULL,
    granted       INTEGER NOT NULL,
    live          INTEGER NOT NULL,
    remaining     INTEGER NOT NULL,
    winner_gate   TEXT,
    winner_device TEXT,
    winner_at     INTEGER,
    PRIMARY KEY (venue, scan_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX claims_of_admission ON claims (venue, number, service_day, checkpoint) WHERE live;
CREATE INDEX claims_of_device ON claims (venue, device_id, log_id, sequence) WHERE live;
CREATE INDEX claims_by_age ON claims (venue, asked_at);
