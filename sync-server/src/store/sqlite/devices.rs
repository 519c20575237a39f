//! Table `devices`.

use rusqlite::{Connection, OptionalExtension, Row, params};
use stile_core::ids::{DeviceId, GateId, VenueNumber};
use stile_core::time::EpochMillis;

use super::columns::{joined, list, millis, millis_if_any, parsed};
use crate::store::{Device, EnrolmentClaim, Result};

macro_rules! device_where {
    ($rest:literal) => {
        concat!(
            "SELECT device_id, public_key, name, model, gates, enrolled_at FROM devices
             WHERE venue = ?1 AND ",
            $rest
        )
    };
}

pub(super) fn add(
    connection: &Connection,
    venue: VenueNumber,
    claim: &EnrolmentClaim,
    gates: &[GateId],
) -> Result<()> {
    connection.execute(
        "INSERT INTO devices
         (venue, device_id, public_key, bearer_hash, name, model, gates, enrolled_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            venue.0,
            claim.device_id.as_str(),
            claim.public_key,
            claim.bearer_hash,
            claim.name,
            claim.model,
            joined(gates),
            claim.now.0
        ],
    )?;
    Ok(())
}

/// A device that is there.
pub(super) fn by_id(connection: &Connection, venue: VenueNumber, id: &DeviceId) -> Result<Device> {
    let mut statement = connection.prepare_cached(device_where!("device_id = ?2"))?;
    Ok(statement.query_row(params![venue.0, id.as_str()], device)?)
}

pub(super) fn by_bearer(
    connection: &Connection,
    venue: VenueNumber,
    bearer_hash: &[u8; 32],
) -> Result<Option<Device>> {
    let mut statement = connection.prepare_cached(device_where!("bearer_hash = ?2"))?;
    Ok(statement
        .query_row(params![venue.0, bearer_hash], device)
        .optional()?)
}

fn device(row: &Row<'_>) -> rusqlite::Result<Device> {
    Ok(Device {
        device_id: parsed(row, 0)?,
        public_key: row.get(1)?,
        name: row.get(2)?,
        model: row.get(3)?,
        gates: list(row, 4)?,
        enrolled_at: millis(row, 5)?,
    })
}

pub(super) fn note_heard(
    connection: &Connection,
    venue: VenueNumber,
    device: &DeviceId,
    at: EpochMillis,
) -> Result<()> {
    connection
        .prepare_cached("UPDATE devices SET heard_at = ?3 WHERE venue = ?1 AND device_id = ?2")?
        .execute(params![venue.0, device.as_str(), at.0])?;
    Ok(())
}

/// When each device of a venue was last heard of, if it was.
pub(super) fn heard(
    connection: &Connection,
    venue: VenueNumber,
) -> Result<Vec<Option<EpochMillis>>> {
    let heard = connection
        .prepare_cached("SELECT heard_at FROM devices WHERE venue = ?1")?
        .query_map([venue.0], |row| millis_if_any(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(heard)
}
