//! What leaves the journal: records that the server has had for long, and what tickets did on days
//! of which no list is held. Never a record that is not known to be on the server.

use rusqlite::params;

use super::{JournalError, SyncLog};
use crate::ids::RecordId;
use crate::time::{EpochMillis, ServiceDay};

/// Records deleted in one transaction: few enough that a scan hardly waits.
const AT_ONCE: u32 = 500;

impl SyncLog {
    /// Deletes records that were marked as on the server before a time. The newest record stays
    /// in any case: the clock does not go back behind it.
    pub fn forget_synced(&mut self, before: EpochMillis) -> Result<(), JournalError> {
        loop {
            let _turn = self.turn.take();
            let gone = self
                .connection
                .prepare_cached(
                    "DELETE FROM sync_log WHERE position IN
                       (SELECT position FROM sync_log
                         WHERE synced_at < ?1 AND sync_status IN (1, 2)
                           AND position < (SELECT max(position) FROM sync_log) LIMIT ?2)",
                )?
                .execute(params![before.0, AT_ONCE])?;
            if gone < AT_ONCE as usize {
                return Ok(());
            }
        }
    }

    /// Forgets what tickets did before a time on days of which no list is held.
    pub fn forget_admissions(
        &mut self,
        before: EpochMillis,
        held: &[ServiceDay],
    ) -> Result<(), JournalError> {
        let held = serde_json::to_string(held)?;
        let _turn = self.turn.take();
        self.connection
            .prepare_cached(
                "DELETE FROM admission WHERE at < ?1
                    AND service_day NOT IN (SELECT value FROM json_each(?2))",
            )?
            .execute(params![before.0, held])?;
        Ok(())
    }

    /// Forgets that records of before a time were taken back, once nothing is left of them: neither
    /// the record, nor what its ticket did, here or by the feed.
    pub fn forget_taken_back(&mut self, before: EpochMillis) -> Result<(), JournalError> {
        // A record's id begins with its time.
        let before = RecordId::at(before, [0; 10]);
        let _turn = self.turn.take();
        self.connection
            .prepare_cached(
                "DELETE FROM taken_back WHERE record_id < ?1
                    AND record_id NOT IN (SELECT record_id FROM admission)
                    AND record_id NOT IN (SELECT record_id FROM feed)
                    AND NOT EXISTS (SELECT 1 FROM sync_log
                                     WHERE sync_log.record_id = taken_back.record_id)",
            )?
            .execute([before.0.as_bytes()])?;
        Ok(())
    }
}
