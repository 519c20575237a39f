//! The journal: what a device must never lose. An admission and its record are one transaction,
//! on disk before the gate opens; records wait here until the server has them.
//!
//! Two views share the file: [`Journal`] is the door's, whose commits wait for the disk;
//! [`SyncLog`] is the sync loop's, whose marks do not, since a mark that is lost only makes a
//! record go up again. A lock between them keeps either from waiting for SQLite's busy timer.

mod effects;
mod feed;
mod movements;
mod open;
mod own_log;
mod retention;
mod room;
mod salvage;
mod sync_log;
mod tally;
mod wal;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, ErrorCode, OptionalExtension, TransactionBehavior, params};

use crate::admissions::Movement;
use crate::clock::Now;
use crate::fault;
use crate::ids::{Checkpoint, DeviceId, LogId, RecordId, TicketNumber};
use crate::platform::Random;
use crate::protocol::RecordHead;
use crate::record::{FreePassageCause, Record, What};
use crate::time::{EpochMillis, ServiceDay};

use effects::{CarriedOut, carry_out};
use own_log::OwnLog;

pub use feed::KnownConflict;
pub use open::{FolderLock, OpenError, Opened, open, open_to_look};
pub use room::{
    LOW_BYTES, RESERVE_BYTES, ROOM_WANTED_BYTES, Room, RoomStatus, RoomWarning, held_bytes,
};
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
    /// A refusal, while the room that is left belongs to admissions.
    #[error("the disk is nearly full; what is left is kept for admissions")]
    NoRoom,
}

impl JournalError {
    /// Whether the disk is full, or looks like it.
    fn is_full(&self) -> bool {
        matches!(self, Self::Sqlite(error) if is_full(error))
    }
}

fn is_full(error: &rusqlite::Error) -> bool {
    let full = [ErrorCode::DiskFull, ErrorCode::SystemIoFailure];
    error
        .sqlite_error_code()
        .is_some_and(|code| full.contains(&code))
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

/// The door's view of the journal.
pub struct Journal {
    connection: Connection,
    turn: WriteTurn,
    log: OwnLog,
    next_sequence: u64,
    room: Option<Room>,
    /// Whether the last admission could not be written.
    failed: bool,
    /// Tickets that moved anybody: most of those that are read have not, and need no look-up.
    moved: HashSet<TicketNumber>,
}

/// Which movements of a ticket are asked for.
#[derive(Debug, Clone, Copy)]
pub struct MovementsOf<'a> {
    /// The ticket.
    pub ticket: TicketNumber,
    /// The checkpoint.
    pub checkpoint: &'a Checkpoint,
    /// The days: its own, or all that are held for a ticket that no list has.
    pub days: &'a [&'a ServiceDay],
    /// Own admissions that name no day count if they lie in here (from, until).
    pub undated: (EpochMillis, EpochMillis),
    /// This device.
    pub device: &'a DeviceId,
}

/// A check-in for which the gate is not known to have opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// The check-in's record.
    pub record_id: RecordId,
    /// Its ticket.
    pub ticket: TicketNumber,
    /// Its checkpoint.
    pub checkpoint: Checkpoint,
    /// When.
    pub at: EpochMillis,
    /// Persons.
    pub persons: u8,
}

