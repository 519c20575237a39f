//! Table `quarantine`: records that wait for a person, and those that wait for their ticket.

use rusqlite::{Connection, OptionalExtension, Row, params};
use stile_core::admissions::Way;
use stile_core::ids::{DeviceId, RecordId, TicketNumber, VenueNumber};
use stile_core::protocol::{QuarantineCause, RecordHead};
use stile_core::time::EpochMillis;

use super::columns::{count, millis, parsed, word};
use super::feed::Feed;
use super::records::{Acceptance, NewRecord};
use super::standings::{self, Admission, Movements};
use super::taken_back;
use super::words::Word;
use crate::admissions::movement_to_file;
use crate::store::{FilingRecord, QuarantineQuery, Quarantined, Result, StoreError};

/// Sets a record aside; again is as once. `number` is the ticket that it waits for.
pub(super) fn put(
    connection: &Connection,
    venue: VenueNumber,
    device: &DeviceId,
    record: &FilingRecord,
    cause: QuarantineCause,
    number: Option<TicketNumber>,
    received_at: EpochMillis,
) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO quarantine
             (venue, id, hash, device_id, cause, received_at, number, record)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            venue.0,
            record.id.0,
            record.hash,
            device.as_str(),
            cause.word(),
            received_at.0,
            number.map(TicketNumber::as_i64),
            record.bytes
        ])?;
    Ok(())
}

struct Waiting {
    id: RecordId,
    hash: [u8; 32],
    received_at: EpochMillis,
    bytes: Vec<u8>,
}

/// Accepts the records that wait for these tickets, which have just arrived.
pub(super) fn release(
    connection: &Connection,
    venue: VenueNumber,
    arrived: &[TicketNumber],
    now: EpochMillis,
    feed: &mut Feed<'_>,
) -> Result<()> {
    let any = connection
        .prepare_cached(
            "SELECT 1 FROM quarantine INDEXED BY quarantine_by_ticket
             WHERE venue = ?1 AND number IS NOT NULL LIMIT 1",
        )?
        .exists([venue.0])?;
    if arrived.is_empty() || !any {
        return Ok(());
    }
    let mut acceptance = Acceptance::begin(connection, venue)?;
    let mut movements = Movements::new(connection, venue)?;
    for number in arrived {
        let waiting = waiting_for(connection, venue, *number)?;
        for record in &waiting {
            accept(
                connection,
                venue,
                *number,
                record,
                &mut acceptance,
                &mut movements,
                feed,
            )?;
        }
        if !waiting.is_empty() {
            standings::settle_ticket(connection, venue, *number, now, feed)?;
        }
    }
    acceptance.finish()
}

