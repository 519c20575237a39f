//! Tables `removed_records`, `removed_ids`: records whose time is over go from the beginning of the
//! log, in steps, with all that was kept of them; their ids stay taken for a while longer.

use std::collections::HashSet;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Deserialize;
use stile_core::ids::{RecordId, TicketNumber, VenueNumber};
use stile_core::time::{EpochMillis, ServiceDay};

use super::columns::{count, millis, number, parsed};
use super::log_spans::{self, DAY_MS};
use super::records::{place, position};
use super::standings::Admission;
use crate::store::{KeptSince, LogStream, Position, Result, Swept};

/// What is read of a record that goes.
struct Going {
    place: i64,
    received_at: EpochMillis,
    is_check_in: bool,
    admission: Option<Admission>,
    /// None of one that does not say.
    id: Option<RecordId>,
}

#[derive(Deserialize)]
struct Said {
    id: RecordId,
}

/// Removes at most `limit` records, and what hangs on them.
pub(super) fn records(
    connection: &Connection,
    venue: VenueNumber,
    kept: KeptSince,
    now: EpochMillis,
    limit: u32,
) -> Result<Swept> {
    let end = end_of_removal(connection, venue, kept, now)?;
    let going = going(connection, venue, end, limit)?;
    let removed = going.len() as u64;
    let mut more = removed == u64::from(limit);
    if let Some(last) = going.last().map(|one| one.place) {
        remove(connection, venue, &going, last, kept.all)?;
    }
    let Some(through) = through(connection, venue, LogStream::Records)? else {
        return Ok(Swept { removed, more });
    };
    let through = place(venue, through.0);
    more |= feed(connection, venue, through, limit)?;
    // Where records are to be removed is known by spans: they go when there are no more.
    if !more {
        more = log_spans::forget(connection, venue, through, limit)?;
    }
    Ok(Swept { removed, more })
}

/// The last place that may go: what came too early, and has nothing before it that is kept.
fn end_of_removal(
    connection: &Connection,
    venue: VenueNumber,
    kept: KeptSince,
    now: EpochMillis,
) -> Result<i64> {
    let of = |since| log_spans::came_before(connection, venue, since, now);
    let end = of(kept.all)?;
    // What a webhook has yet to tell stays, but not for ever.
    let told: Option<u64> = connection
        .prepare_cached(
            "SELECT min(log_through) FROM webhooks
             WHERE venue = ?1 AND instr(carries, 'check_ins') > 0",
        )?
        .query_row([venue.0], |row| row.get(0))?;
    Ok(match told {
        Some(told) => end.min(place(venue, told).max(of(kept.untold)?)),
        None => end,
    })
}

fn going(connection: &Connection, venue: VenueNumber, end: i64, limit: u32) -> Result<Vec<Going>> {
    let mut statement = connection.prepare_cached(
        "SELECT place, received_at, check_in OR undoes, number, service_day, checkpoint, record
         FROM records WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT ?3",
    )?;
    let going = statement.query_map(params![place(venue, 0), end, limit], going_row)?;
    Ok(going.collect::<rusqlite::Result<_>>()?)
}

fn going_row(row: &Row<'_>) -> rusqlite::Result<Going> {
    let admission = match row.get::<_, Option<i64>>(3)? {
        None => None,
        Some(_) => Some(Admission {
            number: number(row, 3, TicketNumber::from_i64)?,
            day: parsed(row, 4)?,
            checkpoint: parsed(row, 5)?,
        }),
    };
    let said = serde_json::from_slice::<Said>(row.get_ref(6)?.as_blob()?).ok();
    Ok(Going {
        place: row.get(0)?,
        received_at: millis(row, 1)?,
        is_check_in: row.get(2)?,
        admission,
        id: said.map(|said| said.id),
    })
}

