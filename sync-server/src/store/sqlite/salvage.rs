//! A damaged database is kept aside, and every record that can still be read goes into a file of
//! its own: gates keep theirs for days, but not for ever.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;
use serde_json::value::RawValue;
use stile_core::time::EpochMillis;

use super::aside::set_aside;
use super::open::{DatabaseError, look_through, read_only};
use super::records::FIRST_PLACE;

/// Positions that are tried behind one that cannot be read before the rest is given up: some
/// hundred damaged pages.
const LONGEST_GAP: u32 = 10_000;

/// What was saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvage {
    /// Where the damaged file lies now.
    pub kept_aside: PathBuf,
    /// Accepted records that could be read.
    pub records: u64,
    /// Quarantined records that could be read.
    pub quarantined: u64,
}

/// Why nothing was salvaged.
#[derive(Debug, thiserror::Error)]
pub enum SalvageError {
    /// There is nothing to salvage.
    #[error("{} is not damaged; pull its records from the server", .0.display())]
    NotDamaged(PathBuf),
    /// The file is something else.
    #[error(transparent)]
    Database(DatabaseError),
    /// The file system.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// One line of the file that records are read out to.
#[derive(Serialize)]
struct Line<'a> {
    received_at: EpochMillis,
    quarantined: bool,
    record: &'a RawValue,
}

/// Moves a damaged database aside and writes the records that can be read of it, one JSON object
/// a line. A healthy database is left as it is.
pub fn salvage(path: &Path, out: &mut dyn Write) -> Result<Salvage, SalvageError> {
    match look_through(path) {
        Err(DatabaseError::Damaged { .. }) => {}
        Ok(_) => return Err(SalvageError::NotDamaged(path.to_owned())),
        Err(other) => return Err(SalvageError::Database(other)),
    }
    let kept_aside = set_aside(path, "damaged")?;
    let (mut records, mut quarantined) = (0, 0);
    // What is no database at all holds no record; it is kept all the same.
    if let Ok(connection) = read_only(&kept_aside) {
        records = accepted(&connection, out)?;
        quarantined = set_apart(&connection, out)?;
    }
    out.flush()?;
    Ok(Salvage {
        kept_aside,
        records,
        quarantined,
    })
}

/// Place, time received, record.
type Readable = (i64, i64, Vec<u8>);

/// Record by record from the last good one on: a damaged page must not hide those behind it.
fn accepted(connection: &Connection, out: &mut dyn Write) -> io::Result<u64> {
    let (mut place, mut gap, mut count) = (FIRST_PLACE, 0, 0);
    while gap < LONGEST_GAP {
        let next = || -> rusqlite::Result<Option<Readable>> {
            connection
                .prepare_cached(
                    "SELECT place, received_at, record FROM records
                     WHERE place > ?1 ORDER BY place LIMIT 1",
                )?
                .query_row([place], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
                .optional()
        };
        match next() {
            Ok(Some((its_place, received_at, record))) => {
                (place, gap) = (its_place, 0);
                count += u64::from(write(out, received_at, false, &record)?);
            }
            Ok(None) => break,
            Err(_) => {
                place += 1;
                gap += 1;
            }
        }
    }
    Ok(count)
}

fn set_apart(connection: &Connection, out: &mut dyn Write) -> io::Result<u64> {
    let mut lines: Vec<(i64, Vec<u8>)> = Vec::new();
    let read = |lines: &mut Vec<_>| -> rusqlite::Result<()> {
        let mut statement = connection.prepare("SELECT received_at, record FROM quarantine")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            lines.push((row.get(0)?, row.get(1)?));
        }
        Ok(())
    };
    // They are few and lie together: what comes behind a damaged page is not looked for.
    let _ = read(&mut lines);
    let mut count = 0;
    for (received_at, record) in lines {
        count += u64::from(write(out, received_at, true, &record)?);
    }
    Ok(count)
}

fn write(
    out: &mut dyn Write,
    received_at: i64,
    quarantined: bool,
    record: &[u8],
) -> io::Result<bool> {
    // A record that rotted in its own page is no JSON any more.
    let Ok(record) = serde_json::from_slice::<&RawValue>(record) else {
        return Ok(false);
    };
    let line = Line {
        received_at: EpochMillis(received_at),
        quarantined,
        record,
    };
    serde_json::to_writer(&mut *out, &line)?;
    out.write_all(b"\n")?;
    Ok(true)
}
