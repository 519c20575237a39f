-- Who signs in at the gates. PINs as PHC strings of argon2id, staff QRs as SHA-256 in hex.
CREATE TABLE operators (
    venue       INTEGER NOT NULL REFERENCES venues,
    operator_id TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    role        TEXT    NOT NULL,
    pin_hash    TEXT    NOT NULL,
    badge_hash  TEXT,
    PRIMARY KEY (venue, operator_id)
) STRICT, WITHOUT ROWID;

-- When what travels beside a list's rows last changed: sessions, gates, policy, operators. It is
-- part of the list, so all lists get their next version with it.
ALTER TABLE list_days ADD COLUMN settings_since INTEGER NOT NULL DEFAULT 0;
UPDATE list_days SET settings_since = unixepoch() * 1000, version = version + 1;
