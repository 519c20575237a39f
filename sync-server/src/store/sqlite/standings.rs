//! Tables `movements`, `conflicts`: who won and who lost, settled again by the fold whenever a
//! ticket's movements or what it admits have changed.

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};
use serde::Serialize;
use stile_core::admissions::Movement;
use stile_core::ids::{Checkpoint, TicketId, TicketNumber, VenueNumber};
use stile_core::ticket::{Reentry, Session};
use stile_core::time::{EpochMillis, ServiceDay};

use super::columns::{count, millis, millis_if_any, number, parsed, word};
use super::feed::Feed;
use super::words::Word;
use super::{events, removal};
use crate::admissions::{Settled, movement, settle};
use crate::store::{Conflict, ConflictEntry, ConflictState, EventKind, Result, StoreError};

/// What one admission is good for: a ticket, on a day, at a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Admission {
    pub number: TicketNumber,
    pub day: ServiceDay,
    pub checkpoint: Checkpoint,
}

impl Admission {
    /// The columns that it is found by.
    pub(super) fn key(&self, venue: VenueNumber) -> (u16, i64, &str, &str) {
        let Self {
            number,
            day,
            checkpoint,
        } = self;
        (venue.0, number.as_i64(), day.as_str(), checkpoint.as_str())
    }
}

/// A ticket, as far as admissions ask for it.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    /// The day that its admission counts to.
    pub day: ServiceDay,
    pub admits: u8,
    /// When the store took it, or its session, to be cancelled, if it is.
    pub cancelled_at: Option<EpochMillis>,
}

impl Facts {
    /// Whether a scan at that time found the ticket cancelled already.
    pub(super) fn is_cancelled_before(&self, at: EpochMillis) -> bool {
        self.cancelled_at.is_some_and(|cancelled| cancelled < at)
    }
}

/// Looks tickets up and adds their movements, within one transaction.
pub(super) struct Movements<'c> {
    connection: &'c Connection,
    venue: VenueNumber,
    admits: CachedStatement<'c>,
    insert_first: CachedStatement<'c>,
}

impl<'c> Movements<'c> {
    pub(super) fn new(connection: &'c Connection, venue: VenueNumber) -> Result<Self> {
        let admits = connection.prepare_cached(
            "SELECT t.admits, t.cancelled_at, s.cancelled_at
             FROM tickets t JOIN sessions s USING (venue, session_id)
             WHERE venue = ?1 AND t.service_day = ?2 AND number = ?3 AND standing <> 'moved'",
        )?;
        let insert_first = connection.prepare_cached(
            "INSERT INTO movements (venue, number, service_day, checkpoint, turn, place)
             VALUES (?1, ?2, ?3, ?4, 0, ?5) ON CONFLICT DO NOTHING",
        )?;
        Ok(Self {
            connection,
            venue,
            admits,
            insert_first,
        })
    }

    /// The ticket's facts. Its admission counts to `day` if it stands or stood in that day's list,
    /// else to its own.
    pub(super) fn facts(
        &mut self,
        number: TicketNumber,
        day: Option<&ServiceDay>,
    ) -> Result<Option<Facts>> {
        if let Some(day) = day {
            let key = params![self.venue.0, day.as_str(), number.as_i64()];
            let facts = self
                .admits
                .query_row(key, |row| {
                    Ok(Facts {
                        day: day.clone(),
                        admits: row.get(0)?,
                        cancelled_at: earlier(row, 1, 2)?,
                    })
                })
                .optional()?;
            if facts.is_some() {
                return Ok(facts);
            }
        }
        let facts = self
            .connection
            .prepare_cached(
                "SELECT t.service_day, t.admits, t.cancelled_at, s.cancelled_at
                 FROM tickets t INDEXED BY tickets_by_number
                 JOIN sessions s USING (venue, session_id)
                 WHERE venue = ?1 AND number = ?2 AND standing <> 'moved'",
            )?
            .query_row(params![self.venue.0, number.as_i64()], |row| {
                Ok(Facts {
                    day: parsed(row, 0)?,
                    admits: row.get(1)?,
                    cancelled_at: earlier(row, 2, 3)?,
                })
            })
            .optional()?;
        match (facts, day) {
            (Some(facts), Some(day)) if self.stood_in(number, day)? => Ok(Some(Facts {
                day: day.clone(),
                ..facts
            })),
            (facts, _) => Ok(facts),
        }
    }

    fn stood_in(&self, number: TicketNumber, day: &ServiceDay) -> Result<bool> {
        let stood = self
            .connection
            .prepare_cached(
                "SELECT 1 FROM tickets WHERE venue = ?1 AND service_day = ?2 AND number = ?3",
            )?
            .exists(params![self.venue.0, day.as_str(), number.as_i64()])?;
        Ok(stood)
    }

