//! Tables `movements`, `conflicts`: who won and who lost, settled again by the fold whenever a
//! ticket's movements or what it admits have changed.

use rusqlite::{CachedStatement, Connection, OptionalExtension, params};
use stile_core::admissions::Movement;
use stile_core::ids::{Checkpoint, TicketId, TicketNumber, VenueNumber};
use stile_core::ticket::{Reentry, Session};
use stile_core::time::{EpochMillis, ServiceDay};

use super::columns::{millis, number, parsed, word};
use super::words::Word;
use crate::admissions::{Settled, movement, settle};
use crate::store::{Conflict, ConflictEntry, Result, StoreError};

/// What one admission is good for: a ticket, on a day, at a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Admission {
    pub number: TicketNumber,
    pub day: ServiceDay,
    pub checkpoint: Checkpoint,
}

impl Admission {
    /// The columns that it is found by.
    fn key(&self, venue: VenueNumber) -> (u16, i64, &str, &str) {
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
    pub day: ServiceDay,
    pub admits: u8,
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
            "SELECT admits FROM tickets
             WHERE venue = ?1 AND service_day = ?2 AND number = ?3 AND standing <> 'moved'",
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

    /// The ticket's facts; `day` is where it is looked for first.
    pub(super) fn facts(
        &mut self,
        number: TicketNumber,
        day: Option<&ServiceDay>,
    ) -> Result<Option<Facts>> {
        if let Some(day) = day {
            let admits = self
                .admits
                .query_row(
                    params![self.venue.0, day.as_str(), number.as_i64()],
                    |row| row.get(0),
                )
                .optional()?;
            if let Some(admits) = admits {
                return Ok(Some(Facts {
                    day: day.clone(),
                    admits,
                }));
            }
        }
        let facts = self
            .connection
            .prepare_cached(
                "SELECT service_day, admits FROM tickets INDEXED BY tickets_by_number
                 WHERE venue = ?1 AND number = ?2 AND standing <> 'moved'",
            )?
            .query_row(params![self.venue.0, number.as_i64()], |row| {
                Ok(Facts {
                    day: parsed(row, 0)?,
                    admits: row.get(1)?,
                })
            });
        Ok(facts.optional()?)
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

/// Settles all admissions of a ticket: it admits another number, or enters another session.
pub(super) fn settle_ticket(
    connection: &Connection,
    venue: VenueNumber,
    number: TicketNumber,
    now: EpochMillis,
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
        .try_for_each(|admission| settle_one(connection, venue, admission, now))
}

/// Settles all admissions of a session's tickets: they re-enter by another rule.
pub(super) fn settle_session(
    connection: &Connection,
    venue: VenueNumber,
    session: &Session,
    now: EpochMillis,
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
        .try_for_each(|number| settle_ticket(connection, venue, number, now))
}

/// Settles one admission, and opens or clears its conflict.
pub(super) fn settle_one(
    connection: &Connection,
    venue: VenueNumber,
    admission: &Admission,
    now: EpochMillis,
) -> Result<()> {
    let mut update = connection.prepare_cached(
        "UPDATE records SET standing = ?3
         WHERE place = (SELECT place FROM record_ids WHERE venue = ?1 AND id = ?2)
           AND standing IS NOT ?3",
    )?;
    let settled = settled(connection, venue, admission)?;
    for (entry, standing) in &settled.entries {
        update.execute(params![venue.0, entry.record_id.0, standing.word()])?;
    }
    let (venue, number, day, checkpoint) = admission.key(venue);
    let sql = if settled.has_loser() {
        "INSERT INTO conflicts (venue, number, service_day, checkpoint, opened_at)
         VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO UPDATE SET cleared_at = NULL"
    } else {
        "UPDATE conflicts SET cleared_at = ?5
         WHERE venue = ?1 AND number = ?2 AND service_day = ?3 AND checkpoint = ?4
           AND cleared_at IS NULL"
    };
    connection
        .prepare_cached(sql)?
        .execute((venue, number, day, checkpoint, now.0))?;
    Ok(())
}

fn settled(connection: &Connection, venue: VenueNumber, admission: &Admission) -> Result<Settled> {
    let (admits, reentry) = rule(connection, venue, admission.number)?;
    let mut statement = connection.prepare_cached(
        "SELECT record FROM movements JOIN records USING (place)
         WHERE venue = ?1 AND number = ?2 AND service_day = ?3 AND checkpoint = ?4",
    )?;
    let mut rows = statement.query(admission.key(venue))?;
    let mut movements: Vec<Movement> = Vec::new();
    while let Some(row) = rows.next()? {
        let bytes = row.get_ref(0)?.as_blob().map_err(|error| damaged(&error))?;
        movements.extend(movement(bytes).map_err(|error| damaged(&error))?);
    }
    Ok(settle(admits, reentry, movements))
}

fn damaged(error: &dyn std::error::Error) -> StoreError {
    StoreError::Damaged(format!("a record: {error}"))
}

/// Persons that the ticket admits, and how often it enters.
fn rule(
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

/// An open conflict, as far as its table has it.
struct Open {
    admission: Admission,
    opened_at: EpochMillis,
    ticket_id: TicketId,
}

pub(super) fn conflicts(
    connection: &Connection,
    venue: VenueNumber,
    limit: u32,
) -> Result<Vec<Conflict>> {
    let mut statement = connection.prepare_cached(
        "SELECT conflicts.number, conflicts.service_day, checkpoint, opened_at, ticket_id
         FROM conflicts CROSS JOIN tickets INDEXED BY tickets_by_number USING (venue, number)
         WHERE venue = ?1 AND cleared_at IS NULL AND standing <> 'moved'
         ORDER BY opened_at DESC, conflicts.number LIMIT ?2",
    )?;
    let open = statement
        .query_map(params![venue.0, limit], |row| {
            let admission = Admission {
                number: number(row, 0, TicketNumber::from_i64)?,
                day: parsed(row, 1)?,
                checkpoint: parsed(row, 2)?,
            };
            Ok(Open {
                admission,
                opened_at: millis(row, 3)?,
                ticket_id: parsed(row, 4)?,
            })
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    open.into_iter()
        .map(|open| conflict(connection, venue, open))
        .collect()
}

fn conflict(connection: &Connection, venue: VenueNumber, open: Open) -> Result<Conflict> {
    let settled = settled(connection, venue, &open.admission)?;
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
    } = open.admission;
    Ok(Conflict {
        ticket_id: open.ticket_id,
        number,
        checkpoint,
        service_day: day,
        opened_at: open.opened_at,
        entries: entries.collect(),
    })
}
