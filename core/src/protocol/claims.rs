//! Asking before opening. `POST /v1/gate/claims`: may this scan have the admission?
//! `POST /v1/gate/codes/verify`: is this v1 code of the shared key genuine?
//!
//! A claim is no record: the uploaded record settles it. Asking again by the same scan id gets the
//! same answer.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::{Checkpoint, DeviceId, GateId, LogId, RecordId, TicketNumber};
use crate::time::{EpochMillis, ServiceDay};

/// A claim that no record settled is over after this, in ms (10 minutes).
pub const CLAIM_LIFE_MS: i64 = 600_000;

/// May this scan have the admission?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClaimRequest {
    /// The id that the scan's record will have.
    pub scan_id: RecordId,
    /// The log that it will stand in.
    pub log_id: LogId,
    /// Its place there: once the device has uploaded past it without that id, the claim is void.
    pub sequence: u64,
    /// The gate.
    pub gate_id: GateId,
    /// The ticket.
    pub ticket_number: TicketNumber,
    /// The day of its session.
    pub service_day: ServiceDay,
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// Persons who ask to enter, at least 1.
    #[schema(maximum = 255)]
    pub persons: u8,
    /// When, by the device's trusted clock.
    pub at: EpochMillis,
}

/// What server or hub says to a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClaimAnswer {
    /// The claim that is answered.
    pub scan_id: RecordId,
    /// Whether the admission is this scan's.
    pub granted: bool,
    /// Of a denied one: who has it, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winner: Option<ClaimWinner>,
    /// Persons who may still enter by the ticket, this claim's left out if it is granted.
    pub remaining: u32,
}

/// Who has an admission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClaimWinner {
    /// Where.
    pub gate_id: GateId,
    /// By which device.
    pub device_id: DeviceId,
    /// When.
    pub at: EpochMillis,
}

/// Is this code genuine? For v1 codes that a shared secret signs, which gates do not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VerifyRequest {
    /// The text after clean-up, at most 256 bytes.
    pub code: String,
}

/// What the server says of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VerifyAnswer {
    /// Whether its signature is right. Says nothing of list or time.
    pub genuine: bool,
}
