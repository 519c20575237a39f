//! What leaves the journal: records that the server has had for long, and what tickets did on days
//! of which no list is held. Never a record that is not known to be on the server.

use rusqlite::params;

use super::{JournalError, SyncLog};
use crate::time::{EpochMillis, ServiceDay};

/// Records deleted in one transaction: few enough that a scan hardly waits.
const AT_ONCE: u32 = 500;

impl SyncLog {
    /// Deletes records that were marked as on the server before a time. The newest record stays
    /// in any case, since the log's numbers go on from it.
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
}
