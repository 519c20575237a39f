//! The file of SQLite's write-ahead log: grown once at start, so that the sync which a visitor waits
//! for writes a page and nothing of the file system's own; folded back beside the scans.

use std::fs::File;

use rusqlite::Connection;

use super::JournalError;

/// Frames not yet folded back that the sync loop lets gather.
const FOLD_FRAMES: u32 = 1_024;
/// How large the file is made, in bytes: what gathers, in pages of 4 KiB, and a quarter more, since
/// the sync loop looks once a second.
const GROWN_BYTES: u64 = FOLD_FRAMES as u64 * 4096 * 5 / 4;
/// Pages that the connection holds while it grows the file, so that the rest spills into it.
const HELD_PAGES: u32 = 16;

/// Grows the log's file. A file that grows with each commit costs each scan two writes of the disk in
/// place of one. Done by a transaction that is larger than the cache and rolled back, so that nothing of
/// it stays but the file's length. Without it scans are slower, and nothing else.
pub(super) fn grow(connection: &Connection) {
    let Some(path) = connection.path().map(|path| format!("{path}-wal")) else {
        return;
    };
    if std::fs::metadata(&path).is_ok_and(|file| file.len() >= GROWN_BYTES) {
        return;
    }
    let _ = spill(connection);
    // What has spilled is not synced by a rollback; the first scan would have to.
    let _ = File::open(path).and_then(|file| file.sync_all());
}

fn spill(connection: &Connection) -> Result<(), rusqlite::Error> {
    let cache: i64 = connection.pragma_query_value(None, "cache_size", |row| row.get(0))?;
    connection.pragma_update(None, "cache_size", HELD_PAGES)?;
    let spilled = connection.unchecked_transaction().and_then(|transaction| {
        transaction.execute_batch("CREATE TABLE grown (bytes BLOB)")?;
        transaction.execute("INSERT INTO grown VALUES (zeroblob(?1))", [GROWN_BYTES])?;
        transaction.rollback()
    });
    connection.pragma_update(None, "cache_size", cache)?;
    spilled
}

/// Folds what has gathered back into the database, so that no scan has to.
pub(super) fn fold_back(connection: &Connection) -> Result<(), JournalError> {
    let gathered = |row: &rusqlite::Row<'_>| -> Result<i64, rusqlite::Error> {
        Ok(row.get::<_, i64>(1)? - row.get::<_, i64>(2)?)
    };
    let frames = connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], gathered)?;
    if frames >= i64::from(FOLD_FRAMES) {
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    }
    Ok(())
}
