//! Tables `alarms`, `ticket_feeds`: what needs a person, each opened and ended once and with an
//! event, and what tells that tickets are missing.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;
use stile_core::ids::VenueNumber;
use stile_core::protocol::{Alarm, AlarmDetail, AlarmKind};
use stile_core::time::{EpochMillis, ServiceDay};

use super::columns::{count, json, millis, millis_if_any, parsed, to_i64, word};
use super::events;
use super::words::Word;
use crate::store::{AlarmChange, AlarmQuery, DayOutlook, EventKind, Result, StoreError};

/// Alarms that are kept of a venue when another one opens: years of them. Counted, since a clock
/// may be wrong.
const KEPT: i64 = 10_000;

/// What an event says of an alarm beside its thing.
#[derive(Serialize)]
struct Told<'a> {
    alarm_id: u64,
    kind: AlarmKind,
    opened_at: EpochMillis,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<EpochMillis>,
    #[serde(flatten)]
    detail: &'a AlarmDetail,
}

/// Opens and ends alarms; what is so already stays as it is. Says how many changed.
pub(super) fn change(
    connection: &Connection,
    venue: VenueNumber,
    changes: &[AlarmChange],
    now: EpochMillis,
) -> Result<u64> {
    let mut changed = 0;
    for one in changes {
        changed += u64::from(match &one.open {
            Some(detail) => open(connection, venue, one, detail, now)?,
            None => end(connection, venue, one, now)?,
        });
    }
    Ok(changed)
}

fn open(
    connection: &Connection,
    venue: VenueNumber,
    change: &AlarmChange,
    detail: &AlarmDetail,
    now: EpochMillis,
) -> Result<bool> {
    let text =
        serde_json::to_string(detail).map_err(|error| StoreError::Fault(error.to_string()))?;
    let opened = connection
        .prepare_cached(
            "INSERT INTO alarms (venue, alarm, kind, thing, detail, opened_at)
             VALUES (?1, (SELECT coalesce(max(alarm), 0) + 1 FROM alarms WHERE venue = ?1),
                     ?2, ?3, ?4, ?5)
             ON CONFLICT DO NOTHING RETURNING alarm",
        )?
        .query_row(
            params![venue.0, change.kind.word(), change.thing, text, now.0],
            |row| count(row, 0),
        )
        .optional()?;
    let Some(alarm_id) = opened else {
        return Ok(false);
    };
    connection
        .prepare_cached(
            "DELETE FROM alarms WHERE venue = ?1 AND alarm <= ?2 AND ended_at IS NOT NULL",
        )?
        .execute(params![venue.0, to_i64(alarm_id)? - KEPT])?;
    let told = Told {
        alarm_id,
        kind: change.kind,
        opened_at: now,
        ended_at: None,
        detail,
    };
    let kind = EventKind::AlarmOpened;
    events::add(connection, venue, kind, &change.thing, &told, now)?;
    Ok(true)
}

fn end(
    connection: &Connection,
    venue: VenueNumber,
    change: &AlarmChange,
    now: EpochMillis,
) -> Result<bool> {
    // A clock that was set back meanwhile ends nothing before it began.
    let ended = connection
        .prepare_cached(
            "UPDATE alarms SET ended_at = max(opened_at, ?4)
             WHERE venue = ?1 AND kind = ?2 AND thing = ?3 AND ended_at IS NULL
             RETURNING alarm, kind, thing, opened_at, ended_at, detail",
        )?
        .query_row(
            params![venue.0, change.kind.word(), change.thing, now.0],
            alarm,
        )
        .optional()?;
    let Some(alarm) = ended else {
        return Ok(false);
    };
    let told = Told {
        alarm_id: alarm.alarm_id,
        kind: alarm.kind,
        opened_at: alarm.opened_at,
        ended_at: alarm.ended_at,
        detail: &alarm.detail,
    };
    let kind = EventKind::AlarmEnded;
    events::add(connection, venue, kind, &alarm.thing, &told, now)?;
    Ok(true)
}

