//! How a device stands with its venue after it was enrolled: revoked by a signed word, or back at a
//! server that forgot it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::{DeviceId, GateId, VenueId};
use crate::protocol::Code;
use crate::signed::Signed;
use crate::time::EpochMillis;

/// How a device stands with its venue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeviceStanding {
    /// One of the venue's.
    Enrolled,
    /// Not any more: it hears so, and its admissions are set aside.
    Revoked,
    /// Put back from a backup that is older than its enrolment, the server knew it by its
    /// certificate alone. Its admissions are set aside, and it gets no lists before an operator's
    /// word.
    Forgotten,
}

/// What a revocation's signed payload says, under the list key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Revocation {
    /// The venue.
    pub venue_id: VenueId,
    /// The device that is revoked, for good.
    pub device_id: DeviceId,
    /// The server's generation, decimal.
    #[serde(with = "crate::decimal")]
    #[schema(value_type = String, example = "0")]
    pub generation: u64,
    /// When it was revoked.
    pub revoked_at: EpochMillis,
}

/// The member `revocation` of the problem document that a revoked device gets with 401.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RevocationNotice {
    /// A [`Revocation`], signed by a list key.
    pub statement: Signed,
    /// The key manifest that names that key, for a device that was away when it was rotated.
    pub key_manifest: Signed,
}

/// The problem document of a 401, as far as a device reads it.
#[derive(Debug, Deserialize)]
pub(crate) struct Unserved {
    /// What the server says it is.
    pub code: Code,
    /// Its signed word, if it has one.
    #[serde(default)]
    pub revocation: Option<RevocationNotice>,
}

/// `POST /v1/gate/return`: an enrolled device shows its certificate to a server that does not know
/// its bearer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReturnRequest {
    /// The venue that it is a device of.
    pub venue_id: VenueId,
    /// Its certificate, as enrolment gave it.
    pub certificate: Signed,
    /// A [`ReturnClaim`], signed by the device key: whoever only has the certificate, which is no
    /// secret, proves nothing.
    pub claim: Signed,
}

/// What a returning device says of itself, signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReturnClaim {
    /// The device.
    pub device_id: DeviceId,
    /// SHA-256 of the bearer that it goes on with, 64 hex digits.
    pub bearer_sha256: String,
    /// What people call it.
    pub name: String,
    /// Make and model.
    pub model: String,
    /// The gates that it was enrolled for.
    pub gates: Vec<GateId>,
}

/// How the server has it from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReturnAnswer {
    /// `forgotten` until an operator's word.
    pub standing: DeviceStanding,
}

/// `POST /v1/devices/{device_id}/readmit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Readmission {
    /// The gates that it may serve; those that it named itself, if none are given.
    #[serde(default)]
    pub gates: Vec<GateId>,
}
