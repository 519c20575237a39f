//! Enrolled devices.

use stile_core::ids::{DeviceId, GateId};
use stile_core::protocol::DeviceStanding;
use stile_core::time::EpochMillis;

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
    /// How it stands with the venue.
    pub standing: DeviceStanding,
    /// Since when, unless it was never anything but enrolled.
    pub standing_since: Option<EpochMillis>,
}
