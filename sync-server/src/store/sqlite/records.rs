//! Tables `records`, `record_ids`, `positions`, `log_traces`: accepted records, the order in which
//! they were accepted, and by which requests.

use rusqlite::{CachedStatement, Connection, OptionalExtension, params};
use stile_core::admissions::Way;
use stile_core::ids::{RecordId, SessionId, TicketNumber, VenueNumber};
use stile_core::protocol::RecordStanding;
use stile_core::time::{EpochMillis, ServiceDay};

use super::columns::{count, to_i64, word_if_any};
use super::finality::{self, Arriving};
use super::log_spans::{Name, Spans};
use super::standings::Admission;
use super::words::Word;
use crate::store::{Position, Result, StoreError};
use crate::traced::{self, TraceId};

/// Positions of a venue: 2^47 of them, a million a second for four years.
const POSITION_BITS: u32 = 47;

/// Before the first place of any venue.
pub(super) const FIRST_PLACE: i64 = 1 << POSITION_BITS;

/// A venue's place at a position.
pub(super) fn place(venue: VenueNumber, position: u64) -> i64 {
    let position = position.min((1 << POSITION_BITS) - 1);
    (i64::from(venue.0) << POSITION_BITS) | i64::try_from(position).unwrap_or(i64::MAX)
}

pub(super) fn position(place: i64) -> Option<Position> {
    u64::try_from(place & ((1 << POSITION_BITS) - 1))
        .ok()
        .map(Position)
}

/// A record to be accepted.
pub(super) struct NewRecord<'r> {
    pub received_at: EpochMillis,
    pub at: EpochMillis,
    /// What it names, whatever came of it.
    pub ticket: Option<TicketNumber>,
    pub session_id: Option<&'r SessionId>,
    pub service_day: Option<&'r ServiceDay>,
    pub way: Option<Way>,
    /// What its movement counts to, if it moves people of a ticket.
    pub counts_to: Option<&'r Admission>,
    pub after_cancel: bool,
    pub takes_back: bool,
    pub bytes: &'r [u8],
}

/// Gives accepted records their places, within one transaction.
pub(super) struct Acceptance<'c> {
    connection: &'c Connection,
    venue: VenueNumber,
    insert: CachedStatement<'c>,
    last: u64,
    was: u64,
    spans: Spans,
}

impl<'c> Acceptance<'c> {
    pub(super) fn begin(connection: &'c Connection, venue: VenueNumber) -> Result<Self> {
        let Position(last) = end_of(connection, venue)?;
        let insert = connection.prepare_cached(
            "INSERT INTO records (place, received_at, check_in, standing, record, number,
                                  service_day, checkpoint, after_cancel, of_ticket,
                                  late_after_final)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?;
        Ok(Self {
            connection,
            venue,
            insert,
            last,
            was: last,
            spans: Spans::default(),
        })
    }

    /// The place that the next accepted record gets.
    pub(super) fn next(&self) -> i64 {
        place(self.venue, self.last + 1)
    }

    /// Stores a record at [`Self::next`], and gives that place back. An entry is a winner until it
    /// is settled.
    pub(super) fn accept(&mut self, record: &NewRecord<'_>) -> Result<i64> {
        let place = self.next();
        let check_in = record.way == Some(Way::Entry);
        let standing = check_in.then_some(RecordStanding::Winner);
        let to = record.counts_to;
        let arriving = Arriving {
            session: record.session_id,
            counts_to: to,
            at: record.at,
            way: record.way,
            takes_back: record.takes_back,
        };
        let is_late = finality::is_late(self.connection, self.venue, &arriving)?;
        self.insert.execute(params![
            place,
            record.received_at.0,
            check_in,
            standing.map(Word::word),
            record.bytes,
            to.map(|to| to.number.as_i64()),
            to.map(|to| to.day.as_str()),
            to.map(|to| to.checkpoint.as_str()),
            record.after_cancel,
            record.ticket.map(TicketNumber::as_i64),
            is_late
        ])?;
        self.spans.add(Name::received(record.received_at), place);
        self.spans.add(Name::hour_of(record.at), place);
        if let Some(session) = record.session_id {
            self.spans.add(Name::Session(session.clone()), place);
        }
        if let Some(day) = to.map(|to| &to.day).or(record.service_day) {
            self.spans.add(Name::Day(day.clone()), place);
        }
        self.last += 1;
        Ok(place)
    }

