//! Table `document_keys`: the sealed keys that documents are hashed under, one a day.

use rusqlite::{Connection, OptionalExtension, params};
use stile_core::ids::VenueNumber;
use stile_core::time::{EpochMillis, EpochSeconds, ServiceDay};

use super::lists::{self, Versions, settings_changed};
use crate::store::{Result, StoreError};

pub(super) fn get(
    connection: &Connection,
    venue: VenueNumber,
    day: &ServiceDay,
) -> Result<Option<Vec<u8>>> {
    let sealed = connection
        .prepare_cached("SELECT sealed FROM document_keys WHERE venue = ?1 AND service_day = ?2")?
        .query_row(params![venue.0, day.as_str()], |row| row.get(0))
        .optional()?;
    Ok(sealed)
}

pub(super) fn keep(
    connection: &Connection,
    venue: VenueNumber,
    day: &ServiceDay,
    sealed: &[u8],
    now: EpochMillis,
) -> Result<Vec<u8>> {
    if let Some(kept) = get(connection, venue, day)? {
        return Ok(kept);
    }
    if lists::state(connection, venue, day)?.is_none() {
        return Err(StoreError::Missing("service day"));
    }
    connection.execute(
        "INSERT INTO document_keys (venue, service_day, sealed) VALUES (?1, ?2, ?3)",
        params![venue.0, day.as_str(), sealed],
    )?;
    settings_changed(connection, venue, day, now)?;
    Versions::new(connection, venue).next(day)?;
    Ok(sealed.to_vec())
}

pub(super) fn forget(connection: &Connection, ended_before: EpochSeconds) -> Result<u64> {
    let forgotten = connection.execute(
        "DELETE FROM document_keys WHERE EXISTS (
             SELECT 1 FROM list_days d
             WHERE d.venue = document_keys.venue AND d.service_day = document_keys.service_day
               AND d.day_until < ?1)",
        [ended_before.0],
    )?;
    Ok(forgotten as u64)
}
