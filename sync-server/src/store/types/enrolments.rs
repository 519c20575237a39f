//! Invitations to enrol, and what becomes of a device that shows one's token.

use data_encoding::BASE32_NOPAD;
use stile_core::ids::{DeviceId, EnrolmentId, GateId};
use stile_core::protocol::{EnrolmentDigits, EnrolmentView};
use stile_core::time::{EpochMillis, EpochSeconds};

use super::Device;

/// Bytes of a token's hash that name its invitation: of those that are open at once, no two meet.
const NAMING_BYTES: usize = 5;

/// An invitation to enrol.
#[derive(Debug, Clone)]
pub struct NewEnrolment {
    /// SHA-256 of the token.
    pub token_hash: [u8; 32],
    /// The gates that the device may serve.
    pub gates: Vec<GateId>,
    /// Whether an operator must confirm the device.
    pub confirm: bool,
    /// When it was made.
    pub created_at: EpochMillis,
    /// The first moment at which the token is no longer good.
    pub expires_at: EpochSeconds,
}

/// The name of the invitation whose token has this hash.
pub fn enrolment_id(token_hash: &[u8; 32]) -> EnrolmentId {
    let name = BASE32_NOPAD.encode(&token_hash[..NAMING_BYTES]);
    EnrolmentId::new(name.to_ascii_lowercase()).expect("five bytes are eight letters of base32")
}

/// The lowest and the highest hash of a token that an id can stand for.
pub fn token_hashes(id: &EnrolmentId) -> Option<([u8; 32], [u8; 32])> {
    let name = id.as_str().to_ascii_uppercase();
    let name = BASE32_NOPAD.decode(name.as_bytes()).ok()?;
    let (mut low, mut high) = ([0; 32], [0xff; 32]);
    low.get_mut(..name.len())?.copy_from_slice(&name);
    high.get_mut(..name.len())?.copy_from_slice(&name);
    Some((low, high))
}

/// A device that shows a token.
#[derive(Debug, Clone)]
pub struct EnrolmentClaim {
    /// SHA-256 of the token.
    pub token_hash: [u8; 32],
    /// The device's public key.
    pub public_key: [u8; 32],
    /// The id that it is to have if it is new.
    pub device_id: DeviceId,
    /// SHA-256 of the bearer that it is to have if it is new.
    pub bearer_hash: [u8; 32],
    /// What people call it.
    pub name: String,
    /// Make and model.
    pub model: String,
    /// Now.
    pub now: EpochMillis,
}

/// What became of a device that showed a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnrolOutcome {
    /// It is enrolled, now or since before.
    Enrolled(Device),
    /// It has the token, and an operator has not confirmed it yet.
    Waiting {
        /// When the token is over.
        expires_at: EpochSeconds,
    },
    /// There is no such token.
    Unknown,
    /// The token is over.
    Over,
    /// Another key has used the token.
    Taken,
    /// An operator has refused it.
    Refused,
    /// Wrong digits were given too often.
    WrongDigits,
}

/// What an operator says of the device that waits by an invitation.
#[derive(Debug, Clone)]
pub struct Confirmation {
    /// The invitation.
    pub enrolment_id: EnrolmentId,
    /// The digits that the operator read.
    pub digits: EnrolmentDigits,
    /// The fingerprint of the venue's root, which the right digits follow from.
    pub root_fingerprint: String,
    /// How often wrong digits may be given.
    pub tries: u8,
    /// Until when the device may take its answer once it is confirmed.
    pub expires_at: EpochSeconds,
    /// Now.
    pub now: EpochMillis,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfirmOutcome {
    /// The device is confirmed, now or since before.
    Confirmed(EnrolmentView),
    /// These are not its digits.
    Wrong {
        /// How often others may be tried.
        left: u8,
    },
    /// No device has shown the text yet.
    NoDevice,
    /// The invitation is over, taken back or refused.
    Over,
    /// There is no such invitation.
    Unknown,
}
