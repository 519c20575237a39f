-- Where other systems are told what happened at a venue.
--   webhook          Its id, random.
--   origin           Scheme, host and port of its URL.
--   url, secret      Sealed under the master key: chat robots have their token in the URL.
--   carries          Words joined by commas: check_ins, conflicts, sessions.
--   log_through      Everything of `records` up to here is delivered, or not for it.
--   event_through    The same of `events`.
--   sending_source   What the message that has begun is made of, `log` or `events`; none between two.
--   sending_through  The last position in it. Kept before it is first sent, so that it stays the
--                    same message however often it is sent.
--   delivered_at     When a message last went through.
--   failed_since     When it first failed since then; none while it does not.
--   failed_at        When it last failed.
--   failures         How often since then.
--   problem          What was wrong last.
--   next_attempt_at  It is not tried before this.
--   paused_at        Since when it is not tried at all, until a person says so.
--   leased_by        The server whose turn it is, and until when: no other one sends meanwhile.
CREATE TABLE webhooks (
    venue           INTEGER NOT NULL,
    webhook         INTEGER NOT NULL,
    name            TEXT    NOT NULL,
    origin          TEXT    NOT NULL,
    url             BLOB    NOT NULL,
    secret          BLOB    NOT NULL,
    carries         TEXT    NOT NULL,
    template        TEXT    NOT NULL,
    language        TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    log_through     INTEGER NOT NULL,
    event_through   INTEGER NOT NULL,
    sending_source  TEXT,
    sending_through INTEGER,
    delivered_at    INTEGER,
    failed_since    INTEGER,
    failed_at       INTEGER,
    failures        INTEGER NOT NULL DEFAULT 0,
    problem         TEXT    NOT NULL DEFAULT '',
    next_attempt_at INTEGER NOT NULL DEFAULT 0,
    paused_at       INTEGER,
    leased_by       INTEGER NOT NULL DEFAULT 0,
    leased_until    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (venue, webhook)
) STRICT, WITHOUT ROWID;