fn remove(
    connection: &Connection,
    venue: VenueNumber,
    going: &[Going],
    last: i64,
    kept_since: EpochMillis,
) -> Result<()> {
    for one in going {
        if let Some(id) = one.id {
            keep_id(connection, venue, one.received_at, id)?;
        }
    }
    let admissions: HashSet<_> = going
        .iter()
        .filter_map(|one| one.admission.as_ref())
        .collect();
    connection
        .prepare_cached("DELETE FROM records WHERE place > ?1 AND place <= ?2")?
        .execute([place(venue, 0), last])?;
    for admission in admissions {
        forget_admission(connection, venue, admission)?;
    }
    connection
        .prepare_cached(
            "DELETE FROM walk_ins WHERE (venue, service_day, place) IN (
                 SELECT venue, service_day, place FROM walk_ins INDEXED BY walk_ins_by_place
                 WHERE venue = ?1 AND place <= ?2)",
        )?
        .execute(params![venue.0, last])?;
    let through = position(last).unwrap_or_default();
    connection
        .prepare_cached("DELETE FROM log_traces WHERE venue = ?1 AND through <= ?2")?
        .execute(params![venue.0, through.0])?;
    let mut check_ins = going.iter().filter(|one| one.is_check_in);
    let check_in = check_ins.next_back().and_then(|one| position(one.place));
    let came = going.iter().map(|one| one.received_at);
    // What came by a clock that was ahead says nothing.
    let came_last = came.filter(|came| *came < kept_since).max();
    connection
        .prepare_cached(
            "INSERT INTO removed_records (venue, through, check_in_through, came_before)
             VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET
                 through = excluded.through,
                 check_in_through = max(check_in_through, excluded.check_in_through),
                 came_before = max(came_before, excluded.came_before)",
        )?
        .execute(params![
            venue.0,
            through.0,
            check_in.unwrap_or_default().0,
            came_last.map_or(0, |came| came.0 + 1)
        ])?;
    Ok(())
}

