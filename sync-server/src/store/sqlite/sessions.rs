//! Table `sessions`.

use rusqlite::{Connection, OptionalExtension, Row, params};
use stile_core::ids::{SessionId, VenueNumber};
use stile_core::ticket::{Capacity, Session};
use stile_core::time::{EpochMillis, EpochSeconds, ServiceDay};

use super::columns::{count, joined, json, list, number, parsed, seconds, word};
use super::feed::Feed;
use super::lists::{Versions, settings_changed, settle_bounds};
use super::words::Word;
use super::{moves, standings};
use crate::store::{Change, Result, StoreError};

macro_rules! session_where {
    ($rest:literal) => {
        concat!(
            "SELECT session_id, service_day, name, starts_at, ends_at, admit_from, admit_until,
                    zones, reentry, status, note, capacity, zone_capacities
             FROM sessions WHERE venue = ?1 ",
            $rest
        )
    };
}

pub(super) fn put(
    connection: &Connection,
    venue: VenueNumber,
    sessions: &[Session],
    now: EpochMillis,
) -> Result<Vec<Change>> {
    let mut versions = Versions::new(connection, venue);
    sessions
        .iter()
        .map(|session| put_one(connection, venue, &mut versions, session, now))
        .collect()
}

fn put_one(
    connection: &Connection,
    venue: VenueNumber,
    versions: &mut Versions<'_>,
    session: &Session,
    now: EpochMillis,
) -> Result<Change> {
    let old = get(connection, venue, &session.session_id)?;
    if old.as_ref() == Some(session) {
        return Ok(Change::Unchanged);
    }
    write(connection, venue, session, now)?;
    settle_bounds(connection, venue, &session.service_day)?;
    settings_changed(connection, venue, &session.service_day, now)?;
    versions.next(&session.service_day)?;
    let Some(old) = old else {
        return Ok(Change::Created);
    };
    if old.service_day != session.service_day {
        settle_bounds(connection, venue, &old.service_day)?;
        settings_changed(connection, venue, &old.service_day, now)?;
        versions.next(&old.service_day)?;
        moves::move_session(connection, venue, versions, &old.service_day, session)?;
    }
    moves::update_tombstones_of(connection, venue, versions, session, now)?;
    if old.reentry != session.reentry {
        let mut feed = Feed::begin(connection, venue)?;
        standings::settle_session(connection, venue, session, now, &mut feed)?;
        feed.finish()?;
    }
    Ok(Change::Changed)
}

fn write(
    connection: &Connection,
    venue: VenueNumber,
    session: &Session,
    now: EpochMillis,
) -> Result<()> {
    let zone_capacities = serde_json::to_string(&session.zone_capacities)
        .map_err(|error| StoreError::Fault(error.to_string()))?;
    connection.execute(
        "INSERT OR REPLACE INTO sessions
         (venue, session_id, service_day, name, starts_at, ends_at, admit_from, admit_until,
          zones, reentry, status, note, capacity, zone_capacities, cancelled_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,
                 ?14, ?15,
                 CASE ?11 WHEN 'cancelled'
                 THEN coalesce((SELECT cancelled_at FROM sessions
                                WHERE venue = ?1 AND session_id = ?2), ?13) END)",
        params![
            venue.0,
            session.session_id.as_str(),
            session.service_day.as_str(),
            session.name,
            session.starts_at.0,
            session.ends_at.0,
            session.admit_from.0,
            session.admit_until.0,
            joined(&session.zones),
            session.reentry.word(),
            session.status.word(),
            session.note,
            now.0,
            session.capacity.map(Capacity::persons),
            zone_capacities
        ],
    )?;
    Ok(())
}

pub(super) fn get(
    connection: &Connection,
    venue: VenueNumber,
    id: &SessionId,
) -> Result<Option<Session>> {
    let mut statement = connection.prepare_cached(session_where!("AND session_id = ?2"))?;
    Ok(statement
        .query_row(params![venue.0, id.as_str()], session)
        .optional()?)
}

pub(super) fn all(
    connection: &Connection,
    venue: VenueNumber,
    day: Option<&ServiceDay>,
) -> Result<Vec<Session>> {
    // Few enough to be walked through: a year of a venue has some thousand.
    let mut statement = connection.prepare_cached(session_where!(
        "AND service_day = coalesce(?2, service_day) ORDER BY starts_at, session_id"
    ))?;
    let day = day.map(ServiceDay::as_str);
    Ok(statement
        .query_map(params![venue.0, day], session)?
        .collect::<rusqlite::Result<_>>()?)
}

/// The day's sessions, and those that its tombstones point to, by id.
pub(super) fn of_list(
    connection: &Connection,
    venue: VenueNumber,
    day: &ServiceDay,
) -> Result<Vec<Session>> {
    let mut statement = connection.prepare_cached(session_where!(
        "AND (service_day = ?2
              OR session_id IN (SELECT moved_session FROM tickets INDEXED BY tombstones_by_session
                                WHERE venue = ?1 AND service_day = ?2 AND standing = 'moved'))
         ORDER BY session_id"
    ))?;
    let sessions = statement
        .query_map(params![venue.0, day.as_str()], session)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(sessions)
}

fn session(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        session_id: parsed(row, 0)?,
        service_day: parsed(row, 1)?,
        name: row.get(2)?,
        starts_at: seconds(row, 3)?,
        ends_at: seconds(row, 4)?,
        admit_from: seconds(row, 5)?,
        admit_until: seconds(row, 6)?,
        zones: list(row, 7)?,
        reentry: word(row, 8)?,
        status: word(row, 9)?,
        note: row.get(10)?,
        capacity: row
            .get::<_, Option<u32>>(11)?
            .map(|_| number(row, 11, |n| Capacity::try_from(u32::try_from(n).ok()?).ok()))
            .transpose()?,
        zone_capacities: json(row, 12)?,
    })
}

/// The sessions that take place now and say what they, or zones during them, take.
pub(super) fn with_capacity(
    connection: &Connection,
    venue: VenueNumber,
    now: EpochSeconds,
) -> Result<Vec<Session>> {
    let mut statement = connection.prepare_cached(session_where!(
        "AND (capacity IS NOT NULL OR zone_capacities <> '{}') AND status = 'open'
         AND admit_from <= ?2 AND ?2 < max(ends_at, admit_until)
         ORDER BY starts_at, session_id"
    ))?;
    Ok(statement
        .query_map(params![venue.0, now.0], session)?
        .collect::<rusqlite::Result<_>>()?)
}

/// How many sessions of a venue admit now.
pub(super) fn count_admitting(
    connection: &Connection,
    venue: VenueNumber,
    now: EpochSeconds,
) -> Result<u64> {
    let admitting = connection
        .prepare_cached(
            "SELECT count(*) FROM sessions
             WHERE venue = ?1 AND admit_from <= ?2 AND ?2 < admit_until AND status = 'open'",
        )?
        .query_row(params![venue.0, now.0], |row| count(row, 0))?;
    Ok(admitting)
}
