//! Table `undos_ahead`: records that take back another of their device, whichever comes first.

use rusqlite::{Connection, OptionalExtension, params};
use stile_core::ids::{DeviceId, RecordId, TicketNumber, VenueNumber};
use stile_core::protocol::RecordHead;

use super::columns::{number, parsed};
use super::feed::Feed;
use super::log_spans::{Name, Spans};
use super::records::{KnownId, known_id};
use super::standings::{Admission, damaged};
use crate::store::Result;

/// The record at `by` takes `target` back: now if that is accepted, else once it is. Answers the
/// admission that is used otherwise now.
pub(super) fn take_back(
    connection: &Connection,
    venue: VenueNumber,
    device: &DeviceId,
    target: RecordId,
    by: i64,
    feed: &mut Feed<'_>,
) -> Result<Option<Admission>> {
    match known_id(connection, venue, target)? {
        Some(KnownId {
            place: Some(place), ..
        }) => apply(connection, venue, device, place, by, feed),
        _ => {
            connection
                .prepare_cached(
                    "INSERT INTO undos_ahead (venue, id, device_id, place)
                     VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
                )?
                .execute(params![venue.0, target.0, device.as_str(), by])?;
            Ok(None)
        }
    }
}

/// A record was accepted: what took it back before it came is applied.
pub(super) fn meet(
    connection: &Connection,
    venue: VenueNumber,
    device: &DeviceId,
    id: RecordId,
    feed: &mut Feed<'_>,
) -> Result<Option<Admission>> {
    let by: Option<i64> = connection
        .prepare_cached(
            "DELETE FROM undos_ahead WHERE venue = ?1 AND id = ?2 AND device_id = ?3
             RETURNING place",
        )?
        .query_row(params![venue.0, id.0, device.as_str()], |row| row.get(0))
        .optional()?;
    let Some(by) = by else {
        return Ok(None);
    };
    take_back(connection, venue, device, id, by, feed)
}

fn apply(
    connection: &Connection,
    venue: VenueNumber,
    device: &DeviceId,
    place: i64,
    by: i64,
    feed: &mut Feed<'_>,
) -> Result<Option<Admission>> {
    let Some(bytes) = connection
        .prepare_cached("SELECT record FROM records WHERE place = ?1 AND NOT taken_back")?
        .query_row([place], |row| row.get::<_, Vec<u8>>(0))
        .optional()?
    else {
        return Ok(None);
    };
    let head: RecordHead = serde_json::from_slice(&bytes).map_err(|error| damaged(&error))?;
    // Nobody takes back what another device saw, and what was taken back stays so.
    if head.device_id != *device || head.takes_back().is_some() {
        return Ok(None);
    }
    let (is_check_in, admission) = connection
        .prepare_cached(
            "UPDATE records SET taken_back = 1, standing = NULL WHERE place = ?1
             RETURNING number IS NOT NULL, number, service_day, checkpoint, check_in",
        )?
        .query_row([place], |row| {
            let (is_movement, is_check_in): (bool, bool) = (row.get(0)?, row.get(4)?);
            let admission = || {
                Ok::<_, rusqlite::Error>(Admission {
                    number: number(row, 1, TicketNumber::from_i64)?,
                    day: parsed(row, 2)?,
                    checkpoint: parsed(row, 3)?,
                })
            };
            let admission = is_movement.then(admission).transpose()?;
            Ok((is_check_in, admission))
        })?;
    if let Some(admission) = &admission {
        let (number, day) = (admission.number.as_i64(), admission.day.as_str());
        let is_there = connection
            .prepare_cached(
                "UPDATE records SET number = ?2, service_day = ?3, checkpoint = ?4, undoes = ?5,
                                    of_ticket = coalesce(of_ticket, ?2)
                 WHERE place = ?1",
            )?
            .execute(params![
                by,
                number,
                day,
                admission.checkpoint.as_str(),
                is_check_in && place < by
            ])?
            > 0;
        // It may be gone, long before what it takes back came.
        if is_there {
            let mut spans = Spans::default();
            spans.add(Name::Day(admission.day.clone()), by);
            spans.keep(connection, venue)?;
            feed.add(by, &admission.day)?;
        }
    }
    Ok(admission)
}
