-- When a device last showed its bearer, to the minute: NULL until it has since this version.
ALTER TABLE devices ADD COLUMN heard_at INTEGER;
