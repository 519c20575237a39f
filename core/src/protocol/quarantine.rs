//! Quarantine as a person sees and ends it: which records were set aside, and what becomes of them.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::ids::{DeviceId, RecordId};
use crate::protocol::QuarantineCause;
use crate::time::EpochMillis;

/// Records whose quarantine a person ends with one request at most.
pub const MAX_JUDGED: usize = 500;

/// `POST /v1/quarantine/accept` and `…/dismiss`: which records are meant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuarantineChoice {
    /// These, 1 to [`MAX_JUDGED`] of them.
    #[serde(default)]
    pub records: Vec<RecordId>,
    /// Or this device's, the oldest [`MAX_JUDGED`] at a time: to accept, those that wait because
    /// of how it stands; to dismiss, all that wait.
    #[serde(default)]
    pub device_id: Option<DeviceId>,
}

/// What became of records that a person judged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuarantineJudged {
    /// One for each record that was meant and is in quarantine.
    pub results: Vec<JudgedRecord>,
    /// Whether more of the device's wait to be judged: ask again.
    pub more: bool,
}

/// What became of one of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JudgedRecord {
    /// The record.
    pub id: RecordId,
    /// What became of it.
    pub result: Judged,
}

/// What became of a record that a person judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Judged {
    /// It is in the log and counts.
    Accepted,
    /// Its ticket is not known here; it is accepted by itself when that arrives.
    WaitsForTicket,
    /// It is kept and asks for no judgement any more.
    Dismissed,
    /// It cannot be accepted: it is another venue's, or its id or its place in the log is
    /// another record's. It can be dismissed.
    CannotBeAccepted,
}

/// `GET /v1/quarantine`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Quarantine {
    /// Those that wait for a person or for their ticket, oldest first.
    pub records: Vec<QuarantinedRecord>,
    /// Whether there are more than were asked for.
    pub more: bool,
}

/// A record that was set aside.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct QuarantinedRecord {
    /// Its id.
    pub id: RecordId,
    /// The device that sent it.
    pub device_id: DeviceId,
    /// Why it was set aside.
    pub cause: QuarantineCause,
    /// When it came.
    pub received_at: EpochMillis,
    /// As the device wrote it; `null` where it is no JSON.
    #[schema(value_type = Object)]
    pub record: Box<RawValue>,
}
