//! Tables `enrolments`, `devices`.

use rusqlite::{Connection, OptionalExtension, Row, params};
use stile_core::ids::{DeviceId, GateId, VenueNumber};
use stile_core::time::{EpochMillis, EpochSeconds};

use super::columns::{joined, list, millis, millis_if_any, parsed, parsed_if_any, seconds};
use super::gates;
use crate::store::{Device, EnrolOutcome, EnrolmentClaim, NewEnrolment, Result, StoreError};

macro_rules! device_where {
    ($rest:literal) => {
        concat!(
            "SELECT device_id, public_key, name, model, gates, enrolled_at FROM devices
             WHERE venue = ?1 AND ",
            $rest
        )
    };
}

pub(super) fn add_enrolment(
    connection: &Connection,
    venue: VenueNumber,
    enrolment: &NewEnrolment,
) -> Result<()> {
    for gate in &enrolment.gates {
        gates::get(connection, venue, gate)?.ok_or(StoreError::Missing("gate"))?;
    }
    connection.execute(
        "INSERT INTO enrolments (venue, token_hash, gates, created_at, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            venue.0,
            enrolment.token_hash,
            joined(&enrolment.gates),
            enrolment.created_at.0,
            enrolment.expires_at.0
        ],
    )?;
    Ok(())
}

struct Invitation {
    gates: Vec<GateId>,
    expires_at: EpochSeconds,
    used_by: Option<([u8; 32], DeviceId)>,
}

pub(super) fn enrol(
    connection: &Connection,
    venue: VenueNumber,
    claim: &EnrolmentClaim,
) -> Result<EnrolOutcome> {
    let Some(invitation) = invitation(connection, venue, &claim.token_hash)? else {
        return Ok(EnrolOutcome::Unknown);
    };
    if claim.now.seconds() >= invitation.expires_at {
        return Ok(EnrolOutcome::Over);
    }
    let device_id = match invitation.used_by {
        Some((key, _)) if key != claim.public_key => return Ok(EnrolOutcome::Taken),
        Some((_, device_id)) => device_id,
        None => {
            add_device(connection, venue, claim, &invitation.gates)?;
            claim.device_id.clone()
        }
    };
    let mut statement = connection.prepare_cached(device_where!("device_id = ?2"))?;
    let device = statement.query_row(params![venue.0, device_id.as_str()], device)?;
    Ok(EnrolOutcome::Enrolled(device))
}

fn invitation(
    connection: &Connection,
    venue: VenueNumber,
    token_hash: &[u8; 32],
) -> Result<Option<Invitation>> {
    let mut statement = connection.prepare_cached(
        "SELECT gates, expires_at, public_key, device_id FROM enrolments
         WHERE venue = ?1 AND token_hash = ?2",
    )?;
    let invitation = statement.query_row(params![venue.0, token_hash], |row| {
        let key: Option<[u8; 32]> = row.get(2)?;
        Ok(Invitation {
            gates: list(row, 0)?,
            expires_at: seconds(row, 1)?,
            used_by: key.zip(parsed_if_any(row, 3)?),
        })
    });
    Ok(invitation.optional()?)
}

fn add_device(
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
    connection.execute(
        "UPDATE enrolments SET public_key = ?3, device_id = ?4
         WHERE venue = ?1 AND token_hash = ?2",
        params![
            venue.0,
            claim.token_hash,
            claim.public_key,
            claim.device_id.as_str()
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
