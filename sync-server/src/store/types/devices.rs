//! Devices and how they enrol.

use stile_core::ids::{DeviceId, GateId};
use stile_core::time::{EpochMillis, EpochSeconds};

/// An invitation to enrol.
#[derive(Debug, Clone)]
pub struct NewEnrolment {
    /// SHA-256 of the token.
    pub token_hash: [u8; 32],
    /// The gates that the device may serve.
    pub gates: Vec<GateId>,
    /// When it was made.
    pub created_at: EpochMillis,
    /// The first moment at which the token is no longer good.
    pub expires_at: EpochSeconds,
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
    /// There is no such token.
    Unknown,
    /// The token is over.
    Over,
    /// Another key has used the token.
    Taken,
}

/// An enrolled device as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its id.
    pub device_id: DeviceId,
    /// Its Ed25519 public key.
    pub public_key: [u8; 32],
    /// What people call it.
    pub name: String,
    /// Make and model.
    pub model: String,
    /// The gates that it may serve.
    pub gates: Vec<GateId>,
    /// When it was enrolled.
    pub enrolled_at: EpochMillis,
}
