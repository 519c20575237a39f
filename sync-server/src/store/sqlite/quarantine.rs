//! Table `quarantine`: records that wait for a person, and those that wait for their ticket.

use rusqlite::{Connection, OptionalExtension, params};
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
use crate::store::{FilingRecord, Quarantined, Result, StoreError};

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

/// Why a record was set aside.
pub(super) fn cause(
    connection: &Connection,
    venue: VenueNumber,
    id: RecordId,
    hash: &[u8; 32],
) -> Result<Option<QuarantineCause>> {
    let cause = connection
        .prepare_cached("SELECT cause FROM quarantine WHERE venue = ?1 AND id = ?2 AND hash = ?3")?
        .query_row(params![venue.0, id.0, hash], |row| word(row, 0));
    Ok(cause.optional()?)
}

struct Waiting {
    id: RecordId,
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
        "SELECT id, received_at, record FROM quarantine INDEXED BY quarantine_by_ticket
         WHERE venue = ?1 AND number = ?2 AND cause = 'unknown_ticket'
         ORDER BY received_at, id",
    )?;
    let waiting = statement
        .query_map(params![venue.0, number.as_i64()], |row| {
            Ok(Waiting {
                id: RecordId(row.get(0)?),
                received_at: millis(row, 1)?,
                bytes: row.get(2)?,
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
    connection
        .prepare_cached("UPDATE record_ids SET place = ?3 WHERE venue = ?1 AND id = ?2")?
        .execute(params![venue.0, record.id.0, place])?;
    connection
        .prepare_cached(
            "DELETE FROM quarantine WHERE venue = ?1 AND id = ?2 AND cause = 'unknown_ticket'",
        )?
        .execute(params![venue.0, record.id.0])?;
    if let Some(admission) = &admission {
        movements.add(admission, place)?;
        feed.add(place, &admission.day)?;
    }
    taken_back::meet(connection, venue, &head.device_id, record.id, feed)?;
    Ok(())
}

pub(super) fn all(
    connection: &Connection,
    venue: VenueNumber,
    limit: u32,
) -> Result<Vec<Quarantined>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, device_id, cause, received_at, record FROM quarantine
         WHERE venue = ?1 ORDER BY received_at, id, hash LIMIT ?2",
    )?;
    let records = statement
        .query_map(params![venue.0, limit], |row| {
            Ok(Quarantined {
                id: RecordId(row.get(0)?),
                device_id: parsed(row, 1)?,
                cause: word(row, 2)?,
                received_at: millis(row, 3)?,
                bytes: row.get(4)?,
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(records)
}

/// How many records of a venue are set aside.
pub(super) fn count_all(connection: &Connection, venue: VenueNumber) -> Result<u64> {
    let aside = connection
        .prepare_cached("SELECT count(*) FROM quarantine WHERE venue = ?1")?
        .query_row([venue.0], |row| count(row, 0))?;
    Ok(aside)
}
