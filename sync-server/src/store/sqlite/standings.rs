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
pub(super) struct Place {
    pub number: TicketNumber,
    pub day: ServiceDay,
    pub checkpoint: Checkpoint,
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

    /// Adds the movement of the record at `place`; says whether it is the first there.
    pub(super) fn add(&mut self, at: &Place, place: i64) -> Result<bool> {
        let Place {
            number,
            day,
            checkpoint,
        } = at;
        let key = (
            self.venue.0,
            number.as_i64(),
            day.as_str(),
            checkpoint.as_str(),
        );
        if self
            .insert_first
            .execute((key.0, key.1, key.2, key.3, place))?
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
            .execute((key.0, key.1, key.2, key.3, place))?;
        Ok(false)
    }
}

/// Settles all places of a ticket: it admits another number, or enters another session.
pub(super) fn settle_ticket(
    connection: &Connection,
    venue: VenueNumber,
    number: TicketNumber,
    now: EpochMillis,
) -> Result<()> {
    let places = connection
        .prepare_cached(
            "SELECT DISTINCT service_day, checkpoint FROM movements
             WHERE venue = ?1 AND number = ?2",
        )?
        .query_map(params![venue.0, number.as_i64()], |row| {
            Ok(Place {
                number,
                day: parsed(row, 0)?,
                checkpoint: parsed(row, 1)?,
            })
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    places
        .iter()
        .try_for_each(|place| settle_place(connection, venue, place, now))
}

/// Settles all places of a session's tickets: they re-enter by another rule.
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

/// Settles one place, and opens or clears its conflict.
pub(super) fn settle_place(
    connection: &Connection,
    venue: VenueNumber,
    place: &Place,
    now: EpochMillis,
) -> Result<()> {
    let mut update = connection.prepare_cached(
        "UPDATE records SET standing = ?3
         WHERE place = (SELECT place FROM record_ids WHERE venue = ?1 AND id = ?2)
           AND standing IS NOT ?3",
    )?;
    let settled = settled(connection, venue, place)?;
    for (entry, standing) in &settled.entries {
        update.execute(params![venue.0, entry.record_id.0, standing.word()])?;
    }
    let (open, now) = (settled.has_loser(), now.0);
    let key = (
        venue.0,
        place.number.as_i64(),
        place.day.as_str(),
        place.checkpoint.as_str(),
    );
    if open {
        connection
            .prepare_cached(
                "INSERT INTO conflicts (venue, number, service_day, checkpoint, opened_at)
                 VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT DO UPDATE SET cleared_at = NULL",
            )?
            .execute((key.0, key.1, key.2, key.3, now))?;
    } else {
        connection
            .prepare_cached(
                "UPDATE conflicts SET cleared_at = ?5
                 WHERE venue = ?1 AND number = ?2 AND service_day = ?3 AND checkpoint = ?4
                   AND cleared_at IS NULL",
            )?
            .execute((key.0, key.1, key.2, key.3, now))?;
    }
    Ok(())
}

fn settled(connection: &Connection, venue: VenueNumber, place: &Place) -> Result<Settled> {
    let (admits, reentry) = rule(connection, venue, place.number)?;
    let mut statement = connection.prepare_cached(
        "SELECT record FROM movements JOIN records USING (place)
         WHERE venue = ?1 AND number = ?2 AND service_day = ?3 AND checkpoint = ?4",
    )?;
    let key = params![
        venue.0,
        place.number.as_i64(),
        place.day.as_str(),
        place.checkpoint.as_str()
    ];
    let mut rows = statement.query(key)?;
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
            let place = Place {
                number: number(row, 0, TicketNumber::from_i64)?,
                day: parsed(row, 1)?,
                checkpoint: parsed(row, 2)?,
            };
            Ok((place, millis(row, 3)?, parsed(row, 4)?))
        })?
        .collect::<rusqlite::Result<Vec<(Place, EpochMillis, TicketId)>>>()?;
    open.into_iter()
        .map(|(place, opened_at, ticket_id)| {
            let settled = settled(connection, venue, &place)?;
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
            Ok(Conflict {
                ticket_id,
                number: place.number,
                checkpoint: place.checkpoint,
                service_day: place.day,
                opened_at,
                entries: entries.collect(),
            })
        })
        .collect()
}
