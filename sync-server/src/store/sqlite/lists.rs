//! Table `list_days`: the days that have a list, their versions and bounds.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};
use stile_core::ids::VenueNumber;
use stile_core::time::{EpochMillis, EpochSeconds, ServiceDay};

use super::columns::{count, millis, parsed, seconds};
use crate::lists::day_bounds;
use crate::store::{ListState, Result};

/// Gives lists their next version, each once in a transaction, however much of it changes.
pub(super) struct Versions<'c> {
    connection: &'c Connection,
    venue: VenueNumber,
    given: HashMap<ServiceDay, u64>,
}

impl<'c> Versions<'c> {
    pub(super) fn new(connection: &'c Connection, venue: VenueNumber) -> Self {
        Self {
            connection,
            venue,
            given: HashMap::new(),
        }
    }

    /// The version that the day's list gets by this transaction.
    pub(super) fn next(&mut self, day: &ServiceDay) -> Result<u64> {
        if let Some(version) = self.given.get(day) {
            return Ok(*version);
        }
        let version = self
            .connection
            .prepare_cached(
                "UPDATE list_days SET version = version + 1
                 WHERE venue = ?1 AND service_day = ?2 RETURNING version",
            )?
            .query_row(params![self.venue.0, day.as_str()], |row| count(row, 0))?;
        self.given.insert(day.clone(), version);
        Ok(version)
    }
}

/// Gives all lists of the venue their next version: something that stands beside all their rows
/// has changed.
pub(super) fn touch_all(
    connection: &Connection,
    venue: VenueNumber,
    now: EpochMillis,
) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE list_days SET version = version + 1, settings_since = ?2 WHERE venue = ?1",
        )?
        .execute([i64::from(venue.0), now.0])?;
    Ok(())
}

/// Notes that what stands beside the day's rows has changed.
pub(super) fn settings_changed(
    connection: &Connection,
    venue: VenueNumber,
    day: &ServiceDay,
    now: EpochMillis,
) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE list_days SET settings_since = ?3 WHERE venue = ?1 AND service_day = ?2",
        )?
        .execute(params![venue.0, day.as_str(), now.0])?;
    Ok(())
}

/// Since when what stands beside the day's rows holds.
pub(super) fn settings_since(
    connection: &Connection,
    venue: VenueNumber,
    day: &ServiceDay,
) -> Result<EpochMillis> {
    let since = connection
        .prepare_cached(
            "SELECT settings_since FROM list_days WHERE venue = ?1 AND service_day = ?2",
        )?
        .query_row(params![venue.0, day.as_str()], |row| millis(row, 0))?;
    Ok(since)
}

/// Makes sure that the day is there, and puts its bounds around its sessions, if it has any.
pub(super) fn settle_bounds(
    connection: &Connection,
    venue: VenueNumber,
    day: &ServiceDay,
) -> Result<()> {
    let (first, last) = connection
        .prepare_cached(
            "SELECT min(admit_from), max(admit_until) FROM sessions INDEXED BY sessions_by_day
             WHERE venue = ?1 AND service_day = ?2",
        )?
        .query_row(params![venue.0, day.as_str()], |row| {
            Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?))
        })?;
    let (Some(first), Some(last)) = (first, last) else {
        return Ok(());
    };
    let (from, until) = day_bounds(EpochSeconds(first), EpochSeconds(last));
    connection
        .prepare_cached(
            "INSERT INTO list_days (venue, service_day, version, day_from, day_until)
             VALUES (?1, ?2, 0, ?3, ?4)
             ON CONFLICT DO UPDATE SET day_from = ?3, day_until = ?4",
        )?
        .execute(params![venue.0, day.as_str(), from.0, until.0])?;
    Ok(())
}

pub(super) fn state(
    connection: &Connection,
    venue: VenueNumber,
    day: &ServiceDay,
) -> Result<Option<ListState>> {
    let mut statement = connection.prepare_cached(
        "SELECT version, day_from, day_until FROM list_days WHERE venue = ?1 AND service_day = ?2",
    )?;
    let state = statement.query_row(params![venue.0, day.as_str()], |row| {
        Ok(ListState {
            version: count(row, 0)?,
            day_from: seconds(row, 1)?,
            day_until: seconds(row, 2)?,
        })
    });
    Ok(state.optional()?)
}

pub(super) fn held_days(
    connection: &Connection,
    venue: VenueNumber,
    now: EpochSeconds,
    ended_since: EpochSeconds,
) -> Result<Vec<ServiceDay>> {
    let mut statement = connection.prepare_cached(
        "SELECT service_day FROM list_days
         WHERE venue = ?1
           AND (day_from <= ?2 AND day_until > ?2
                OR service_day = (SELECT service_day FROM list_days
                                  WHERE venue = ?1 AND day_until BETWEEN ?3 AND ?2
                                  ORDER BY day_until DESC, service_day DESC LIMIT 1)
                OR service_day = (SELECT service_day FROM list_days
                                  WHERE venue = ?1 AND day_from > ?2
                                  ORDER BY day_from, service_day LIMIT 1))
         ORDER BY day_from, service_day",
    )?;
    let days = statement
        .query_map(params![venue.0, now.0, ended_since.0], |row| parsed(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(days)
}

/// The version of the list of the day that it is; of the later, where days overlap.
pub(super) fn current_version(
    connection: &Connection,
    venue: VenueNumber,
    now: EpochSeconds,
) -> Result<Option<u64>> {
    let version = connection
        .prepare_cached(
            "SELECT version FROM list_days WHERE venue = ?1 AND day_from <= ?2 AND ?2 < day_until
             ORDER BY day_from DESC, service_day DESC LIMIT 1",
        )?
        .query_row(params![venue.0, now.0], |row| count(row, 0))
        .optional()?;
    Ok(version)
}
