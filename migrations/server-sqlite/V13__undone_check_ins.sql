-- Whether a record took a check-in back that stood in the log before it: whoever pulled the check-in
-- hears of that by this record. Where the check-in came later, it says itself that it is taken back.
ALTER TABLE records ADD COLUMN undoes INTEGER NOT NULL DEFAULT 0;
UPDATE records SET undoes = 1
 WHERE number IS NOT NULL AND NOT check_in
   AND CASE WHEN json_valid(CAST(record AS TEXT))
            THEN CAST(record AS TEXT) ->> '$.kind' IN ('undo', 'passage') END
   AND EXISTS (SELECT 1 FROM record_ids i JOIN records r ON r.place = i.place
                WHERE i.venue = records.place >> 47
                  AND i.id = unhex(CAST(records.record AS TEXT) ->> '$.refers_to', '-')
                  AND r.check_in AND r.taken_back AND r.place < records.place);
