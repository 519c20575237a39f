-- When the server was known to have a record, by the device's clock, epoch ms: it stays for seven
-- days from then.
ALTER TABLE sync_log ADD COLUMN synced_at INTEGER;
-- Records of before this version that the server has are counted from when they were made.
UPDATE sync_log SET synced_at = json_extract(record, '$.at') WHERE sync_status IN (1, 2);
CREATE INDEX sync_log_synced ON sync_log (synced_at) WHERE synced_at IS NOT NULL;