/// Keeps when a record came whose id stays taken.
fn keep_id(
    connection: &Connection,
    venue: VenueNumber,
    received_at: EpochMillis,
    id: RecordId,
) -> Result<()> {
    let day = received_at.0.div_euclid(DAY_MS);
    connection
        .prepare_cached(
            "INSERT INTO removed_ids (venue, day, id) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        )?
        .execute(params![venue.0, day, id.0])?;
    Ok(())
}

/// An admission of which some record is gone: nobody can say any more who of it won, so its
/// conflict goes. Its movements go when all their records have; until then they tell that some
/// are gone.
fn forget_admission(
    connection: &Connection,
    venue: VenueNumber,
    admission: &Admission,
) -> Result<()> {
    let key = admission.key(venue);
    connection
        .prepare_cached(
            "DELETE FROM conflicts
             WHERE venue = ?1 AND number = ?2 AND service_day = ?3 AND checkpoint = ?4",
        )?
        .execute(key)?;
    connection
        .prepare_cached(
            "DELETE FROM movements
             WHERE venue = ?1 AND number = ?2 AND service_day = ?3 AND checkpoint = ?4
               AND NOT EXISTS (
                   SELECT 1 FROM movements m JOIN records r ON r.place = m.place
                   WHERE m.venue = ?1 AND m.number = ?2 AND m.service_day = ?3
                     AND m.checkpoint = ?4)",
        )?
        .execute(key)?;
    Ok(())
}

/// Whether some record that moved people of an admission is gone, and others are not.
pub(super) fn is_cut(
    connection: &Connection,
    venue: VenueNumber,
    admission: &Admission,
) -> Result<bool> {
    let is_cut = connection
        .prepare_cached(
            "SELECT 1 FROM movements m
             WHERE venue = ?1 AND number = ?2 AND service_day = ?3 AND checkpoint = ?4
               AND NOT EXISTS (SELECT 1 FROM records r WHERE r.place = m.place)",
        )?
        .exists(admission.key(venue))?;
    Ok(is_cut)
}

/// Removes at most `limit` entries from the beginning of the feed, of records up to a place; says
/// whether there may be more.
fn feed(connection: &Connection, venue: VenueNumber, through: i64, limit: u32) -> Result<bool> {
    let entries: Vec<(i64, i64)> = connection
        .prepare_cached(
            "SELECT entry, place FROM feed WHERE entry > ?1 AND entry <= ?2
             ORDER BY entry LIMIT ?3",
        )?
        .query_map(
            params![place(venue, 0), place(venue, u64::MAX), limit],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?
        .collect::<rusqlite::Result<_>>()?;
    let gone = entries.iter().take_while(|(_, place)| *place <= through);
    let Some((last, _)) = gone.clone().last() else {
        return Ok(false);
    };
    connection
        .prepare_cached("DELETE FROM feed WHERE entry > ?1 AND entry <= ?2")?
        .execute([place(venue, 0), *last])?;
    Ok(gone.count() == limit as usize)
}

/// The last position of a stream that is gone.
pub(super) fn through(
    connection: &Connection,
    venue: VenueNumber,
    stream: LogStream,
) -> Result<Option<Position>> {
    let through = connection
        .prepare_cached("SELECT through, check_in_through FROM removed_records WHERE venue = ?1")?
        .query_row([venue.0], |row| {
            count(row, usize::from(stream == LogStream::CheckIns)).map(Position)
        });
    Ok(through.optional()?)
}

/// The first day all of whose records are here, in a venue's zone; none where none were removed.
pub(super) fn kept_since(
    connection: &Connection,
    venue: VenueNumber,
    zone: &TimeZone,
) -> Result<Option<ServiceDay>> {
    let came_before: Option<i64> = connection
        .prepare_cached("SELECT came_before FROM removed_records WHERE venue = ?1")?
        .query_row([venue.0], |row| row.get(0))
        .optional()?;
    // A day that had begun by then had records that came before.
    let last = came_before.and_then(|ms| Timestamp::from_millisecond(ms - 1).ok());
    let last = last.map(|last| last.to_zoned_datetime(zone.clone()).date());
    let first = last.and_then(|last| last.tomorrow().ok());
    Ok(first.and_then(|first| ServiceDay::new(first.to_string()).ok()))
}

/// Removes at most `limit` records that were set aside before.
pub(super) fn quarantined(
    connection: &Connection,
    venue: VenueNumber,
    before: EpochMillis,
    limit: u32,
) -> Result<Swept> {
    type Key = (RecordId, [u8; 32], EpochMillis);
    let going: Vec<Key> = connection
        .prepare_cached(
            "SELECT id, hash, received_at FROM quarantine INDEXED BY quarantine_by_arrival
             WHERE venue = ?1 AND received_at < ?2 ORDER BY received_at LIMIT ?3",
        )?
        .query_map(params![venue.0, before.0, limit], |row| {
            Ok((RecordId(row.get(0)?), row.get(1)?, millis(row, 2)?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let mut holds_its_id = connection.prepare_cached(
        "SELECT 1 FROM record_ids WHERE venue = ?1 AND id = ?2 AND hash = ?3 AND place IS NULL",
    )?;
    let mut delete = connection
        .prepare_cached("DELETE FROM quarantine WHERE venue = ?1 AND id = ?2 AND hash = ?3")?;
    for (id, hash, received_at) in &going {
        if holds_its_id.exists(params![venue.0, id.0, hash])? {
            keep_id(connection, venue, *received_at, *id)?;
        }
        delete.execute(params![venue.0, id.0, hash])?;
    }
    Ok(swept(going.len(), limit))
}

/// Gives back at most `limit` ids of records that came before and are gone.
pub(super) fn ids(
    connection: &Connection,
    venue: VenueNumber,
    before: EpochMillis,
    limit: u32,
) -> Result<Swept> {
    let day = before.0.div_euclid(DAY_MS);
    let ids: Vec<(i64, RecordId)> = connection
        .prepare_cached("SELECT day, id FROM removed_ids WHERE venue = ?1 AND day < ?2 LIMIT ?3")?
        .query_map(params![venue.0, day, limit], |row| {
            Ok((row.get(0)?, RecordId(row.get(1)?)))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let mut give_back = connection
        .prepare_cached("DELETE FROM record_ids WHERE venue = ?1 AND id = ?2 RETURNING place")?;
    // What it was to take back never came.
    let mut forget_undo =
        connection.prepare_cached("DELETE FROM undos_ahead WHERE venue = ?1 AND place = ?2")?;
    let mut delete = connection
        .prepare_cached("DELETE FROM removed_ids WHERE venue = ?1 AND day = ?2 AND id = ?3")?;
    for (day, id) in &ids {
        let place: Option<Option<i64>> = give_back
            .query_row(params![venue.0, id.0], |row| row.get(0))
            .optional()?;
        if let Some(place) = place.flatten() {
            forget_undo.execute(params![venue.0, place])?;
        }
        delete.execute(params![venue.0, day, id.0])?;
    }
    Ok(swept(ids.len(), limit))
}

fn swept(removed: usize, limit: u32) -> Swept {
    Swept {
        removed: removed as u64,
        more: removed == limit as usize,
    }
}
