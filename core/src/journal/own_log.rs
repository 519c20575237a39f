//! The log that new records go to. Each start begins a new one, so that a journal which was put
//! back from an image never uses sequence numbers that it has used before.

use rusqlite::{Connection, OptionalExtension, params};

use crate::ids::LogId;
use crate::platform::Random;

/// Stands for the machine of a log that was read out of a damaged file.
pub(super) const SALVAGED: &str = "salvaged";

/// A log of this journal.
#[derive(Clone)]
pub(super) struct OwnLog {
    pub log_id: LogId,
    pub text_key: [u8; 32],
    fingerprint: String,
    /// Its row, once it holds a record.
    row: Option<i64>,
}

impl OwnLog {
    /// A new log, of the machine with this fingerprint. Nothing is written yet.
    pub fn new(fingerprint: &str, random: &dyn Random) -> Self {
        let mut id = [0; 16];
        random.fill(&mut id);
        let mut text_key = [0; 32];
        random.fill(&mut text_key);
        Self {
            log_id: LogId(uuid::Builder::from_random_bytes(id).into_uuid()),
            text_key,
            fingerprint: fingerprint.to_owned(),
            row: None,
        }
    }

    /// Of a journal that is only looked at.
    pub fn none() -> Self {
        Self {
            log_id: LogId(uuid::Uuid::nil()),
            text_key: [0; 32],
            fingerprint: String::new(),
            row: None,
        }
    }

    /// Its row, written with its first record. It holds once that transaction is committed, which
    /// [`Self::has_row`] must be told.
    pub fn row(&self, connection: &Connection) -> Result<i64, rusqlite::Error> {
        if let Some(row) = self.row {
            return Ok(row);
        }
        connection.execute(
            "INSERT INTO log (log_id, fingerprint, text_key) VALUES (?1, ?2, ?3)",
            params![self.log_id.0.as_bytes(), self.fingerprint, self.text_key],
        )?;
        Ok(connection.last_insert_rowid())
    }

    /// The row is on disk.
    pub fn has_row(&mut self, row: i64) {
        self.row = Some(row);
    }
}

/// Whether the newest log was made on another machine: the folder was copied.
pub(super) fn is_of_another_machine(
    connection: &Connection,
    fingerprint: &str,
) -> Result<bool, rusqlite::Error> {
    let newest: Option<String> = connection
        .query_row(
            "SELECT fingerprint FROM log WHERE fingerprint <> ?1 ORDER BY log DESC LIMIT 1",
            [SALVAGED],
            |row| row.get(0),
        )
        .optional()?;
    Ok(newest.is_some_and(|newest| newest != fingerprint))
}
