//! Table `devices`.

use rusqlite::{Connection, OptionalExtension, Row, params};
use stile_core::ids::{DeviceId, GateId, VenueNumber};
use stile_core::protocol::DeviceStanding;
use stile_core::time::EpochMillis;

use super::columns::{joined, list, millis, millis_if_any, parsed, word};
use super::words::Word;
use super::{finality, gates};
use crate::store::{Device, EnrolmentClaim, Result, StoreError};

macro_rules! device_where {
    ($rest:literal) => {
        concat!(
            "SELECT device_id, public_key, name, model, gates, enrolled_at, standing,
                    standing_since FROM devices
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

pub(super) fn by_id(
    connection: &Connection,
    venue: VenueNumber,
    id: &DeviceId,
) -> Result<Option<Device>> {
    let mut statement = connection.prepare_cached(device_where!("device_id = ?2"))?;
    Ok(statement
        .query_row(params![venue.0, id.as_str()], device)
        .optional()?)
}

/// Keeps a device that the data forgot, unless it is there; answers it as it is kept.
pub(super) fn put_back(
    connection: &Connection,
    venue: VenueNumber,
    returned: &Device,
    bearer_hash: &[u8; 32],
) -> Result<Device> {
    connection.execute(
        "INSERT INTO devices (venue, device_id, public_key, bearer_hash, name, model, gates,
                              enrolled_at, standing, standing_since)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING",
        params![
            venue.0,
            returned.device_id.as_str(),
            returned.public_key,
            bearer_hash,
            returned.name,
            returned.model,
            joined(&returned.gates),
            returned.enrolled_at.0,
            returned.standing.word(),
            returned.standing_since.map(|since| since.0)
        ],
    )?;
    // Another device with this bearer: none that told the truth has it.
    by_id(connection, venue, &returned.device_id)?.ok_or(StoreError::Exists("bearer"))
}

/// Revokes a device for good; again is as once. Answers since when it is revoked.
pub(super) fn revoke(
    connection: &Connection,
    venue: VenueNumber,
    id: &DeviceId,
    now: EpochMillis,
) -> Result<EpochMillis> {
    connection.execute(
        "UPDATE devices SET standing = 'revoked', standing_since = ?3
         WHERE venue = ?1 AND device_id = ?2 AND standing <> 'revoked'",
        params![venue.0, id.as_str(), now.0],
    )?;
    let device = by_id(connection, venue, id)?.ok_or(StoreError::Missing("device"))?;
    // Nothing waits any more for what it held back.
    finality::finalize(connection, venue, now)?;
    Ok(device.standing_since.unwrap_or(now))
}

/// Makes a forgotten device one of the venue's again, for these gates or, if there are none, for
/// those that it named. An enrolled one stays as it is.
pub(super) fn readmit(
    connection: &Connection,
    venue: VenueNumber,
    id: &DeviceId,
    gates: &[GateId],
    now: EpochMillis,
) -> Result<Device> {
    let device = by_id(connection, venue, id)?.ok_or(StoreError::Missing("device"))?;
    if device.standing != DeviceStanding::Forgotten {
        return Ok(device);
    }
    let gates = if gates.is_empty() {
        &device.gates
    } else {
        gates
    };
    for gate in gates {
        gates::get(connection, venue, gate)?.ok_or(StoreError::Missing("gate"))?;
    }
    connection.execute(
        "UPDATE devices SET standing = 'enrolled', standing_since = ?3, gates = ?4
         WHERE venue = ?1 AND device_id = ?2",
        params![venue.0, id.as_str(), now.0, joined(gates)],
    )?;
    by_id(connection, venue, id)?.ok_or(StoreError::Missing("device"))
}

fn device(row: &Row<'_>) -> rusqlite::Result<Device> {
    Ok(Device {
        device_id: parsed(row, 0)?,
        public_key: row.get(1)?,
        name: row.get(2)?,
        model: row.get(3)?,
        gates: list(row, 4)?,
        enrolled_at: millis(row, 5)?,
        standing: word(row, 6)?,
        standing_since: millis_if_any(row, 7)?,
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

/// When each enrolled device of a venue was last heard of, if it was.
pub(super) fn heard(
    connection: &Connection,
    venue: VenueNumber,
) -> Result<Vec<Option<EpochMillis>>> {
    let heard = connection
        .prepare_cached("SELECT heard_at FROM devices WHERE venue = ?1 AND standing = 'enrolled'")?
        .query_map([venue.0], |row| millis_if_any(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(heard)
}
