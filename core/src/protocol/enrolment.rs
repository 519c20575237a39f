//! Enrolment: how a device becomes one of the venue's. The six digits that an operator confirms it
//! by are in [`super::EnrolmentDigits`].

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::EnrolmentDigits;
use crate::ids::{DeviceId, EnrolmentId, GateId, VenueId, VenueNumber};
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
    /// Whether an operator must confirm the device by the six digits that it shows. Without that
    /// the first device that has the text is enrolled.
    #[serde(default = "confirmed", skip_serializing_if = "Clone::clone")]
    #[schema(default = true)]
    pub confirm: bool,
}

fn confirmed() -> bool {
    true
}

/// The answer: what the QR carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Enrolment {
    /// By what it is confirmed or refused.
    pub enrolment_id: EnrolmentId,
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

/// The answer of 202: the device shows its six digits and asks again with the same key, until
/// somebody has confirmed or refused it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EnrolWaiting {
    /// What the operator confirms.
    pub enrolment_id: EnrolmentId,
    /// When the text is over, and the waiting with it.
    pub expires_at: EpochSeconds,
}

/// `POST /v1/enrolments/{enrolment_id}/confirm`: what the device shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConfirmEnrolment {
    /// The six digits; spaces between them do not matter.
    pub digits: EnrolmentDigits,
}

/// How far an invitation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EnrolmentState {
    /// No device has shown its text yet.
    Open,
    /// A device shows its digits and waits to be confirmed.
    Waiting,
    /// Confirmed; the device takes its answer when it asks next.
    Confirmed,
    /// The device is enrolled.
    Enrolled,
}

/// An invitation as operators see it. Its digits stand on the device alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EnrolmentView {
    /// By what it is confirmed or refused.
    pub enrolment_id: EnrolmentId,
    /// How far it is.
    pub state: EnrolmentState,
    /// The gates that the device may serve.
    pub gates: Vec<GateId>,
    /// When it was made.
    pub created_at: EpochMillis,
    /// When it is over.
    pub expires_at: EpochSeconds,
    /// Who has shown its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<EnrolmentDevice>,
    /// How often wrong digits were given.
    pub wrong_digits: u8,
    /// When another device first showed the text as well, and was refused: somebody has copied it,
    /// or was faster than the device that was meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_device_at: Option<EpochMillis>,
}

/// A device that has shown an invitation's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EnrolmentDevice {
    /// What it calls itself.
    pub name: String,
    /// Make and model, by its own word.
    pub model: String,
    /// Since when it is here.
    pub since: EpochMillis,
}

/// `GET /v1/enrolments`: what is not over yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Enrolments {
    /// Oldest first.
    pub enrolments: Vec<EnrolmentView>,
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