/// What holds the gate open for everybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldOpen {
    /// The record of its beginning.
    pub record_id: RecordId,
    /// What opened it.
    pub cause: FreePassageCause,
    /// Passages counted so far; none before a sensor counted the first.
    pub passages: Option<u64>,
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

    /// Begins a new log: somebody else has written to this one.
    pub fn begin_log(&mut self, fingerprint: &str, random: &dyn Random) {
        self.log = OwnLog::new(fingerprint, random);
        self.next_sequence = 1;
    }

    /// Writes a record and what it does, in one transaction. They are on disk when this returns.
    /// The record's log and sequence must be this journal's next.
    pub fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        self.append_all(std::slice::from_ref(record))
    }

    /// Writes records and what they do, all or none of them. On a full disk the room for
    /// admissions is given back first; refusals leave it alone.
    pub fn append_all(&mut self, records: &[Record]) -> Result<(), JournalError> {
        let may_take_room = !records.iter().all(room::is_refusal);
        match &self.room {
            Some(room) if !room.is_held() && !may_take_room => return Err(JournalError::NoRoom),
            _ => {}
        }
        let written = match (self.write_all(records), &mut self.room) {
            (Err(error), Some(_)) if error.is_full() && !may_take_room => {
                return Err(JournalError::NoRoom);
            }
            (Err(error), Some(room)) if error.is_full() => {
                if room.release() {
                    self.write_all(records)
                } else {
                    Err(error)
                }
            }
            (written, _) => written,
        };
        self.failed = written.is_err();
        written
    }

    /// Whether an admission can be written: as long as the last one could, or else by a try with as
    /// much as one takes.
    pub fn can_write(&mut self) -> bool {
        if self.failed {
            let _turn = self.turn.take();
            let as_much = "0".repeat(room::BYTES_PER_ADMISSION);
            self.failed = sync_log::put_fact(&self.connection, "try", &as_much).is_err();
        }
        !self.failed
    }

    /// Holds room for an hour of admissions on the disk from now on. Where there is more than that, the
    /// write-ahead log is grown as well, so that no scan has to.
    pub fn hold_room(&mut self, room: Room) {
        if room.status().warning.is_none() {
            wal::grow(&self.connection);
        }
        self.room = Some(room);
    }

    /// Holds the room again if it was given back and there is enough; says how much there is.
    pub fn regain_room(&mut self) -> RoomStatus {
        let Some(room) = &mut self.room else {
            return RoomStatus::default();
        };
        room.regain();
        room.status()
    }

    /// How much room there is.
    pub fn room(&self) -> RoomStatus {
        self.room.as_ref().map(Room::status).unwrap_or_default()
    }

    fn write_all(&mut self, records: &[Record]) -> Result<(), JournalError> {
        let _turn = self.turn.take();
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        fault::point("journal: begun");
        let log = self.log.row(&transaction)?;
        let mut moved = Vec::new();
        for (record, sequence) in records.iter().zip(self.next_sequence..) {
            debug_assert_eq!(
                (record.log_id, record.sequence),
                (self.log.log_id, sequence)
            );
            let text = serde_json::to_string(record)?;
            insert_record(&transaction, log, record, SyncStatus::Unsent, &text)?;
            moved.extend(carry_out(&transaction, log, record)?);
        }
        fault::point("journal: written");
        transaction.commit()?;
        fault::point("journal: committed");
        self.log.has_row(log);
        self.moved.extend(moved);
        self.next_sequence += records.len() as u64;
        Ok(())
    }

    /// The feed brought movements of these tickets.
    pub fn has_moved(&mut self, tickets: impl IntoIterator<Item = TicketNumber>) {
        self.moved.extend(tickets);
    }

    /// What a ticket did at a checkpoint, by this journal and by the feed, what was taken back left
    /// out. A record that both know comes twice.
    pub fn movements(&self, asked: &MovementsOf<'_>) -> Result<Vec<Movement>, JournalError> {
        if !self.moved.contains(&asked.ticket) {
            return Ok(Vec::new());
        }
        movements::of(&self.connection, asked)
    }

    /// A record of this journal.
    pub fn record(&self, id: RecordId) -> Result<Option<Record>, JournalError> {
        Ok(effects::record_of(&self.connection, id)?)
    }

    /// The record of an admission: itself, or what a resume goes on with.
    pub fn admission(&self, id: RecordId) -> Result<Option<Record>, JournalError> {
        let record = self.record(id)?;
        match record.as_ref().map(|record| &record.what) {
            Some(What::Resume(resume)) => self.record(resume.refers_to),
            _ => Ok(record),
        }
    }

    /// Whether a record counts no longer.
    pub fn is_taken_back(&self, id: RecordId) -> Result<bool, JournalError> {
        Ok(self
            .connection
            .prepare_cached("SELECT 1 FROM taken_back WHERE record_id = ?1")?
            .exists([id.0.as_bytes()])?)
    }

    /// Whether a passage that did not happen has freed an admission of the ticket before.
    pub fn was_freed(&self, ticket: TicketNumber) -> Result<bool, JournalError> {
        Ok(self
            .connection
            .prepare_cached("SELECT 1 FROM taken_back WHERE ticket_number = ?1 AND by_passage = 1")?
            .exists([ticket.as_i64()])?)
    }

    /// Whether a sensor saw somebody pass on an admission.
    pub fn has_passed(&self, admission: RecordId) -> Result<bool, JournalError> {
        movements::has_passed(&self.connection, admission)
    }

    /// Notes that the open command for an admission has returned. Waits for the disk: a lost mark
    /// would let the ticket open the gate once more after a power cut.
    pub fn released(&mut self, admission: RecordId) -> Result<(), JournalError> {
        let _turn = self.turn.take();
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        effects::mark(&transaction, admission, CarriedOut::Released)?;
        fault::point("released: written");
        transaction.commit()?;
        fault::point("released: committed");
        Ok(())
    }

    /// Check-ins since a time for which the gate is not known to have opened.
    pub fn unfinished(&self, since: EpochMillis) -> Result<Vec<Unfinished>, JournalError> {
        movements::unfinished(&self.connection, since)
    }

    /// What holds the gate open for everybody.
    pub fn held_open(&self) -> Result<Vec<HeldOpen>, JournalError> {
        let mut statement = self
            .connection
            .prepare("SELECT record_id, cause, passages FROM free_passage ORDER BY record_id")?;
        let mut rows = statement.query([])?;
        let mut held = Vec::new();
        while let Some(row) = rows.next()? {
            let cause: String = row.get(1)?;
            held.push(HeldOpen {
                record_id: RecordId(uuid(row.get(0)?)),
                cause: effects::cause_of(&cause)
                    .ok_or(JournalError::Foreign("cause of free passage"))?,
                passages: row.get(2)?,
            });
        }
        Ok(held)
    }

    /// The time of the newest record, and how far it could be trusted.
    pub fn newest_record_at(&self) -> Result<Option<Now>, JournalError> {
        let text: Option<String> = self
            .connection
            .query_row(
                "SELECT record FROM sync_log ORDER BY position DESC LIMIT 1",
                [],
                |row| row.get(0),
            )
            .optional()?;
        let Some(text) = text else { return Ok(None) };
        let RecordHead { at, trust, .. } = serde_json::from_str(&text)?;
        Ok(Some(Now { at, u_ms: 0, trust }))
    }
}

/// The tickets that moved anybody, by a journal that was there before.
fn moved_before(connection: &Connection) -> Result<HashSet<TicketNumber>, rusqlite::Error> {
    let mut statement = connection
        .prepare("SELECT ticket_number FROM admission UNION SELECT ticket_number FROM feed")?;
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
