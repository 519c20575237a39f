//! Records on their way up: signed batches, and what the server says of each record.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::clock::Trust;
use crate::ids::{
    Checkpoint, DeviceId, GateId, LogId, RecordId, SessionId, TicketId, TicketNumber, VenueId,
};
use crate::record::{Answer, Record};
use crate::signed::Signed;
use crate::ticket::Direction;
use crate::time::{EpochMillis, ServiceDay};

/// Most records in one batch.
pub const MAX_BATCH: usize = 500;
/// Longest record, in bytes of its JSON text: four times what a scan with every field takes.
pub const MAX_RECORD_BYTES: usize = 4096;

/// `POST /v1/gate/records`. The payload is the JSON text of a [`Batch`], signed by the device
/// key; its `kid` is 0, since a device has one key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct SignedBatch(pub Signed);

/// What a batch's signed payload says. Records stay the bytes that the device wrote.
#[derive(Debug, Serialize, Deserialize)]
pub struct Batch<'a> {
    /// The device.
    pub device_id: DeviceId,
    /// 1 to [`MAX_BATCH`] records.
    #[serde(borrow)]
    pub records: Vec<&'a RawValue>,
}

/// What the server reads of a record to file it; the rest is kept as it came, also kinds and
/// fields that it does not know yet.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RecordHead {
    /// Its id.
    pub id: RecordId,
    /// Its log.
    pub log_id: LogId,
    /// Its place there.
    pub sequence: u64,
    /// The venue that it was made for.
    pub venue_id: VenueId,
    /// The device that wrote it.
    pub device_id: DeviceId,
    /// The gate.
    pub gate_id: GateId,
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// When.
    pub at: EpochMillis,
    /// How far that time could be trusted.
    pub trust: Trust,
    /// `scan`, or what a newer device calls it.
    pub kind: String,
    /// Which way, where it moved people.
    #[serde(default)]
    pub direction: Direction,
    /// The ticket's id, if known.
    #[serde(default)]
    pub ticket_id: Option<TicketId>,
    /// The ticket's number, if known.
    #[serde(default)]
    pub ticket_number: Option<TicketNumber>,
    /// The session, if known.
    #[serde(default)]
    pub session_id: Option<SessionId>,
    /// The session's day, if known.
    #[serde(default)]
    pub service_day: Option<ServiceDay>,
    /// `admit` or `refuse`, where there is a verdict.
    #[serde(default)]
    pub verdict: Option<Answer>,
    /// Why it was refused, as the device calls it.
    #[serde(default)]
    pub reason: Option<String>,
    /// Persons moved.
    #[serde(default)]
    pub persons: u8,
}

impl RecordHead {
    /// Whether it admitted a ticket at an `in` gate.
    pub fn is_check_in(&self) -> bool {
        self.kind == "scan"
            && self.direction == Direction::In
            && self.verdict == Some(Answer::Admit)
    }
}

/// The answer to a batch: one result per record, in the order sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecordsAnswer {
    /// One per record.
    pub results: Vec<RecordResult>,
    /// Per log of the batch, up to where nothing is missing.
    pub logs: Vec<LogState>,
}

/// How far the server has a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogState {
    /// The log.
    pub log_id: LogId,
    /// Every sequence up to here is stored.
    pub have_through: u64,
}

/// What became of one record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecordResult {
    /// The record.
    pub id: RecordId,
    /// Stored now, stored before, or set aside for a person.
    pub result: Filed,
    /// Where an admission of a ticket stands now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<RecordStanding>,
    /// Why it was quarantined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<QuarantineCause>,
}

/// The three things that become of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Filed {
    /// Stored now.
    Accepted,
    /// This id is stored with the same bytes.
    Replayed,
    /// Stored for a person to judge; counts nowhere until accepted.
    Quarantined,
}

/// Where an admission stands among those of its ticket and checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordStanding {
    /// It fitted.
    Winner,
    /// It did not: there is a conflict.
    Loser,
}

/// Why a record is set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuarantineCause {
    /// It admitted a ticket that the server does not know.
    UnknownTicket,
    /// It was made for another venue, or names another device.
    ForeignVenue,
    /// This id is stored with other content.
    IdTaken,
    /// This place of the log is stored with another record.
    SequenceTaken,
    /// The device is revoked.
    RevokedDevice,
}

/// One record in the log that the back end pulls.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct PulledRecord {
    /// When the server stored it.
    pub received_at: EpochMillis,
    /// Where an admission of a ticket stood when it was pulled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<RecordStanding>,
    /// The record as the device wrote it; kinds and members of newer devices included.
    #[schema(value_type = Record)]
    pub record: Box<RawValue>,
}
