//! Table `walk_ins`: persons that passed without a ticket.

use rusqlite::{Connection, OptionalExtension, params};
use stile_core::ids::VenueNumber;
use stile_core::time::EpochMillis;

use super::words::Word;
use crate::store::{FilingWalkIn, Result};

/// 9999-12-31, epoch seconds: later dates are not written with four digits.
const LAST_DATE: i64 = 253_402_214_400;

/// Counts a walk-in at a place of the log to the day that it names, else to the day of the list
/// that its time belongs to, else to its date in UTC.
pub(super) fn add(
    connection: &Connection,
    venue: VenueNumber,
    walk_in: &FilingWalkIn,
    at: EpochMillis,
    place: i64,
) -> Result<()> {
    let day = match &walk_in.service_day {
        Some(day) => day.as_str().to_owned(),
        None => day_of(connection, venue, at)?,
    };
    connection
        .prepare_cached(
            "INSERT INTO walk_ins (venue, service_day, place, direction, category, persons)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            venue.0,
            day,
            place,
            walk_in.direction.word(),
            walk_in.category,
            walk_in.persons
        ])?;
    Ok(())
}

fn day_of(connection: &Connection, venue: VenueNumber, at: EpochMillis) -> Result<String> {
    let now = at.seconds().0;
    let listed = connection
        .prepare_cached(
            "SELECT service_day FROM list_days
             WHERE venue = ?1 AND day_from <= ?2 AND day_until > ?2 ORDER BY day_from LIMIT 1",
        )?
        .query_row(params![venue.0, now], |row| row.get(0))
        .optional()?;
    match listed {
        Some(day) => Ok(day),
        // A device's wild time counts to the first or last day that can be written.
        None => Ok(connection.query_row(
            "SELECT date(?1, 'unixepoch')",
            [now.clamp(0, LAST_DATE)],
            |row| row.get(0),
        )?),
    }
}
