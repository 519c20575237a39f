-- Devices that are not simply the venue's any more, and what a person makes of records in quarantine.

-- How a device stands with its venue.
--   standing        enrolled, revoked, or forgotten: known by its certificate alone, since the data
--                   was put back from a backup that is older than its enrolment.
--   standing_since  Since when, epoch ms; none for one that was never anything but enrolled.
ALTER TABLE devices ADD COLUMN standing TEXT NOT NULL DEFAULT 'enrolled';
ALTER TABLE devices ADD COLUMN standing_since INTEGER;

-- When a person decided that a quarantined record stays out of the log, epoch ms.
ALTER TABLE quarantine ADD COLUMN dismissed_at INTEGER;
CREATE INDEX quarantine_by_device ON quarantine (venue, device_id, received_at);
