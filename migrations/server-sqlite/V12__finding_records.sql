-- What finds records in the log without a walk through all of it.

-- The ticket that a record names, whatever came of it; of records from before this column, as far
-- as they tell.
ALTER TABLE records ADD COLUMN of_ticket INTEGER;
UPDATE records SET of_ticket = coalesce(number, CAST(CASE WHEN json_valid(CAST(record AS TEXT))
    THEN CAST(record AS TEXT) ->> '$.ticket_number' END AS INTEGER));
-- With `place` in it, as every index of this table.
CREATE INDEX records_by_ticket ON records (of_ticket) WHERE of_ticket IS NOT NULL;

-- Between which places of the log the records of something stand: one row for each, and not one per
-- record. The log is in the order of arrival, so that the spans are short, but for stragglers.
--   kind  session; day, which the record counts to, else the one that it names; hour of its time.
--   name  The session's id, the day, the hour since 1970.
CREATE TABLE log_spans (
    venue INTEGER NOT NULL,
    kind  TEXT    NOT NULL,
    name  ANY     NOT NULL,
    first INTEGER NOT NULL,
    last  INTEGER NOT NULL,
    PRIMARY KEY (venue, kind, name)
) STRICT, WITHOUT ROWID;
CREATE TEMP VIEW said AS
SELECT place, service_day,
       CASE WHEN json_valid(CAST(record AS TEXT)) THEN CAST(record AS TEXT) END AS record
  FROM records;
INSERT INTO log_spans
SELECT place >> 47, 'session', record ->> '$.session_id', min(place), max(place)
  FROM said WHERE record ->> '$.session_id' IS NOT NULL GROUP BY 1, 3;
INSERT INTO log_spans
SELECT place >> 47, 'day', coalesce(service_day, record ->> '$.service_day'), min(place), max(place)
  FROM said WHERE coalesce(service_day, record ->> '$.service_day') IS NOT NULL GROUP BY 1, 3;
-- Rounded down, also before 1970.
INSERT INTO log_spans
SELECT place >> 47, 'hour', (at - CASE WHEN at < 0 THEN 3599999 ELSE 0 END) / 3600000,
       min(place), max(place)
  FROM (SELECT place, record ->> '$.at' AS at FROM said) WHERE typeof(at) = 'integer' GROUP BY 1, 3;
DROP VIEW said;