/// A venue's alarms, the newest first.
pub(super) fn page(
    connection: &Connection,
    venue: VenueNumber,
    query: &AlarmQuery,
) -> Result<Vec<Alarm>> {
    let before = query.before.map_or(Ok(i64::MAX), to_i64)?;
    let mut statement = connection.prepare_cached(
        "SELECT alarm, kind, thing, opened_at, ended_at, detail FROM alarms
         WHERE venue = ?1 AND alarm < ?2 AND (?3 OR ended_at IS NULL)
         ORDER BY alarm DESC LIMIT ?4",
    )?;
    let alarms = statement
        .query_map(params![venue.0, before, query.ended, query.limit], alarm)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(alarms)
}

fn alarm(row: &Row<'_>) -> rusqlite::Result<Alarm> {
    Ok(Alarm {
        alarm_id: count(row, 0)?,
        kind: word(row, 1)?,
        thing: row.get(2)?,
        opened_at: millis(row, 3)?,
        ended_at: millis_if_any(row, 4)?,
        detail: json(row, 5)?,
    })
}

/// How many alarms of each kind are open at a venue; kinds without one are there with 0.
pub(super) fn count_open(
    connection: &Connection,
    venue: VenueNumber,
) -> Result<Vec<(AlarmKind, u64)>> {
    let mut statement = connection.prepare_cached(
        "SELECT count(*) FROM alarms WHERE venue = ?1 AND kind = ?2 AND ended_at IS NULL",
    )?;
    let kinds = AlarmKind::ALL.into_iter().map(|kind| {
        let open = statement.query_row(params![venue.0, kind.word()], |row| count(row, 0))?;
        Ok((kind, open))
    });
    kinds.collect()
}

/// The booking system wrote tickets.
pub(super) fn note_feed(
    connection: &Connection,
    venue: VenueNumber,
    now: EpochMillis,
) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO ticket_feeds (venue, written_at) VALUES (?1, ?2)
             ON CONFLICT DO UPDATE SET written_at = excluded.written_at",
        )?
        .execute(params![venue.0, now.0])?;
    Ok(())
}

/// When the booking system last wrote tickets.
pub(super) fn feed(connection: &Connection, venue: VenueNumber) -> Result<Option<EpochMillis>> {
    let written = connection
        .prepare_cached("SELECT written_at FROM ticket_feeds WHERE venue = ?1")?
        .query_row([venue.0], |row| millis(row, 0));
    Ok(written.optional()?)
}

/// What a day has of sessions and tickets.
pub(super) fn outlook(
    connection: &Connection,
    venue: VenueNumber,
    day: &ServiceDay,
) -> Result<DayOutlook> {
    let outlook = connection
        .prepare_cached(
            "SELECT count(*), count(*) FILTER (WHERE status = 'open'),
                    EXISTS (SELECT 1 FROM tickets t JOIN sessions s USING (venue, session_id)
                            WHERE t.venue = ?1 AND t.service_day = ?2 AND t.standing = 'live'
                              AND t.status IN ('valid', 'pending') AND s.status = 'open')
             FROM sessions WHERE venue = ?1 AND service_day = ?2",
        )?
        .query_row(params![venue.0, day.as_str()], |row| {
            Ok(DayOutlook {
                sessions: count(row, 0)?,
                open_sessions: count(row, 1)?,
                has_tickets: row.get(2)?,
            })
        });
    Ok(outlook?)
}

/// The days, both ends included, with a session that takes place.
pub(super) fn open_days(
    connection: &Connection,
    venue: VenueNumber,
    from: &ServiceDay,
    to: &ServiceDay,
) -> Result<Vec<ServiceDay>> {
    let mut statement = connection.prepare_cached(
        "SELECT DISTINCT service_day FROM sessions
         WHERE venue = ?1 AND service_day BETWEEN ?2 AND ?3 AND status = 'open'
         ORDER BY service_day",
    )?;
    let days = statement
        .query_map(params![venue.0, from.as_str(), to.as_str()], |row| {
            parsed(row, 0)
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(days)
}
