-- What an API key is at each of its venues, so that whoever administers one of them sees and ends
-- the key there, and neither sees nor touches it elsewhere.
--   made_by       The key that made it; null where the command line did.
--   last_used_at  When it was last used at the venue, to the minute.
--   revoked_at    Since when it is no longer good there; api_keys.revoked_at ends it everywhere.
ALTER TABLE api_keys ADD COLUMN made_by INTEGER;
ALTER TABLE api_key_venues ADD COLUMN last_used_at INTEGER;
ALTER TABLE api_key_venues ADD COLUMN revoked_at INTEGER;
