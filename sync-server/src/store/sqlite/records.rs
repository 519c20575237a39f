//! Tables `records`, `record_ids`, `positions`: accepted records, and the order in which they were
//! accepted.

use rusqlite::{Connection, OptionalExtension, params};
use stile_core::admissions::Way;
use stile_core::ids::{RecordId, VenueNumber};
use stile_core::protocol::RecordStanding;
use stile_core::time::EpochMillis;

use super::columns::{millis, number, word_if_any};
use super::words::Word;
use crate::store::{LogStream, Page, Position, Result, StoreError, StoredRecord};

/// Gives accepted records their positions, within one transaction.
pub(super) struct Acceptance<'c> {
    connection: &'c Connection,
    venue: VenueNumber,
    last: i64,
    was: i64,
}

impl<'c> Acceptance<'c> {
    pub(super) fn begin(connection: &'c Connection, venue: VenueNumber) -> Result<Self> {
        let last = connection
            .prepare_cached("SELECT last FROM positions WHERE venue = ?1")?
            .query_row([venue.0], |row| row.get(0))
            .optional()?
            .unwrap_or(0);
        Ok(Self {
            connection,
            venue,
            last,
            was: last,
        })
    }

    /// The position that the next accepted record gets.
    pub(super) fn next(&self) -> i64 {
        self.last + 1
    }

    /// The position that was given last.
    pub(super) fn last(&self) -> i64 {
        self.last
    }

    /// Stores a record at [`Self::next`], and gives that position back. An entry is a winner until
    /// it is settled.
    pub(super) fn accept(
        &mut self,
        received_at: EpochMillis,
        way: Option<Way>,
        bytes: &[u8],
    ) -> Result<i64> {
        let position = self.next();
        let check_in = way == Some(Way::Entry);
        let standing = check_in.then_some(RecordStanding::Winner);
        self.connection
            .prepare_cached(
                "INSERT INTO records (venue, position, received_at, check_in, standing, record)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                self.venue.0,
                position,
                received_at.0,
                check_in,
                standing.map(Word::word),
                bytes
            ])?;
        self.last = position;
        Ok(position)
    }

    /// Keeps the last position that was given.
    pub(super) fn finish(self) -> Result<()> {
        if self.last != self.was {
            self.connection
                .prepare_cached(
                    "INSERT INTO positions (venue, last) VALUES (?1, ?2)
                     ON CONFLICT DO UPDATE SET last = excluded.last",
                )?
                .execute(params![self.venue.0, self.last])?;
        }
        Ok(())
    }
}

/// What is known of a record id.
pub(super) struct KnownId {
    pub hash: [u8; 32],
    /// None while the record is quarantined.
    pub position: Option<i64>,
}

pub(super) fn known_id(
    connection: &Connection,
    venue: VenueNumber,
    id: RecordId,
) -> Result<Option<KnownId>> {
    let known = connection
        .prepare_cached("SELECT hash, position FROM record_ids WHERE venue = ?1 AND id = ?2")?
        .query_row(params![venue.0, id.0], |row| {
            Ok(KnownId {
                hash: row.get(0)?,
                position: row.get(1)?,
            })
        });
    Ok(known.optional()?)
}

/// Takes an id; says whether it was free.
pub(super) fn take_id(
    connection: &Connection,
    venue: VenueNumber,
    id: RecordId,
    hash: &[u8; 32],
    position: Option<i64>,
) -> Result<bool> {
    let taken = connection
        .prepare_cached(
            "INSERT INTO record_ids (venue, id, hash, position) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![venue.0, id.0, hash, position])?;
    Ok(taken == 1)
}

/// Where the record at a position stands.
pub(super) fn standing(
    connection: &Connection,
    venue: VenueNumber,
    position: i64,
) -> Result<Option<RecordStanding>> {
    let standing = connection
        .prepare_cached("SELECT standing FROM records WHERE venue = ?1 AND position = ?2")?
        .query_row(params![venue.0, position], |row| word_if_any(row, 0))
        .optional()?;
    // A record that retention took away stands nowhere.
    Ok(standing.flatten())
}

pub(super) fn pull(
    connection: &Connection,
    venue: VenueNumber,
    stream: LogStream,
    after: Position,
    limit: u32,
) -> Result<Page> {
    let sql = match stream {
        LogStream::Records => {
            "SELECT position, received_at, standing, record FROM records
             WHERE venue = ?1 AND position > ?2 ORDER BY position LIMIT ?3"
        }
        LogStream::CheckIns => {
            "SELECT position, received_at, standing, record FROM records
             WHERE venue = ?1 AND position > ?2 AND check_in ORDER BY position LIMIT ?3"
        }
    };
    let behind = i64::try_from(after.0).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(sql)?;
    // One more than asked tells whether there is more.
    let mut records = statement
        .query_map(
            params![venue.0, behind, u64::from(limit).saturating_add(1) as i64],
            |row| {
                Ok(StoredRecord {
                    position: Position(number(row, 0, |n| u64::try_from(n).ok())?),
                    received_at: millis(row, 1)?,
                    standing: word_if_any(row, 2)?,
                    bytes: row.get(3)?,
                })
            },
        )?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let more = records.len() > limit as usize;
    records.truncate(limit as usize);
    let next = records.last().map_or(after, |last| last.position);
    Ok(Page {
        records,
        next,
        more,
    })
}

pub(super) fn get(
    connection: &Connection,
    venue: VenueNumber,
    id: RecordId,
) -> Result<Option<Vec<u8>>> {
    let Some(KnownId {
        position: Some(position),
        ..
    }) = known_id(connection, venue, id)?
    else {
        return Ok(None);
    };
    let record = connection
        .prepare_cached("SELECT record FROM records WHERE venue = ?1 AND position = ?2")?
        .query_row(params![venue.0, position], |row| row.get(0))
        .optional()
        .map_err(StoreError::from)?;
    Ok(record)
}
