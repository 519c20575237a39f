//! The sync loop's view of the journal: which records still wait, and what became of those that
//! went up.

use rusqlite::{Connection, OptionalExtension, ToSql, TransactionBehavior, params};

use super::{JournalError, WriteTurn, uuid, wal};
use crate::ids::{LogId, RecordId};
use crate::protocol::SequenceRange;
use crate::time::EpochMillis;

/// Records that go into the outbox again at a time: a scan may wait for the marks.
const AGAIN_RECORDS: usize = 1_000;

/// Where a record stands on its way up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyncStatus {
    /// Not known to be on the server.
    Unsent,
    /// The server has it.
    Synced,
    /// The server has it and set it aside for a person.
    Quarantined,
    /// The server refused it alone; shown, exportable, tried again hourly.
    Stuck,
}

impl SyncStatus {
    /// Whether the server has it.
    fn is_delivered(self) -> bool {
        matches!(self, SyncStatus::Synced | SyncStatus::Quarantined)
    }

    pub(super) fn number(self) -> i64 {
        match self {
            SyncStatus::Unsent => 0,
            SyncStatus::Synced => 1,
            SyncStatus::Quarantined => 2,
            SyncStatus::Stuck => 3,
        }
    }
}

/// A record that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsent {
    /// Its place in the journal.
    pub position: i64,
    /// Its id.
    pub record_id: RecordId,
    /// Its JSON text.
    pub record: String,
}

/// How many records stand where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// All in the journal.
    pub records: u64,
    /// The outbox.
    pub unsent: u64,
    /// Known to be on the server.
    pub synced: u64,
    /// Set aside by the server.
    pub quarantined: u64,
    /// Refused alone by the server.
    pub stuck: u64,
}

/// The sync loop's view of the journal.
pub struct SyncLog {
    pub(super) connection: Connection,
    pub(super) turn: WriteTurn,
    /// No record before this position waits.
    unsent_from: i64,
}

impl SyncLog {
    pub(super) fn new(connection: Connection, turn: WriteTurn) -> Result<Self, JournalError> {
        let mut log = Self {
            connection,
            turn,
            unsent_from: 0,
        };
        let from = log.fact("unsent_from")?.and_then(|from| from.parse().ok());
        log.unsent_from = from.unwrap_or(0);
        Ok(log)
    }

    /// The oldest records that wait, at most `limit`.
    pub fn unsent(&self, limit: usize) -> Result<Vec<Unsent>, JournalError> {
        self.waiting(SyncStatus::Unsent, self.unsent_from, limit)
    }

    /// The oldest stuck records, at most `limit`.
    pub fn stuck(&self, limit: usize) -> Result<Vec<Unsent>, JournalError> {
        self.waiting(SyncStatus::Stuck, 0, limit)
    }

    /// The oldest records that the server set aside, at most `limit`.
    pub fn quarantined(&self, limit: usize) -> Result<Vec<Unsent>, JournalError> {
        self.waiting(SyncStatus::Quarantined, 0, limit)
    }

    /// How many records are not known to be on the server, and when the earliest of them was made.
    pub fn outstanding(&self) -> Result<(u64, Option<EpochMillis>), JournalError> {
        // What is delivered has a time for it, and an index by that.
        let count = "SELECT (SELECT count(*) FROM sync_log)
                          - (SELECT count(*) FROM sync_log WHERE synced_at IS NOT NULL)";
        let count: i64 = self
            .connection
            .prepare_cached(count)?
            .query_row([], |row| row.get(0))?;
        if count <= 0 {
            return Ok((0, None));
        }
        let (unsent, mut oldest) = self.earliest(SyncStatus::Unsent, self.unsent_from)?;
        if unsent != count {
            // Stuck ones are rare, and looked for all over.
            let (_, stuck) = self.earliest(SyncStatus::Stuck, 0)?;
            oldest = oldest.into_iter().chain(stuck).min();
        }
        Ok((count.unsigned_abs(), oldest))
    }

