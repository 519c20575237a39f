//! A gate's journal, read from outside while nobody or its gate has it open: what the gate wrote
//! before it opened, to be held against what arrived.

use std::path::Path;

use anyhow::{Context, Result};
use rusqlite::{Connection, OpenFlags, OptionalExtension};

/// One record of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The JSON text, to the byte.
    pub record: String,
    /// Whether the gate knows that the server has it.
    pub is_synced: bool,
}

/// The value of `sync_status` of records that the server has.
const SYNCED: i64 = 1;

/// Every record of the journal in a gate's folder, in the order made.
pub fn read(data: &Path) -> Result<Vec<Kept>> {
    let journal = open(data)?;
    let mut query =
        journal.prepare("SELECT record, sync_status FROM sync_log ORDER BY position")?;
    let rows = query.query_map([], |row| {
        Ok(Kept {
            record: row.get(0)?,
            is_synced: row.get::<_, i64>(1)? == SYNCED,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// How far the gate has read the admissions feed; none before the first piece.
pub fn feed_cursor(data: &Path) -> Result<Option<String>> {
    let journal = open(data)?;
    let mut query = journal.prepare("SELECT value FROM fact WHERE name = 'feed_cursor'")?;
    Ok(query.query_row([], |row| row.get(0)).optional()?)
}

fn open(data: &Path) -> Result<Connection> {
    let path = data.join("journal.db");
    Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .with_context(|| format!("cannot open {}", path.display()))
}