fn waiting_for(
    connection: &Connection,
    venue: VenueNumber,
    number: TicketNumber,
) -> Result<Vec<Waiting>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, hash, received_at, record FROM quarantine INDEXED BY quarantine_by_ticket
         WHERE venue = ?1 AND number = ?2 AND cause = 'unknown_ticket' AND dismissed_at IS NULL
         ORDER BY received_at, id",
    )?;
    let waiting = statement
        .query_map(params![venue.0, number.as_i64()], |row| {
            Ok(Waiting {
                id: RecordId(row.get(0)?),
                hash: row.get(1)?,
                received_at: millis(row, 2)?,
                bytes: row.get(3)?,
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(waiting)
}

fn head(record: &Waiting) -> Result<RecordHead> {
    serde_json::from_slice(&record.bytes)
        .map_err(|error| StoreError::Damaged(format!("a quarantined record: {error}")))
}

/// Takes a record out of quarantine and accepts it.
fn accept(
    connection: &Connection,
    venue: VenueNumber,
    number: TicketNumber,
    record: &Waiting,
    acceptance: &mut Acceptance<'_>,
    movements: &mut Movements<'_>,
    feed: &mut Feed<'_>,
) -> Result<()> {
    let head = head(record)?;
    let way = movement_to_file(&head, Some(number)).map(|movement| movement.way);
    let facts = movements.facts(number, head.service_day.as_ref())?;
    let after_cancel = facts
        .as_ref()
        .is_some_and(|facts| facts.is_cancelled_before(head.at));
    let admission = facts.map(|facts| Admission {
        number,
        day: facts.day,
        checkpoint: head.checkpoint.clone(),
    });
    let place = acceptance.accept(&NewRecord {
        received_at: record.received_at,
        at: head.at,
        ticket: Some(number),
        session_id: head.session_id.as_ref(),
        service_day: head.service_day.as_ref(),
        way,
        counts_to: admission.as_ref(),
        after_cancel: after_cancel && way == Some(Way::Entry),
        takes_back: head.takes_back().is_some(),
        bytes: &record.bytes,
    })?;
    leave(connection, venue, record.id, &record.hash, place)?;
    if let Some(admission) = &admission {
        movements.add(admission, place)?;
        feed.add(place, &admission.day)?;
    }
    taken_back::meet(connection, venue, &head.device_id, record.id, feed)?;
    Ok(())
}

/// Most records of one device that wait because of how it stands.
const MAX_OF_UNENROLLED: u32 = 100_000;

/// Whether a device that is not enrolled has as many records here as it may.
pub(super) fn is_full(
    connection: &Connection,
    venue: VenueNumber,
    device: &DeviceId,
) -> Result<bool> {
    let aside: u32 = connection
        .prepare_cached(
            "SELECT count(*) FROM (SELECT 1 FROM quarantine INDEXED BY quarantine_by_device
                                   WHERE venue = ?1 AND device_id = ?2 LIMIT ?3)",
        )?
        .query_row(
            params![venue.0, device.as_str(), MAX_OF_UNENROLLED],
            |row| row.get(0),
        )?;
    Ok(aside >= MAX_OF_UNENROLLED)
}

/// Why this very record is in quarantine, and since when; none if it is not.
pub(super) fn waiting(
    connection: &Connection,
    venue: VenueNumber,
    id: RecordId,
    hash: &[u8; 32],
) -> Result<Option<(QuarantineCause, EpochMillis)>> {
    let waiting = connection
        .prepare_cached(
            "SELECT cause, received_at FROM quarantine WHERE venue = ?1 AND id = ?2 AND hash = ?3",
        )?
        .query_row(params![venue.0, id.0, hash], |row| {
            Ok((word(row, 0)?, millis(row, 1)?))
        });
    Ok(waiting.optional()?)
}

/// From now on a record waits for its ticket alone.
pub(super) fn wait_for_ticket(
    connection: &Connection,
    venue: VenueNumber,
    record: &FilingRecord,
) -> Result<()> {
    let number = record
        .movement
        .as_ref()
        .and_then(|movement| movement.number);
    connection
        .prepare_cached(
            "UPDATE quarantine SET cause = 'unknown_ticket', number = ?4, dismissed_at = NULL
             WHERE venue = ?1 AND id = ?2 AND hash = ?3",
        )?
        .execute(params![
            venue.0,
            record.id.0,
            record.hash,
            number.map(TicketNumber::as_i64)
        ])?;
    Ok(())
}

/// Takes a record out of quarantine for its place in the log.
pub(super) fn leave(
    connection: &Connection,
    venue: VenueNumber,
    id: RecordId,
    hash: &[u8; 32],
    place: i64,
) -> Result<()> {
    connection
        .prepare_cached("UPDATE record_ids SET place = ?3 WHERE venue = ?1 AND id = ?2")?
        .execute(params![venue.0, id.0, place])?;
    connection
        .prepare_cached("DELETE FROM quarantine WHERE venue = ?1 AND id = ?2 AND hash = ?3")?
        .execute(params![venue.0, id.0, hash])?;
    Ok(())
}

/// Keeps that records stay out of the log. Answers the ids of those that are in quarantine.
pub(super) fn dismiss(
    connection: &Connection,
    venue: VenueNumber,
    ids: &[RecordId],
    now: EpochMillis,
) -> Result<Vec<RecordId>> {
    let mut dismissed = Vec::new();
    for id in ids {
        let rows = connection
            .prepare_cached(
                "UPDATE quarantine SET dismissed_at = coalesce(dismissed_at, ?3)
                 WHERE venue = ?1 AND id = ?2",
            )?
            .execute(params![venue.0, id.0, now.0])?;
        if rows > 0 {
            dismissed.push(*id);
        }
    }
    Ok(dismissed)
}

macro_rules! quarantined_where {
    ($rest:literal) => {
        concat!(
            "SELECT id, device_id, cause, received_at, record FROM quarantine WHERE venue = ?1 AND ",
            $rest
        )
    };
}

pub(super) fn find(
    connection: &Connection,
    venue: VenueNumber,
    query: &QuarantineQuery,
) -> Result<Vec<Quarantined>> {
    let mut found = Vec::new();
    match query {
        QuarantineQuery::Waiting {
            device: None,
            limit,
        } => {
            let mut statement = connection.prepare_cached(quarantined_where!(
                "dismissed_at IS NULL ORDER BY received_at, id, hash LIMIT ?2"
            ))?;
            for one in statement.query_map(params![venue.0, limit], quarantined)? {
                found.push(one?);
            }
        }
        QuarantineQuery::Waiting {
            device: Some(device),
            limit,
        } => {
            let mut statement = connection.prepare_cached(quarantined_where!(
                "device_id = ?2 AND dismissed_at IS NULL ORDER BY received_at, id, hash LIMIT ?3"
            ))?;
            let params = params![venue.0, device.as_str(), limit];
            for one in statement.query_map(params, quarantined)? {
                found.push(one?);
            }
        }
        QuarantineQuery::OfStanding { device, limit } => {
            let mut statement = connection.prepare_cached(quarantined_where!(
                "device_id = ?2 AND dismissed_at IS NULL
                 AND cause IN ('revoked_device', 'forgotten_device')
                 ORDER BY received_at, id, hash LIMIT ?3"
            ))?;
            let params = params![venue.0, device.as_str(), limit];
            for one in statement.query_map(params, quarantined)? {
                found.push(one?);
            }
        }
        QuarantineQuery::These(ids) => {
            let mut statement =
                connection.prepare_cached(quarantined_where!("id = ?2 ORDER BY hash"))?;
            for id in ids {
                for one in statement.query_map(params![venue.0, id.0], quarantined)? {
                    found.push(one?);
                }
            }
        }
    }
    Ok(found)
}

fn quarantined(row: &Row<'_>) -> rusqlite::Result<Quarantined> {
    Ok(Quarantined {
        id: RecordId(row.get(0)?),
        device_id: parsed(row, 1)?,
        cause: word(row, 2)?,
        received_at: millis(row, 3)?,
        bytes: row.get(4)?,
    })
}

/// How many records of a venue wait for a person or their ticket.
pub(super) fn count_all(connection: &Connection, venue: VenueNumber) -> Result<u64> {
    let aside = connection
        .prepare_cached(
            "SELECT count(*) FROM quarantine WHERE venue = ?1 AND dismissed_at IS NULL",
        )?
        .query_row([venue.0], |row| count(row, 0))?;
    Ok(aside)
}
