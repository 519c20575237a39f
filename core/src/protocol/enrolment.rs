//! Enrolment: how a device becomes one of the venue's.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::{DeviceId, GateId, VenueId, VenueNumber};
use crate::signed::Signed;
use crate::ticket::Gate;
use crate::time::{EpochMillis, EpochSeconds};

/// `POST /v1/enrolments`: the back end or the operator invites a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewEnrolment {
    /// The gates that the device may serve; at least one.
    pub gates: Vec<GateId>,
    /// The server's address as the device reaches it; by default the one that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

/// The answer: what the QR carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Enrolment {
    /// The text of the enrolment QR: address, one-time token, root fingerprint, server time.
    pub text: String,
    /// When the token is over.
    pub expires_at: EpochSeconds,
}

/// `POST /v1/gate/enrol`: a device presents itself. The same device key may repeat it while the
/// token is good, in case the answer was lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EnrolRequest {
    /// The token of the QR.
    pub token: String,
    /// What people call the device.
    pub name: String,
    /// Make and model.
    pub model: String,
    /// The device's Ed25519 public key, base64.
    pub public_key: String,
}

/// What an enrolled device is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EnrolAnswer {
    /// The device's id from now on.
    pub device_id: DeviceId,
    /// What it authorises itself with; the server keeps only a hash.
    pub bearer: String,
    /// Its venue.
    pub venue_id: VenueId,
    /// The venue's number in codes.
    pub venue_number: VenueNumber,
    /// The venue's IANA time zone, for display.
    pub time_zone: String,
    /// The gates that it may serve.
    pub gates: Vec<Gate>,
    /// The root's public key, base64; the device checks it against the fingerprint of the QR.
    pub root_public_key: String,
    /// The key manifest, signed by the root.
    pub key_manifest: Signed,
    /// The device's certificate, signed by a list key.
    pub certificate: Signed,
}

/// What a certificate's signed payload says: the server vouches for a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Certificate {
    /// The device.
    pub device_id: DeviceId,
    /// Its venue.
    pub venue_id: VenueId,
    /// Its Ed25519 public key, base64.
    pub public_key: String,
    /// When it was given.
    pub issued_at: EpochMillis,
}
