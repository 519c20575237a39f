//! Table `enrolments`: who is invited, who waits, and what became of them.

use rusqlite::{Connection, OptionalExtension, Row, params};
use stile_core::ids::{DeviceId, EnrolmentId, GateId, VenueNumber};
use stile_core::keys::DeviceVerifyingKey;
use stile_core::protocol::{EnrolmentDevice, EnrolmentDigits, EnrolmentState, EnrolmentView};
use stile_core::time::{EpochMillis, EpochSeconds};

use super::columns::{count, joined, list, millis, millis_if_any, parsed_if_any, seconds};
use super::{devices, gates};
use crate::store::{
    ConfirmOutcome, Confirmation, EnrolOutcome, EnrolmentClaim, NewEnrolment, Result, StoreError,
    enrolment_id, token_hashes,
};

/// How long an invitation that nobody used is kept past its end, in seconds, so that a device that
/// comes too late hears so.
const KEPT_S: i64 = 86_400;

macro_rules! invitation_where {
    ($rest:literal) => {
        concat!(
            "SELECT token_hash, gates, created_at, expires_at, public_key, device_id, confirm,
                    name, model, claimed_at, confirmed_at, refused_at, wrong_digits, other_at
             FROM enrolments WHERE venue = ?1 AND ",
            $rest
        )
    };
}

/// A row.
struct Invitation {
    token_hash: [u8; 32],
    gates: Vec<GateId>,
    created_at: EpochMillis,
    expires_at: EpochSeconds,
    public_key: Option<[u8; 32]>,
    device_id: Option<DeviceId>,
    confirm: bool,
    name: String,
    model: String,
    claimed_at: Option<EpochMillis>,
    confirmed_at: Option<EpochMillis>,
    refused_at: Option<EpochMillis>,
    wrong_digits: u8,
    other_at: Option<EpochMillis>,
}

impl Invitation {
    fn is_over(&self, now: EpochMillis) -> bool {
        now.seconds() >= self.expires_at
    }

    fn view(self) -> EnrolmentView {
        let state = match (&self.public_key, &self.device_id, self.confirmed_at) {
            (None, ..) => EnrolmentState::Open,
            (Some(_), Some(_), _) => EnrolmentState::Enrolled,
            (Some(_), None, Some(_)) => EnrolmentState::Confirmed,
            (Some(_), None, None) => EnrolmentState::Waiting,
        };
        EnrolmentView {
            enrolment_id: enrolment_id(&self.token_hash),
            state,
            gates: self.gates,
            created_at: self.created_at,
            expires_at: self.expires_at,
            device: self.claimed_at.map(|since| EnrolmentDevice {
                name: self.name,
                model: self.model,
                since,
            }),
            wrong_digits: self.wrong_digits,
            other_device_at: self.other_at,
        }
    }
}

/// Adds one unless so many are open, and removes those that were never used and are long over.
pub(super) fn add(
    connection: &Connection,
    venue: VenueNumber,
    enrolment: &NewEnrolment,
    limit: usize,
) -> Result<bool> {
    for gate in &enrolment.gates {
        gates::get(connection, venue, gate)?.ok_or(StoreError::Missing("gate"))?;
    }
    let now = enrolment.created_at.seconds();
    connection.execute(
        "DELETE FROM enrolments WHERE venue = ?1 AND device_id IS NULL AND expires_at < ?2",
        params![venue.0, now.0.saturating_sub(KEPT_S)],
    )?;
    let open: u64 = connection.query_row(
        "SELECT count(*) FROM enrolments WHERE venue = ?1 AND device_id IS NULL
         AND refused_at IS NULL AND expires_at > ?2",
        params![venue.0, now.0],
        |row| count(row, 0),
    )?;
    if usize::try_from(open).is_ok_and(|open| open >= limit) {
        return Ok(false);
    }
    connection.execute(
        "INSERT INTO enrolments (venue, token_hash, gates, created_at, expires_at, confirm)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            venue.0,
            enrolment.token_hash,
            joined(&enrolment.gates),
            enrolment.created_at.0,
            enrolment.expires_at.0,
            enrolment.confirm
        ],
    )?;
    Ok(true)
}

