//! A damaged journal is kept aside, and every record that can still be read goes into the new
//! one: with its place in its log and its status, so that nothing is sent under a new name, and
//! with its admission, so that nobody enters twice.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use super::{JournalError, Moved, SyncStatus, insert_moved, insert_record};
use crate::admissions::Way;
use crate::ids::LogId;
use crate::record::{Answer, Record, What};
use crate::ticket::Direction;

/// What was saved of a damaged journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvage {
    /// Where the damaged file lies now.
    pub kept_aside: PathBuf,
    /// Records that could be read.
    pub records: u64,
}

/// Reads what can be read of the file kept aside into the new journal.
pub(super) fn salvage(aside: &Path, new: &mut Connection) -> Result<Salvage, JournalError> {
    let mut records = 0;
    let transaction = new.transaction()?;
    if let Ok(old) = Connection::open_with_flags(aside, OpenFlags::SQLITE_OPEN_READ_ONLY) {
        let end = old.query_row("SELECT max(position) FROM sync_log", [], |row| row.get(0));
        let mut position: i64 = 0;
        // Row by row from the last good one on: a damaged page must not hide those behind it.
        // When even the end cannot be read, stop at the first long gap.
        let end: i64 = end.unwrap_or(i64::MAX);
        let mut gap = 0;
        while position <= end && gap < 10_000 {
            match read(&old, position) {
                Ok(Some(saved)) => {
                    position = saved.position + 1;
                    gap = 0;
                    if keep(&transaction, &saved).is_ok() {
                        records += 1;
                    }
                }
                Ok(None) => break,
                Err(_) => {
                    position += 1;
                    gap += 1;
                }
            }
        }
    }
    transaction.commit()?;
    Ok(Salvage {
        kept_aside: aside.to_owned(),
        records,
    })
}

struct Saved {
    position: i64,
    status: i64,
    text: String,
}

fn read(old: &Connection, from: i64) -> Result<Option<Saved>, rusqlite::Error> {
    old.prepare_cached(
        "SELECT position, sync_status, record FROM sync_log WHERE position >= ?1
          ORDER BY position LIMIT 1",
    )?
    .query_row([from], |row| {
        Ok(Saved {
            position: row.get(0)?,
            status: row.get(1)?,
            text: row.get(2)?,
        })
    })
    .optional()
}

fn keep(new: &Connection, saved: &Saved) -> Result<(), JournalError> {
    let record: Record = serde_json::from_str(&saved.text)?;
    let log = old_log(new, record.log_id)?;
    let status = match saved.status {
        1 => SyncStatus::Synced,
        2 => SyncStatus::Quarantined,
        3 => SyncStatus::Stuck,
        _ => SyncStatus::Unsent,
    };
    insert_record(new, log, &record, status, &saved.text)?;
    let What::Scan(scan) = &record.what;
    if let (Answer::Admit, Some(ticket_number), Some(service_day)) =
        (scan.verdict, scan.ticket_number, &scan.service_day)
    {
        let way = if scan.direction == Direction::In {
            Way::Entry
        } else {
            Way::Exit
        };
        let service_day = service_day.clone();
        insert_moved(
            new,
            log,
            &record,
            &Moved {
                service_day,
                ticket_number,
                way,
                persons: scan.persons,
            },
        )?;
    }
    Ok(())
}

/// The damaged journal's log, known by the records' own word; never written to again, since its
/// fingerprint is that of no machine.
fn old_log(new: &Connection, log_id: LogId) -> Result<i64, rusqlite::Error> {
    let id = log_id.0.as_bytes();
    let known = new
        .query_row("SELECT log FROM log WHERE log_id = ?1", [id], |row| {
            row.get(0)
        })
        .optional()?;
    if let Some(log) = known {
        return Ok(log);
    }
    new.execute(
        "INSERT INTO log (log_id, fingerprint, text_key) VALUES (?1, 'salvaged', zeroblob(32))",
        params![id],
    )?;
    Ok(new.last_insert_rowid())
}
