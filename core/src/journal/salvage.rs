//! A damaged journal is kept aside, and every record that can still be read goes into the new
//! one: with its place in its log and its status, so that nothing is sent under a new name, and
//! with what it did, so that nobody enters twice, what was undone stays undone, and free passage
//! goes on.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use super::open::{OpenError, open_file_to_look};
use super::own_log::SALVAGED;
use super::sync_log::put_fact;
use super::{JournalError, SyncStatus, carry_out, insert_record};
use crate::ids::LogId;
use crate::record::Record;

/// What was saved of a damaged journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvage {
    /// Where the damaged file lies now.
    pub kept_aside: PathBuf,
    /// Records that could be read.
    pub records: u64,
}

/// What an export found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exported {
    /// Records handed over.
    pub records: u64,
    /// Places in the file that cannot be read.
    pub unreadable: u64,
}

/// Reads what can be read of the file kept aside into the new journal.
pub(super) fn salvage(aside: &Path, new: &mut Connection) -> Result<Salvage, JournalError> {
    let mut records = 0;
    let transaction = new.transaction()?;
    if let Ok(old) = Connection::open_with_flags(aside, OpenFlags::SQLITE_OPEN_READ_ONLY) {
        each_readable(&old, |saved| {
            if keep(&transaction, &saved).is_ok() {
                records += 1;
            }
            Ok::<_, JournalError>(())
        })?;
        keep_facts(&old, &transaction)?;
        // Whether the gate had opened cannot be told any more: in doubt it does not open again.
        transaction.execute(
            "UPDATE admission SET carried_out = 1 WHERE carried_out = 0",
            [],
        )?;
    }
    transaction.commit()?;
    Ok(Salvage {
        kept_aside: aside.to_owned(),
        records,
    })
}

/// Hands over every record that is not known to be on the server, oldest first, as the JSON text
/// that it is, also out of a damaged journal. Takes no lock and writes nothing.
pub fn export_readable<E: From<OpenError>>(
    folder: &Path,
    mut take: impl FnMut(&str) -> Result<(), E>,
) -> Result<Exported, E> {
    let journal = open_file_to_look(folder)?;
    let mut exported = Exported::default();
    exported.unreadable = each_readable(&journal, |saved| {
        if matches!(saved.status, 1 | 2) {
            return Ok(());
        }
        exported.records += 1;
        take(&saved.text)
    })?;
    Ok(exported)
}

/// Goes from row to row past those that cannot be read, since a damaged page must not hide those
/// behind it. Returns how many places could not be read.
fn each_readable<E>(
    old: &Connection,
    mut take: impl FnMut(Saved) -> Result<(), E>,
) -> Result<u64, E> {
    // When even the end cannot be read, stop at the first long gap.
    let end = old.query_row("SELECT max(position) FROM sync_log", [], |row| row.get(0));
    let end: i64 = end.unwrap_or(i64::MAX);
    let (mut position, mut gap, mut unreadable) = (0_i64, 0, 0);
    while position <= end && gap < 10_000 {
        match read(old, position) {
            Ok(Some(saved)) => {
                position = saved.position.saturating_add(1);
                gap = 0;
                take(saved)?;
            }
            Ok(None) => break,
            Err(_) => {
                position += 1;
                gap += 1;
                unreadable += 1;
            }
        }
    }
    Ok(unreadable)
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
    carry_out(new, log, &record)?;
    Ok(())
}

/// The clock, so that time does not run backwards, and the key manifest, so that no lower one is
/// taken. Where unsent records begin is found anew.
fn keep_facts(old: &Connection, new: &Connection) -> Result<(), JournalError> {
    for name in ["clock", "key_manifest"] {
        let sql = "SELECT value FROM fact WHERE name = ?1";
        let value: Result<String, _> = old.query_row(sql, [name], |row| row.get(0));
        if let Ok(value) = value {
            put_fact(new, name, &value)?;
        }
    }
    Ok(())
}

/// The damaged journal's log, known by the records' own word. Which machine it was made on is lost.
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
        "INSERT INTO log (log_id, fingerprint, text_key) VALUES (?1, ?2, zeroblob(32))",
        params![id, SALVAGED],
    )?;
    Ok(new.last_insert_rowid())
}