pub(super) fn enrol(
    connection: &Connection,
    venue: VenueNumber,
    claim: &EnrolmentClaim,
) -> Result<EnrolOutcome> {
    let Some(invitation) = by_token(connection, venue, &claim.token_hash)? else {
        return Ok(EnrolOutcome::Unknown);
    };
    if invitation.is_over(claim.now) {
        return Ok(EnrolOutcome::Over);
    }
    if invitation
        .public_key
        .is_some_and(|key| key != claim.public_key)
    {
        note_other(connection, venue, claim)?;
        return Ok(EnrolOutcome::Taken);
    }
    if let Some(device) = &invitation.device_id {
        let device =
            devices::by_id(connection, venue, device)?.ok_or(StoreError::Missing("device"))?;
        return Ok(EnrolOutcome::Enrolled(device));
    }
    if invitation.refused_at.is_some() {
        return Ok(match invitation.wrong_digits {
            0 => EnrolOutcome::Refused,
            _ => EnrolOutcome::WrongDigits,
        });
    }
    if invitation.public_key.is_none() {
        claim_token(connection, venue, claim)?;
    }
    if invitation.confirm && invitation.confirmed_at.is_none() {
        return Ok(EnrolOutcome::Waiting {
            expires_at: invitation.expires_at,
        });
    }
    devices::add(connection, venue, claim, &invitation.gates)?;
    connection.execute(
        "UPDATE enrolments SET device_id = ?3 WHERE venue = ?1 AND token_hash = ?2",
        params![venue.0, claim.token_hash, claim.device_id.as_str()],
    )?;
    let device = devices::by_id(connection, venue, &claim.device_id)?
        .ok_or(StoreError::Missing("device"))?;
    Ok(EnrolOutcome::Enrolled(device))
}

/// From now on the token is this key's.
fn claim_token(connection: &Connection, venue: VenueNumber, claim: &EnrolmentClaim) -> Result<()> {
    connection.execute(
        "UPDATE enrolments SET public_key = ?3, name = ?4, model = ?5, claimed_at = ?6
         WHERE venue = ?1 AND token_hash = ?2",
        params![
            venue.0,
            claim.token_hash,
            claim.public_key,
            claim.name,
            claim.model,
            claim.now.0
        ],
    )?;
    Ok(())
}

/// Another key has shown the token as well; the first time of that is kept.
fn note_other(connection: &Connection, venue: VenueNumber, claim: &EnrolmentClaim) -> Result<()> {
    connection.execute(
        "UPDATE enrolments SET other_at = ?3
         WHERE venue = ?1 AND token_hash = ?2 AND other_at IS NULL",
        params![venue.0, claim.token_hash, claim.now.0],
    )?;
    Ok(())
}

/// What is not over: open, waiting, confirmed, and enrolled where another device tried as well.
pub(super) fn views(
    connection: &Connection,
    venue: VenueNumber,
    now: EpochMillis,
) -> Result<Vec<EnrolmentView>> {
    let mut statement = connection.prepare_cached(invitation_where!(
        "expires_at > ?2 AND refused_at IS NULL AND (device_id IS NULL OR other_at IS NOT NULL)
         ORDER BY created_at, token_hash"
    ))?;
    let views = statement
        .query_map(params![venue.0, now.seconds().0], invitation)?
        .map(|invitation| invitation.map(Invitation::view))
        .collect::<rusqlite::Result<_>>()?;
    Ok(views)
}