    /// Keeps the last position that was given, and what finds the records again.
    pub(super) fn finish(self) -> Result<()> {
        self.spans.keep(self.connection, self.venue)?;
        if self.last != self.was {
            self.connection
                .prepare_cached(
                    "INSERT INTO positions (venue, last) VALUES (?1, ?2)
                     ON CONFLICT DO UPDATE SET last = excluded.last",
                )?
                .execute(params![self.venue.0, self.last])?;
            self.connection
                .prepare_cached(
                    "INSERT INTO log_traces (venue, through, trace) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![
                    self.venue.0,
                    self.last,
                    traced::current().map(|trace| trace.0)
                ])?;
        }
        Ok(())
    }
}

/// The last position that a venue's log has given.
pub(super) fn end_of(connection: &Connection, venue: VenueNumber) -> Result<Position> {
    let last = connection
        .prepare_cached("SELECT last FROM positions WHERE venue = ?1")?
        .query_row([venue.0], |row| count(row, 0).map(Position));
    Ok(last.optional()?.unwrap_or_default())
}

/// The last position that each venue's log has given.
pub(super) fn each_end(
    connection: &Connection,
    mut end: impl FnMut(VenueNumber, Position),
) -> Result<()> {
    let mut statement = connection.prepare_cached("SELECT venue, last FROM positions")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        end(VenueNumber(row.get(0)?), Position(count(row, 1)?));
    }
    Ok(())
}

/// The trace of the request that brought all records from one position to another, if one did.
pub(super) fn trace(
    connection: &Connection,
    venue: VenueNumber,
    first: Position,
    last: Position,
) -> Result<Option<TraceId>> {
    let mut statement = connection.prepare_cached(
        "SELECT through, trace FROM log_traces
         WHERE venue = ?1 AND through >= ?2 ORDER BY through LIMIT 1",
    )?;
    let found = statement
        .query_row(params![venue.0, to_i64(first.0)?], |row| {
            Ok((count(row, 0).map(Position)?, row.get(1)?))
        })
        .optional()?;
    let trace = found.filter(|(through, _)| last <= *through);
    Ok(trace.and_then(|(_, trace)| trace).map(TraceId))
}

/// Takes ids, within one transaction.
pub(super) struct Ids<'c> {
    venue: VenueNumber,
    insert: CachedStatement<'c>,
}

impl<'c> Ids<'c> {
    pub(super) fn new(connection: &'c Connection, venue: VenueNumber) -> Result<Self> {
        let insert = connection.prepare_cached(
            "INSERT INTO record_ids (venue, id, hash, place) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO NOTHING",
        )?;
        Ok(Self { venue, insert })
    }

    /// Takes an id for a place, or for quarantine; says whether it was free.
    pub(super) fn take(
        &mut self,
        id: RecordId,
        hash: &[u8; 32],
        place: Option<i64>,
    ) -> Result<bool> {
        let taken = self
            .insert
            .execute(params![self.venue.0, id.0, hash, place])?;
        Ok(taken == 1)
    }
}

/// What is known of a record id.
pub(super) struct KnownId {
    pub hash: [u8; 32],
    /// None while the record is quarantined.
    pub place: Option<i64>,
}

pub(super) fn known_id(
    connection: &Connection,
    venue: VenueNumber,
    id: RecordId,
) -> Result<Option<KnownId>> {
    let known = connection
        .prepare_cached("SELECT hash, place FROM record_ids WHERE venue = ?1 AND id = ?2")?
        .query_row(params![venue.0, id.0], |row| {
            Ok(KnownId {
                hash: row.get(0)?,
                place: row.get(1)?,
            })
        });
    Ok(known.optional()?)
}

/// Where the record at a place stands.
pub(super) fn standing(connection: &Connection, place: i64) -> Result<Option<RecordStanding>> {
    let standing = connection
        .prepare_cached("SELECT standing FROM records WHERE place = ?1")?
        .query_row([place], |row| word_if_any(row, 0))
        .optional()?;
    // A record that retention took away stands nowhere.
    Ok(standing.flatten())
}

pub(super) fn get(
    connection: &Connection,
    venue: VenueNumber,
    id: RecordId,
) -> Result<Option<Vec<u8>>> {
    let Some(KnownId {
        place: Some(place), ..
    }) = known_id(connection, venue, id)?
    else {
        return Ok(None);
    };
    let record = connection
        .prepare_cached("SELECT record FROM records WHERE place = ?1")?
        .query_row([place], |row| row.get(0))
        .optional()
        .map_err(StoreError::from)?;
    Ok(record)
}
