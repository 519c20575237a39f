-- What a sync server keeps, in SQLite: one writer commits, many readers read (WAL).
--
-- Every table of a venue starts its primary key with the venue's number, so that one venue never
-- needs another's rows. Times are epoch milliseconds where something was observed (`received_at`,
-- `opened_at`, `created_at`, …) and epoch seconds where something is planned (sessions, windows,
-- `expires_at`, `not_after`). Days are `YYYY-MM-DD`: names, never compared as points in time.
-- Lists of zones and gates are joined by commas, which none of them can hold.

-- The server as a whole: exactly one row.
--   generation   UTC seconds at which the data was put back from a backup; 0 at first.
--   vault_check  A known text sealed under the master key: a wrong key is noticed at start.
--   software     Version of the program that last opened this. Another one may write lists in
--                other bytes, so it gives them all their next version.
--   probes       Counts up when somebody asks whether storing works.
CREATE TABLE server (
    one         INTEGER PRIMARY KEY CHECK (one = 1),
    generation  INTEGER NOT NULL,
    vault_check BLOB,
    software    TEXT    NOT NULL,
    probes      INTEGER NOT NULL
) STRICT;
INSERT INTO server VALUES (1, 0, NULL, '', 0);

-- Venues. `venue` is the number that stands in codes, 1 to 65535, never given twice. `policy` is
-- JSON of core's Policy.
CREATE TABLE venues (
    venue      INTEGER PRIMARY KEY CHECK (venue BETWEEN 1 AND 65535),
    venue_id   TEXT    NOT NULL UNIQUE,
    name       TEXT    NOT NULL,
    time_zone  TEXT    NOT NULL,
    policy     TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

-- Private keys and secrets, sealed under the master key, which is not in this database. `kid`
-- names a signing key in its role, and is 0 for what has no role.
CREATE TABLE venue_secrets (
    venue  INTEGER NOT NULL REFERENCES venues,
    kind   TEXT    NOT NULL,
    kid    INTEGER NOT NULL,
    sealed BLOB    NOT NULL,
    PRIMARY KEY (venue, kind, kid)
) STRICT, WITHOUT ROWID;

-- Key manifests as the root key signed them (JSON of core's Signed); the highest version holds.
CREATE TABLE key_manifests (
    venue      INTEGER NOT NULL REFERENCES venues,
    version    INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    not_after  INTEGER NOT NULL,
    signed     TEXT    NOT NULL,
    PRIMARY KEY (venue, version)
) STRICT, WITHOUT ROWID;

-- API keys of back ends and operators, over one or several venues. Only SHA-256 of a key's text
-- is kept. `scopes` are names joined by commas. Ids are never given twice.
CREATE TABLE api_keys (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    hash       BLOB    NOT NULL UNIQUE,
    name       TEXT    NOT NULL,
    scopes     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT;

-- The venues that an API key is good for.
CREATE TABLE api_key_venues (
    venue   INTEGER NOT NULL REFERENCES venues,
    api_key INTEGER NOT NULL REFERENCES api_keys,
    PRIMARY KEY (venue, api_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX api_key_venues_by_key ON api_key_venues (api_key);

-- Doors.
CREATE TABLE gates (
    venue      INTEGER NOT NULL REFERENCES venues,
    gate_id    TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    direction  TEXT    NOT NULL,
    checkpoint TEXT    NOT NULL,
    zones      TEXT    NOT NULL,
    unattended INTEGER NOT NULL,
    PRIMARY KEY (venue, gate_id)
) STRICT, WITHOUT ROWID;

-- Timed-entry slots.
CREATE TABLE sessions (
    venue       INTEGER NOT NULL REFERENCES venues,
    session_id  TEXT    NOT NULL,
    service_day TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    starts_at   INTEGER NOT NULL,
    ends_at     INTEGER NOT NULL,
    admit_from  INTEGER NOT NULL,
    admit_until INTEGER NOT NULL,
    zones       TEXT    NOT NULL,
    reentry     TEXT    NOT NULL,
    status      TEXT    NOT NULL,
    note        TEXT    NOT NULL,
    PRIMARY KEY (venue, session_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_day ON sessions (venue, service_day);

-- Service days that have had a session, each with one list.
--   version              Counts up in every transaction that changes a row or the settings of
--                        the list.
--   day_from, day_until  What belongs to the day, by its sessions; once the last session has
--                        left, as it was, so that gates that hold the list still hear of it.
CREATE TABLE list_days (
    venue       INTEGER NOT NULL REFERENCES venues,
    service_day TEXT    NOT NULL,
    version     INTEGER NOT NULL,
    day_from    INTEGER NOT NULL,
    day_until   INTEGER NOT NULL,
    PRIMARY KEY (venue, service_day)
) STRICT, WITHOUT ROWID;

-- The rows of the lists: each ticket once as itself, in its session's day, and once in each day
-- that it left, as a tombstone. Clustered by day and number, the order in which a list is read.
--   number          Derived from the ticket id, so there is no index by that.
--   bucket          The bucket of the list's digest that the number lies in.
--   version         The list's version at the row's last change.
--   standing        live, moved (a tombstone), deleted.
--   moved_…         Where a moved ticket is now; in tombstones only.
--   opaque_hashes   16 bytes each, one after the other.
--   source_version  The booking system's count of changes.
-- Names are masked and phones cut to four digits before they come here.
CREATE TABLE tickets (
    venue            INTEGER NOT NULL,
    service_day      TEXT    NOT NULL,
    number           INTEGER NOT NULL,
    bucket           INTEGER NOT NULL,
    version          INTEGER NOT NULL,
    standing         TEXT    NOT NULL CHECK (standing IN ('live', 'moved', 'deleted')),
    moved_session    TEXT,
    moved_day        TEXT,
    moved_admit_from INTEGER,
    ticket_id        TEXT    NOT NULL,
    order_number     TEXT    NOT NULL,
    session_id       TEXT    NOT NULL,
    status           TEXT    NOT NULL,
    cancel_cause     TEXT,
    revision         INTEGER NOT NULL,
    admits           INTEGER NOT NULL CHECK (admits BETWEEN 1 AND 255),
    zones            TEXT    NOT NULL,
    label            TEXT    NOT NULL,
    holder_mask      TEXT    NOT NULL,
    last_four        INTEGER,
    category         TEXT    NOT NULL,
    attention        TEXT    NOT NULL,
    source           TEXT    NOT NULL,
    age_group        TEXT    NOT NULL,
    admit_from       INTEGER,
    admit_until      INTEGER,
    opaque_hashes    BLOB    NOT NULL,
    source_version   INTEGER,
    PRIMARY KEY (venue, service_day, number)
) STRICT, WITHOUT ROWID;
-- Finds a ticket whatever its day.
CREATE INDEX tickets_by_number ON tickets (venue, number);
-- Finds a bucket's rows, and the buckets and rows that changed after a version.
CREATE INDEX tickets_by_bucket ON tickets (venue, service_day, bucket, version);
-- Finds the sessions that a day's tombstones point to, and the tombstones of a session.
CREATE INDEX tombstones_by_session ON tickets (venue, service_day, moved_session)
    WHERE standing = 'moved';

-- Invitations to enrol a device. Only SHA-256 of the token is kept. The first device key that
-- shows the token has it.
CREATE TABLE enrolments (
    venue      INTEGER NOT NULL REFERENCES venues,
    token_hash BLOB    NOT NULL,
    gates      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    public_key BLOB,
    device_id  TEXT,
    PRIMARY KEY (venue, token_hash)
) STRICT, WITHOUT ROWID;

-- Enrolled devices. Only SHA-256 of the bearer is kept.
CREATE TABLE devices (
    venue       INTEGER NOT NULL REFERENCES venues,
    device_id   TEXT    NOT NULL,
    public_key  BLOB    NOT NULL,
    bearer_hash BLOB    NOT NULL,
    name        TEXT    NOT NULL,
    model       TEXT    NOT NULL,
    gates       TEXT    NOT NULL,
    enrolled_at INTEGER NOT NULL,
    PRIMARY KEY (venue, device_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX devices_by_bearer ON devices (venue, bearer_hash);

-- The accepted records as the devices wrote them, in the order in which they were accepted, which
-- is the order of the commits: one writer gives the positions.
--   place     venue * 2^47 + position, position from 1: the primary key (venue, position) in the
--             one integer that SQLite clusters by, so that records lie close and cost one write.
--   check_in  Whether it admitted a ticket at an `in` gate.
--   standing  Of a check-in: winner or loser among the entries of its ticket and checkpoint.
CREATE TABLE records (
    place       INTEGER PRIMARY KEY,
    received_at INTEGER NOT NULL,
    check_in    INTEGER NOT NULL,
    standing    TEXT,
    record      BLOB    NOT NULL
) STRICT;

-- The highest position that a venue's log has given. Apart from the records, so that it outlives
-- those that retention takes away.
CREATE TABLE positions (
    venue INTEGER PRIMARY KEY,
    last  INTEGER NOT NULL
) STRICT;

-- Every record id that is taken, with SHA-256 of the record's bytes: a repeated upload is known
-- by it. `place` is null while the record is quarantined. Ids are UUIDv7, so new ones lie close
-- together.
CREATE TABLE record_ids (
    venue INTEGER NOT NULL,
    id    BLOB    NOT NULL,
    hash  BLOB    NOT NULL,
    place INTEGER,
    PRIMARY KEY (venue, id)
) STRICT, WITHOUT ROWID;

-- How far each device's logs are here: every sequence up to `have_through` is, …
CREATE TABLE logs (
    venue        INTEGER NOT NULL,
    device_id    TEXT    NOT NULL,
    log_id       BLOB    NOT NULL,
    have_through INTEGER NOT NULL,
    PRIMARY KEY (venue, device_id, log_id)
) STRICT, WITHOUT ROWID;

-- … and these beyond it, both ends included. None begins at `have_through` + 1, none touch.
CREATE TABLE log_ranges (
    venue     INTEGER NOT NULL,
    device_id TEXT    NOT NULL,
    log_id    BLOB    NOT NULL,
    first     INTEGER NOT NULL,
    last      INTEGER NOT NULL,
    PRIMARY KEY (venue, device_id, log_id, first)
) STRICT, WITHOUT ROWID;

-- Accepted records that moved people of a ticket past a checkpoint on a day: what the fold goes
-- over. What the fold needs beyond these columns stands in the record.
--   turn  Counts a ticket's movements there, from 0: whoever finds turn 0 free is the first.
CREATE TABLE movements (
    venue       INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    service_day TEXT    NOT NULL,
    checkpoint  TEXT    NOT NULL,
    turn        INTEGER NOT NULL,
    place       INTEGER NOT NULL,
    PRIMARY KEY (venue, number, service_day, checkpoint, turn)
) STRICT, WITHOUT ROWID;

-- Tickets that were admitted, at a checkpoint, for more persons than they have. `cleared_at` is
-- set while no entry loses; the row stays.
CREATE TABLE conflicts (
    venue       INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    service_day TEXT    NOT NULL,
    checkpoint  TEXT    NOT NULL,
    opened_at   INTEGER NOT NULL,
    cleared_at  INTEGER,
    PRIMARY KEY (venue, number, service_day, checkpoint)
) STRICT, WITHOUT ROWID;

-- Records that wait for a person, once per id and content. They count nowhere.
--   number  The ticket that an `unknown_ticket` record waits for: when it arrives, the record is
--           accepted by itself and leaves this table.
CREATE TABLE quarantine (
    venue       INTEGER NOT NULL,
    id          BLOB    NOT NULL,
    hash        BLOB    NOT NULL,
    device_id   TEXT    NOT NULL,
    cause       TEXT    NOT NULL,
    received_at INTEGER NOT NULL,
    number      INTEGER,
    record      BLOB    NOT NULL,
    PRIMARY KEY (venue, id, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX quarantine_by_ticket ON quarantine (venue, number) WHERE number IS NOT NULL;