    /// How many records of a status stand from a position on, and when the earliest was made.
    fn earliest(
        &self,
        status: SyncStatus,
        from: i64,
    ) -> Result<(i64, Option<EpochMillis>), JournalError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT count(*), min(json_extract(record, '$.at')) FROM sync_log
              WHERE position >= ?1 AND sync_status = ?2",
        )?;
        Ok(statement.query_row(params![from, status.number()], |row| {
            let at: Option<i64> = row.get(1)?;
            Ok((row.get(0)?, at.map(EpochMillis)))
        })?)
    }

    fn waiting(
        &self,
        status: SyncStatus,
        from: i64,
        limit: usize,
    ) -> Result<Vec<Unsent>, JournalError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT position, record_id, record FROM sync_log
              WHERE position >= ?1 AND sync_status = ?2 ORDER BY position LIMIT ?3",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = statement.query_map(params![from, status.number(), limit], |row| {
            Ok(Unsent {
                position: row.get(0)?,
                record_id: RecordId(uuid(row.get(1)?)),
                record: row.get(2)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Hands over every record that is not known to be on the server, oldest first: the unsent
    /// and the stuck.
    pub fn export<E: From<JournalError>>(
        &self,
        mut take: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<u64, E> {
        let failed = |error: rusqlite::Error| E::from(JournalError::from(error));
        let mut statement = self
            .connection
            .prepare("SELECT record FROM sync_log WHERE sync_status IN (0, 3) ORDER BY position")
            .map_err(failed)?;
        let mut rows = statement.query([]).map_err(failed)?;
        let mut count = 0;
        while let Some(row) = rows.next().map_err(failed)? {
            let text = row.get_ref(0).map_err(failed)?.as_str();
            take(text.map_err(|_| JournalError::Foreign("record"))?)?;
            count += 1;
        }
        Ok(count)
    }

    /// Notes what became of records, and when. Not waited for: a lost mark only sends a record
    /// again.
    pub fn mark(
        &mut self,
        marks: &[(i64, SyncStatus)],
        at: EpochMillis,
    ) -> Result<(), JournalError> {
        let _turn = self.turn.take();
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (position, status) in marks {
            transaction
                .prepare_cached(
                    "UPDATE sync_log SET sync_status = ?2, synced_at = ?3 WHERE position = ?1",
                )?
                .execute(params![
                    position,
                    status.number(),
                    status.is_delivered().then_some(at.0)
                ])?;
        }
        let first: Option<i64> = transaction
            .prepare_cached(
                "SELECT position FROM sync_log WHERE position >= ?1 AND sync_status = 0
                  ORDER BY position LIMIT 1",
            )?
            .query_row([self.unsent_from], |row| row.get(0))
            .optional()?;
        let end: i64 = transaction
            .prepare_cached("SELECT coalesce(max(position), 0) + 1 FROM sync_log")?
            .query_row([], |row| row.get(0))?;
        let from = first.unwrap_or(end);
        put_fact(&transaction, "unsent_from", &from.to_string())?;
        transaction.commit()?;
        self.unsent_from = from;
        Ok(())
    }

    /// Puts what the server misses of a log back into the outbox, as far as it is here and was
    /// delivered, and no more at a time than [`AGAIN_RECORDS`]: the next answer names the rest. Says
    /// how many records go again.
    pub fn send_again(
        &mut self,
        log: LogId,
        missing: &[SequenceRange],
    ) -> Result<u64, JournalError> {
        let number = |sequence: u64| i64::try_from(sequence).unwrap_or(i64::MAX);
        let mut positions = Vec::new();
        for range in missing {
            let room = AGAIN_RECORDS - positions.len();
            positions.extend(self.positions(
                "SELECT position FROM sync_log
                  WHERE log = (SELECT log FROM log WHERE log_id = ?1)
                    AND sequence BETWEEN ?2 AND ?3 AND sync_status IN (1, 2)
                  ORDER BY position LIMIT ?4",
                params![
                    log.0.as_bytes(),
                    number(range.first),
                    number(range.last),
                    room
                ],
            )?);
        }
        self.unmark(&positions)
    }

    /// Puts the last delivered record of each log back into the outbox: the answer to it says what
    /// else the server misses.
    pub fn ask_what_is_missing(&mut self) -> Result<(), JournalError> {
        let last = self.positions(
            "SELECT max(position) FROM sync_log WHERE sync_status IN (1, 2) GROUP BY log",
            &[],
        )?;
        self.unmark(&last)?;
        Ok(())
    }

    fn positions(&self, sql: &str, values: &[&dyn ToSql]) -> Result<Vec<i64>, JournalError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map(values, |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn unmark(&mut self, positions: &[i64]) -> Result<u64, JournalError> {
        let Some(first) = positions.iter().min() else {
            return Ok(0);
        };
        self.unsent_from = self.unsent_from.min(*first);
        let unsent = |position: &i64| (*position, SyncStatus::Unsent);
        let marks: Vec<_> = positions.iter().map(unsent).collect();
        // What is unsent has no time at which it was delivered.
        self.mark(&marks, EpochMillis(0))?;
        Ok(positions.len() as u64)
    }

    /// Counts the records by their status.
    pub fn counts(&self) -> Result<Counts, JournalError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT sync_status, count(*) FROM sync_log GROUP BY sync_status")?;
        let mut rows = statement.query([])?;
        let mut counts = Counts::default();
        while let Some(row) = rows.next()? {
            let count: u64 = row.get(1)?;
            counts.records += count;
            match row.get::<_, i64>(0)? {
                0 => counts.unsent = count,
                1 => counts.synced = count,
                2 => counts.quarantined = count,
                _ => counts.stuck = count,
            }
        }
        Ok(counts)
    }

    /// A small fact of the device.
    pub fn fact(&self, name: &str) -> Result<Option<String>, JournalError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT value FROM fact WHERE name = ?1")?;
        Ok(statement.query_row([name], |row| row.get(0)).optional()?)
    }

    /// Keeps a small fact of the device. Not waited for.
    pub fn set_fact(&mut self, name: &str, value: &str) -> Result<(), JournalError> {
        let _turn = self.turn.take();
        put_fact(&self.connection, name, value)?;
        Ok(())
    }

    /// Keeps a small fact of the device, on disk when this returns.
    pub fn set_fact_durably(&mut self, name: &str, value: &str) -> Result<(), JournalError> {
        let _turn = self.turn.take();
        self.connection.pragma_update(None, "synchronous", "FULL")?;
        let put = put_fact(&self.connection, name, value);
        self.connection
            .pragma_update(None, "synchronous", "NORMAL")?;
        Ok(put?)
    }

    /// Folds a grown WAL back into the file, so that no scan has to.
    pub fn maintain(&self) -> Result<(), JournalError> {
        wal::fold_back(&self.connection)
    }
}

pub(super) fn put_fact(
    connection: &Connection,
    name: &str,
    value: &str,
) -> Result<(), rusqlite::Error> {
    connection
        .prepare_cached(
            "INSERT INTO fact (name, value) VALUES (?1, ?2)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )?
        .execute(params![name, value])?;
    Ok(())
}
