//! Tables `events`, `event_positions`: what happened that other systems are told of, in the order
//! of the commits. Added within the transaction of what they tell of.

use rusqlite::{Connection, params};
use serde::Serialize;
use stile_core::ids::VenueNumber;
use stile_core::time::EpochMillis;

use super::columns::{count, millis, to_i64, word};
use super::words::Word;
use crate::store::{Event, EventKind, KeptSince, Position, Result, StoreError, Swept};
use crate::traced::{self, TraceId};

/// Adds an event.
pub(super) fn add(
    connection: &Connection,
    venue: VenueNumber,
    kind: EventKind,
    thing: &str,
    detail: &impl Serialize,
    now: EpochMillis,
) -> Result<()> {
    let detail =
        serde_json::to_string(detail).map_err(|error| StoreError::Fault(error.to_string()))?;
    let position: u64 = connection
        .prepare_cached(
            "INSERT INTO event_positions (venue, last) VALUES (?1, 1)
             ON CONFLICT DO UPDATE SET last = last + 1 RETURNING last",
        )?
        .query_row([venue.0], |row| count(row, 0))?;
    connection
        .prepare_cached(
            "INSERT INTO events (venue, position, at, generation, kind, thing, detail, trace)
             VALUES (?1, ?2, ?3, (SELECT generation FROM server), ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            venue.0,
            to_i64(position)?,
            now.0,
            kind.word(),
            thing,
            detail,
            traced::current().map(|trace| trace.0)
        ])?;
    Ok(())
}

/// At most `limit` events behind a position, in ascending order.
pub(super) fn after(
    connection: &Connection,
    venue: VenueNumber,
    after: Position,
    limit: u32,
) -> Result<Vec<Event>> {
    let mut statement = connection.prepare_cached(
        "SELECT position, at, generation, kind, thing, detail, trace FROM events
         WHERE venue = ?1 AND position > ?2 ORDER BY position LIMIT ?3",
    )?;
    let events = statement
        .query_map(params![venue.0, to_i64(after.0)?, limit], |row| {
            Ok(Event {
                position: Position(count(row, 0)?),
                at: millis(row, 1)?,
                generation: count(row, 2)?,
                kind: word(row, 3)?,
                thing: row.get(4)?,
                detail: row.get(5)?,
                trace: row.get::<_, Option<_>>(6)?.map(TraceId),
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(events)
}

/// Removes at most `limit` events from before, in their order: what stands behind one that is kept
/// is kept as well. What a webhook has yet to tell stays longer, as [`KeptSince`] says.
pub(super) fn forget(
    connection: &Connection,
    venue: VenueNumber,
    kept: KeptSince,
    now: EpochMillis,
    limit: u32,
) -> Result<Swept> {
    let removed = connection
        .prepare_cached(
            "DELETE FROM events WHERE venue = ?1 AND position IN (
                 SELECT e.position FROM events e
                 WHERE e.venue = ?1 AND e.at < ?2 AND e.position < coalesce(
                     (SELECT k.position FROM events k
                      WHERE k.venue = ?1 AND k.at BETWEEN ?2 AND ?4
                      ORDER BY k.position LIMIT 1), e.position + 1)
                   AND (e.at < ?3 OR e.position <= coalesce(
                     (SELECT min(event_through) FROM webhooks
                      WHERE venue = ?1 AND carries <> 'check_ins'), e.position))
                 ORDER BY e.position LIMIT ?5)",
        )?
        .execute(params![venue.0, kept.all.0, kept.untold.0, now.0, limit])?;
    Ok(Swept {
        removed: removed as u64,
        more: removed == limit as usize,
    })
}