pub(super) fn confirm(
    connection: &Connection,
    venue: VenueNumber,
    given: &Confirmation,
) -> Result<ConfirmOutcome> {
    let Some(mut invitation) = by_id(connection, venue, &given.enrolment_id)? else {
        return Ok(ConfirmOutcome::Unknown);
    };
    if invitation.is_over(given.now) || invitation.refused_at.is_some() {
        return Ok(ConfirmOutcome::Over);
    }
    let Some(key) = invitation.public_key else {
        return Ok(ConfirmOutcome::NoDevice);
    };
    let key = DeviceVerifyingKey::from_bytes(&key)
        .map_err(|error| StoreError::Damaged(error.to_string()))?;
    let digits =
        EnrolmentDigits::derive_from_hash(&invitation.token_hash, &given.root_fingerprint, &key);
    let is_right = digits.is_some_and(|digits| digits.matches(given.digits));
    let is_settled = invitation.device_id.is_some() || invitation.confirmed_at.is_some();
    if !is_right {
        let wrong = invitation
            .wrong_digits
            .saturating_add(u8::from(!is_settled));
        let left = given.tries.saturating_sub(wrong);
        let refused_at = (left == 0 && !is_settled).then_some(given.now.0);
        connection.execute(
            "UPDATE enrolments SET wrong_digits = ?3, refused_at = ?4
             WHERE venue = ?1 AND token_hash = ?2",
            params![venue.0, invitation.token_hash, wrong, refused_at],
        )?;
        return Ok(ConfirmOutcome::Wrong { left });
    }
    if !is_settled {
        invitation.confirmed_at = Some(given.now);
        invitation.expires_at = given.expires_at;
        connection.execute(
            "UPDATE enrolments SET confirmed_at = ?3, expires_at = ?4
             WHERE venue = ?1 AND token_hash = ?2",
            params![
                venue.0,
                invitation.token_hash,
                given.now.0,
                given.expires_at.0
            ],
        )?;
    }
    Ok(ConfirmOutcome::Confirmed(invitation.view()))
}

/// Takes an invitation back whose device is not enrolled yet. Says whether there is one.
pub(super) fn refuse(
    connection: &Connection,
    venue: VenueNumber,
    id: &EnrolmentId,
    now: EpochMillis,
) -> Result<bool> {
    let invitation = by_id(connection, venue, id)?
        .filter(|invitation| !invitation.is_over(now) && invitation.device_id.is_none());
    let Some(invitation) = invitation else {
        return Ok(false);
    };
    if invitation.refused_at.is_none() {
        connection.execute(
            "UPDATE enrolments SET refused_at = ?3, wrong_digits = 0
             WHERE venue = ?1 AND token_hash = ?2",
            params![venue.0, invitation.token_hash, now.0],
        )?;
    }
    Ok(true)
}

fn by_token(
    connection: &Connection,
    venue: VenueNumber,
    token_hash: &[u8; 32],
) -> Result<Option<Invitation>> {
    let mut statement = connection.prepare_cached(invitation_where!("token_hash = ?2"))?;
    let found = statement.query_row(params![venue.0, token_hash], invitation);
    Ok(found.optional()?)
}

fn by_id(
    connection: &Connection,
    venue: VenueNumber,
    id: &EnrolmentId,
) -> Result<Option<Invitation>> {
    let Some((low, high)) = token_hashes(id) else {
        return Ok(None);
    };
    let mut statement = connection.prepare_cached(invitation_where!(
        "token_hash BETWEEN ?2 AND ?3 ORDER BY created_at DESC LIMIT 1"
    ))?;
    let found = statement.query_row(params![venue.0, low, high], invitation);
    Ok(found.optional()?)
}

fn invitation(row: &Row<'_>) -> rusqlite::Result<Invitation> {
    Ok(Invitation {
        token_hash: row.get(0)?,
        gates: list(row, 1)?,
        created_at: millis(row, 2)?,
        expires_at: seconds(row, 3)?,
        public_key: row.get(4)?,
        device_id: parsed_if_any(row, 5)?,
        confirm: row.get(6)?,
        name: row.get(7)?,
        model: row.get(8)?,
        claimed_at: millis_if_any(row, 9)?,
        confirmed_at: millis_if_any(row, 10)?,
        refused_at: millis_if_any(row, 11)?,
        wrong_digits: row.get(12)?,
        other_at: millis_if_any(row, 13)?,
    })
}