    /// Adds the movement of the record at a place of the log; says whether it is the first of its
    /// admission.
    pub(super) fn add(&mut self, admission: &Admission, place: i64) -> Result<bool> {
        let (venue, number, day, checkpoint) = admission.key(self.venue);
        if self
            .insert_first
            .execute((venue, number, day, checkpoint, place))?
            == 1
        {
            return Ok(true);
        }
        self.connection
            .prepare_cached(
                "INSERT INTO movements (venue, number, service_day, checkpoint, turn, place)
                 SELECT ?1, ?2, ?3, ?4, max(turn) + 1, ?5 FROM movements
                 WHERE venue = ?1 AND number = ?2 AND service_day = ?3 AND checkpoint = ?4",
            )?
            .execute((venue, number, day, checkpoint, place))?;
        Ok(false)
    }
}

/// The earlier of two times that may not be there.
fn earlier(row: &Row<'_>, one: usize, other: usize) -> rusqlite::Result<Option<EpochMillis>> {
    let times: [Option<i64>; 2] = [row.get(one)?, row.get(other)?];
    Ok(times.into_iter().flatten().min().map(EpochMillis))
}

/// Settles all admissions of a ticket: it admits another number, or enters another session.
pub(super) fn settle_ticket(
    connection: &Connection,
    venue: VenueNumber,
    number: TicketNumber,
    now: EpochMillis,
    feed: &mut Feed<'_>,
) -> Result<()> {
    let admissions = connection
        .prepare_cached(
            "SELECT DISTINCT service_day, checkpoint FROM movements
             WHERE venue = ?1 AND number = ?2",
        )?
        .query_map(params![venue.0, number.as_i64()], |row| {
            Ok(Admission {
                number,
                day: parsed(row, 0)?,
                checkpoint: parsed(row, 1)?,
            })
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    admissions
        .iter()
        .try_for_each(|admission| settle_one(connection, venue, admission, now, feed))
}

/// Settles all admissions of a session's tickets: they re-enter by another rule.
pub(super) fn settle_session(
    connection: &Connection,
    venue: VenueNumber,
    session: &Session,
    now: EpochMillis,
    feed: &mut Feed<'_>,
) -> Result<()> {
    let numbers = connection
        .prepare_cached(
            "SELECT number FROM tickets
             WHERE venue = ?1 AND service_day = ?2 AND session_id = ?3 AND standing <> 'moved'",
        )?
        .query_map(
            params![
                venue.0,
                session.service_day.as_str(),
                session.session_id.as_str()
            ],
            |row| number(row, 0, TicketNumber::from_i64),
        )?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    numbers
        .into_iter()
        .try_for_each(|number| settle_ticket(connection, venue, number, now, feed))
}

/// Settles one admission, opens or clears its conflict, and says in the feed which entries stand
/// otherwise now.
pub(super) fn settle_one(
    connection: &Connection,
    venue: VenueNumber,
    admission: &Admission,
    now: EpochMillis,
    feed: &mut Feed<'_>,
) -> Result<()> {
    // Of what it was, not all is here any more: what was said of the rest stays.
    if removal::is_cut(connection, venue, admission)? {
        return Ok(());
    }
    let mut update = connection.prepare_cached(
        "UPDATE records SET standing = ?3
         WHERE place = (SELECT place FROM record_ids WHERE venue = ?1 AND id = ?2)
           AND standing IS NOT ?3
         RETURNING place",
    )?;
    let settled = settled(connection, venue, admission)?;
    for (entry, standing) in &settled.entries {
        let key = params![venue.0, entry.record_id.0, standing.word()];
        if let Some(place) = update.query_row(key, |row| row.get(0)).optional()? {
            feed.add(place, &admission.day)?;
        }
    }
    let (venue_key, number, day, checkpoint) = admission.key(venue);
    let sql = if settled.has_loser() {
        "INSERT INTO conflicts (venue, number, service_day, checkpoint, opened_at)
         VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO UPDATE SET cleared_at = NULL WHERE cleared_at IS NOT NULL"
    } else {
        "UPDATE conflicts SET cleared_at = ?5
         WHERE venue = ?1 AND number = ?2 AND service_day = ?3 AND checkpoint = ?4
           AND cleared_at IS NULL"
    };
    let changed = connection
        .prepare_cached(sql)?
        .execute((venue_key, number, day, checkpoint, now.0))?;
    match (changed, settled.has_loser()) {
        (0, _) => Ok(()),
        (_, true) => tell(connection, venue, admission, EventKind::ConflictOpened, now),
        (_, false) => tell(
            connection,
            venue,
            admission,
            EventKind::ConflictCleared,
            now,
        ),
    }
}

/// What an event says of a conflict.
#[derive(Serialize)]
struct Told<'t> {
    service_day: &'t ServiceDay,
    checkpoint: &'t Checkpoint,
}

fn tell(
    connection: &Connection,
    venue: VenueNumber,
    admission: &Admission,
    kind: EventKind,
    now: EpochMillis,
) -> Result<()> {
    let ticket: String = connection
        .prepare_cached(
            "SELECT ticket_id FROM tickets INDEXED BY tickets_by_number
             WHERE venue = ?1 AND number = ?2 AND standing <> 'moved'",
        )?
        .query_row(params![venue.0, admission.number.as_i64()], |row| {
            row.get(0)
        })?;
    let told = Told {
        service_day: &admission.day,
        checkpoint: &admission.checkpoint,
    };
    events::add(connection, venue, kind, &ticket, &told, now)
}

fn settled(connection: &Connection, venue: VenueNumber, admission: &Admission) -> Result<Settled> {
    let (admits, reentry) = rule(connection, venue, admission.number)?;
    let movements = movements_of(connection, venue, admission)?;
    Ok(settle(admits, reentry, movements))
}

/// What moved people of an admission, taken back ones left out, in no order.
pub(super) fn movements_of(
    connection: &Connection,
    venue: VenueNumber,
    admission: &Admission,
) -> Result<Vec<Movement>> {
    let mut statement = connection.prepare_cached(
        "SELECT record FROM movements JOIN records USING (place)
         WHERE venue = ?1 AND movements.number = ?2 AND movements.service_day = ?3
           AND movements.checkpoint = ?4 AND NOT taken_back",
    )?;
    let mut rows = statement.query(admission.key(venue))?;
    let mut movements: Vec<Movement> = Vec::new();
    while let Some(row) = rows.next()? {
        let bytes = row.get_ref(0)?.as_blob().map_err(|error| damaged(&error))?;
        movements.extend(movement(bytes).map_err(|error| damaged(&error))?);
    }
    Ok(movements)
}

pub(super) fn damaged(error: &dyn std::error::Error) -> StoreError {
    StoreError::Damaged(format!("a record: {error}"))
}

/// Persons that the ticket admits, and how often it enters.
pub(super) fn rule(
    connection: &Connection,
    venue: VenueNumber,
    number: TicketNumber,
) -> Result<(u8, Reentry)> {
    let rule = connection
        .prepare_cached(
            "SELECT admits, reentry
             FROM tickets INDEXED BY tickets_by_number JOIN sessions USING (venue, session_id)
             WHERE venue = ?1 AND number = ?2 AND standing <> 'moved'",
        )?
        .query_row(params![venue.0, number.as_i64()], |row| {
            Ok((row.get(0)?, word(row, 1)?))
        });
    Ok(rule?)
}

/// A conflict, as far as its table has it.
struct Found {
    admission: Admission,
    opened_at: EpochMillis,
    cleared_at: Option<EpochMillis>,
    ticket_id: TicketId,
}

pub(super) fn conflicts(
    connection: &Connection,
    venue: VenueNumber,
    state: ConflictState,
    limit: u32,
) -> Result<Vec<Conflict>> {
    let (with_open, with_cleared) = match state {
        ConflictState::Open => (true, false),
        ConflictState::Cleared => (false, true),
        ConflictState::All => (true, true),
    };
    let mut statement = connection.prepare_cached(
        "SELECT conflicts.number, conflicts.service_day, checkpoint, opened_at, ticket_id,
                cleared_at
         FROM conflicts CROSS JOIN tickets INDEXED BY tickets_by_number USING (venue, number)
         WHERE venue = ?1 AND standing <> 'moved'
           AND ((?3 AND cleared_at IS NULL) OR (?4 AND cleared_at IS NOT NULL))
         ORDER BY opened_at DESC, conflicts.number LIMIT ?2",
    )?;
    let found = statement
        .query_map(params![venue.0, limit, with_open, with_cleared], |row| {
            let admission = Admission {
                number: number(row, 0, TicketNumber::from_i64)?,
                day: parsed(row, 1)?,
                checkpoint: parsed(row, 2)?,
            };
            Ok(Found {
                admission,
                opened_at: millis(row, 3)?,
                ticket_id: parsed(row, 4)?,
                cleared_at: millis_if_any(row, 5)?,
            })
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    found
        .into_iter()
        .map(|found| conflict(connection, venue, found))
        .collect()
}

fn conflict(connection: &Connection, venue: VenueNumber, found: Found) -> Result<Conflict> {
    let settled = settled(connection, venue, &found.admission)?;
    let entries = settled
        .entries
        .into_iter()
        .map(|(entry, standing)| ConflictEntry {
            record_id: entry.record_id,
            gate_id: entry.gate_id,
            at: entry.at,
            persons: entry.persons,
            standing,
        });
    let Admission {
        number,
        day,
        checkpoint,
    } = found.admission;
    Ok(Conflict {
        ticket_id: found.ticket_id,
        number,
        checkpoint,
        service_day: day,
        opened_at: found.opened_at,
        cleared_at: found.cleared_at,
        entries: entries.collect(),
    })
}

/// How many conflicts of a venue are open.
pub(super) fn count_open(connection: &Connection, venue: VenueNumber) -> Result<u64> {
    let open = connection
        .prepare_cached("SELECT count(*) FROM conflicts WHERE venue = ?1 AND cleared_at IS NULL")?
        .query_row([venue.0], |row| count(row, 0))?;
    Ok(open)
}
