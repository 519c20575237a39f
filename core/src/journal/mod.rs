//! The journal: what a device must never lose. An admission and its record are one transaction,
//! on disk before the gate opens; records wait here until the server has them.
//!
//! Two views share the file: [`Journal`] is the door's, whose commits wait for the disk;
//! [`SyncLog`] is the sync loop's, whose marks do not, since a mark that is lost only makes a
//! record go up again. A lock between them keeps either from waiting for SQLite's busy timer.

mod open;
mod salvage;
mod sync_log;
mod tally;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, TransactionBehavior, params};

use crate::admissions::{Movement, Way};
use crate::ids::{Checkpoint, DeviceId, GateId, LogId, RecordId, TicketNumber};
use crate::record::Record;
use crate::time::{EpochMillis, ServiceDay};

pub use open::{FolderLock, OpenError, Opened, open, open_to_look};
pub use salvage::{Exported, Salvage, export_readable};
pub use sync_log::{Counts, SyncLog, SyncStatus, Unsent};
pub use tally::Tally;

/// Why the journal cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// SQLite, and below it the disk.
    #[error("the journal: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// What was to be written is no JSON; nothing of ours is not.
    #[error("the journal: {0}")]
    Json(#[from] serde_json::Error),
    /// A row that this version did not write.
    #[error("the journal holds a {0} that cannot be read")]
    Foreign(&'static str),
}

/// Keeps the two views' write transactions apart.
#[derive(Debug, Clone, Default)]
struct WriteTurn(Arc<Mutex<()>>);

impl WriteTurn {
    fn take(&self) -> MutexGuard<'_, ()> {
        // The lock guards no data, so a panic elsewhere leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The log that new records go to.
#[derive(Clone)]
struct OwnLog {
    row: i64,
    log_id: LogId,
    text_key: [u8; 32],
}

/// The door's view of the journal.
pub struct Journal {
    connection: Connection,
    turn: WriteTurn,
    log: OwnLog,
    next_sequence: u64,
    /// Tickets that moved anybody: most of those that are read have not, and need no look-up.
    moved: HashSet<TicketNumber>,
}

/// Whom an admission or exit moved, beside its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The ticket's day.
    pub service_day: ServiceDay,
    /// The ticket.
    pub ticket_number: TicketNumber,
    /// Entry or exit.
    pub way: Way,
    /// Persons.
    pub persons: u8,
}

impl Journal {
    /// The log that new records go to.
    pub fn log_id(&self) -> LogId {
        self.log.log_id
    }

    /// The random key that this log hashes scanned texts with.
    pub fn text_key(&self) -> &[u8; 32] {
        &self.log.text_key
    }

    /// The sequence of the next record.
    pub fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Writes a record, and the admission or exit that it makes, in one transaction. They are on
    /// disk when this returns. The record's log and sequence must be this journal's next.
    pub fn append(&mut self, record: &Record, moved: Option<&Moved>) -> Result<(), JournalError> {
        debug_assert_eq!(
            (record.log_id, record.sequence),
            (self.log.log_id, self.next_sequence)
        );
        let text = serde_json::to_string(record)?;
        let _turn = self.turn.take();
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        insert_record(
            &transaction,
            self.log.row,
            record,
            SyncStatus::Unsent,
            &text,
        )?;
        if let Some(moved) = moved {
            insert_moved(&transaction, self.log.row, record, moved)?;
        }
        transaction.commit()?;
        self.moved.extend(moved.map(|moved| moved.ticket_number));
        self.next_sequence += 1;
        Ok(())
    }

    /// What a ticket did at a checkpoint on its day, by this journal.
    pub fn movements(
        &self,
        day: &ServiceDay,
        ticket: TicketNumber,
        checkpoint: &Checkpoint,
        device: &DeviceId,
    ) -> Result<Vec<Movement>, JournalError> {
        if !self.moved.contains(&ticket) {
            return Ok(Vec::new());
        }
        let mut statement = self.connection.prepare_cached(
            "SELECT a.record_id, a.gate_id, a.is_exit, a.persons, a.at, a.anchored, a.sequence,
                    log.log_id
               FROM admission a JOIN log USING (log)
              WHERE service_day = ?1 AND ticket_number = ?2 AND checkpoint = ?3",
        )?;
        let mut rows =
            statement.query(params![day.as_str(), ticket.as_i64(), checkpoint.as_str()])?;
        let mut movements = Vec::new();
        while let Some(row) = rows.next()? {
            movements.push(Movement {
                record_id: RecordId(uuid(row.get(0)?)),
                gate_id: GateId::new(row.get::<_, String>(1)?)
                    .map_err(|_| JournalError::Foreign("gate"))?,
                way: if row.get(2)? { Way::Exit } else { Way::Entry },
                persons: row.get(3)?,
                at: EpochMillis(row.get(4)?),
                anchored: row.get(5)?,
                claim_granted: false,
                waived_already_used: false,
                device_id: device.clone(),
                sequence: row.get(6)?,
                log_id: LogId(uuid(row.get(7)?)),
            });
        }
        Ok(movements)
    }

    /// The time of the newest record: time never runs below it.
    pub fn newest_record_at(&self) -> Result<Option<EpochMillis>, JournalError> {
        let at: Option<i64> = self
            .connection
            .query_row(
                "SELECT json_extract(record, '$.at') FROM sync_log ORDER BY position DESC LIMIT 1",
                [],
                |row| row.get(0),
            )
            .or_else(|error| match error {
                rusqlite::Error::QueryReturnedNoRows => Ok(None),
                other => Err(other),
            })?;
        Ok(at.map(EpochMillis))
    }
}

/// The tickets that moved anybody, by a journal that was there before.
fn moved_before(connection: &Connection) -> Result<HashSet<TicketNumber>, rusqlite::Error> {
    let mut statement = connection.prepare("SELECT DISTINCT ticket_number FROM admission")?;
    let numbers = statement.query_map([], |row| Ok(TicketNumber::from_i64(row.get(0)?)))?;
    numbers.filter_map(Result::transpose).collect()
}

fn uuid(bytes: [u8; 16]) -> uuid::Uuid {
    uuid::Uuid::from_bytes(bytes)
}

fn insert_record(
    connection: &Connection,
    log: i64,
    record: &Record,
    status: SyncStatus,
    text: &str,
) -> Result<(), rusqlite::Error> {
    connection
        .prepare_cached(
            "INSERT INTO sync_log (log, sequence, record_id, sync_status, record)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            log,
            record.sequence,
            record.id.0.as_bytes(),
            status.number(),
            text
        ])?;
    Ok(())
}

fn insert_moved(
    connection: &Connection,
    log: i64,
    record: &Record,
    moved: &Moved,
) -> Result<(), rusqlite::Error> {
    connection
        .prepare_cached(
            "INSERT INTO admission (service_day, ticket_number, checkpoint, record_id, gate_id,
                                    is_exit, persons, at, anchored, log, sequence)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            moved.service_day.as_str(),
            moved.ticket_number.as_i64(),
            record.checkpoint.as_str(),
            record.id.0.as_bytes(),
            record.gate_id.as_str(),
            moved.way == Way::Exit,
            moved.persons,
            record.at.0,
            record.trust.is_anchored(),
            log,
            record.sequence,
        ])?;
    Ok(())
}
